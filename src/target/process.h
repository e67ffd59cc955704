/* SPDX-License-Identifier: Apache-2.0 */
/* Processes as /proc shows them (proc(5)). */
#ifndef JESCOPE_TARGET_PROCESS_H
#define JESCOPE_TARGET_PROCESS_H

#include <glib.h>
#include <sys/types.h>

enum {
    PROCESS_NAME_MAX = 64, /* the kernel's limit for kernel threads; 15 for others */
    PROCESS_UIDS = 3,      /* real, effective, saved */
};

typedef struct {
    pid_t pid;
    pid_t inner_pid; /* in the innermost pid namespace it is in */
    pid_t parent;
    uid_t uids[PROCESS_UIDS];
    guint64 start_time;          /* field 22 of /proc/PID/stat: clock ticks after boot */
    char state;                  /* field 3 of /proc/PID/stat */
    char name[PROCESS_NAME_MAX]; /* its control characters replaced by '?' */
} Process;

/* FALSE: there is no such process (any more). */
gboolean process_read(pid_t pid, Process *process);

/* When a process began, as Process.start_time, for less than process_read() takes; 0: there is none. */
guint64 process_start_time(pid_t pid);

/* Every process that can be seen, as a GArray of Process in the order of their pids. */
GArray *process_list(void);

/* Still the same one? A zombie is not alive. */
gboolean process_alive(pid_t pid, guint64 start_time);

/* The effective user is ours, or we are root. */
gboolean process_is_ours(const Process *process);

/* The effective user id as the process itself sees it, i.e. in its user namespace; the outer one if that cannot be
 * told. */
uid_t process_inner_uid(const Process *process);

/* The name of a user, or the number if there is none. */
char *process_user_name(uid_t uid);

/* The value of a variable of the environment it was started with, or NULL: not set, or not ours to read. Of a program
 * that writes its title over its environment, as redis-server does, and that 'jescope run' started, it is the value
 * that 'run' was started with. */
char *process_variable(pid_t pid, const char *name);

#endif
