/* SPDX-License-Identifier: Apache-2.0 */
/* Processes as /proc shows them (proc(5)). */
#ifndef JESCOPE_TARGET_PROCESS_H
#define JESCOPE_TARGET_PROCESS_H

#include "target/process-file.h"

#include <glib.h>
#include <sys/types.h>

enum {
    PROCESS_NAME_MAX = 64, /* with the NUL */
    PROCESS_COMM_MAX = 15, /* the kernel cuts names at this length, except of kernel threads */
    PROCESS_UIDS = 3,      /* real, effective, saved */
};

typedef struct {
    pid_t pid;
    pid_t inner_pid; /* in the innermost pid namespace it is in */
    pid_t parent;
    uid_t uids[PROCESS_UIDS];
    guint64 start_time; /* field 22 of /proc/PID/stat: clock ticks after boot */
    char state;         /* field 3 of /proc/PID/stat */
    /* The kernel's name; if that was cut, the one of its arguments or executable. Safe for terminals. */
    char name[PROCESS_NAME_MAX];
} Process;

/* FALSE: no such process. */
gboolean process_read(pid_t pid, Process *process);

/* The same with the name as the kernel has it, which may be cut. Unlike process_read() it reads no memory of the
 * process, which may take a while (process_open()). */
gboolean process_look(pid_t pid, Process *process);

/* The start time of a process, as Process.start_time, cheaper than process_read(); 0: no such process. */
guint64 process_start_time(pid_t pid);

/* The same as microseconds of CLOCK_REALTIME. */
gint64 process_started_us(guint64 start_time);

/* Every process that can be seen, as a GArray of Process in the order of their pids. */
GArray *process_list(void);

/* Still the same one? A zombie is not alive. */
gboolean process_alive(pid_t pid, guint64 start_time);

/* Reads PROCESS again, whose user, root or name may be another by now. FALSE, *PROCESS untouched: it has ended. */
gboolean process_read_again(Process *process);

/* All of its user ids are root's. */
gboolean process_is_roots(const Process *process);

/* The user that it is of with all its ids; (uid_t)-1: of more than one. */
uid_t process_user(const Process *process);

/* The effective user is the caller's, or the caller is root. */
gboolean process_is_ours(const Process *process);

/* The effective user id as the process itself sees it, i.e. in its user namespace; the outer one if that is unknown. */
uid_t process_inner_uid(const Process *process);

/* The name in its first argument, without directory and the rest of a title ("nginx: worker process"), or the name of
 * its executable file; NULL if unknown. Not sanitized for terminals. */
char *process_called(pid_t pid);
char *process_executable(pid_t pid);

/* Its arguments, the program included, as arguments_text(); "" for a kernel thread. */
char *process_arguments(pid_t pid);

/* Resident bytes by the kernel's count; 0 if unknown. */
guint64 process_rss(pid_t pid);

/* The name of a user, or the number if there is none. */
char *process_user_name(uid_t uid);

/* The value of a variable of its initial environment, or NULL: not set, or not readable. For a program that overwrites
 * its environment with its title, as redis-server does, and was started by 'jescope run', the value in the environment
 * of 'run'. */
char *process_variable(pid_t pid, const char *name);

/* The same for the first variable with this suffix: "_RJEM_MALLOC_CONF" for "MALLOC_CONF". */
char *process_variable_ending(pid_t pid, const char *ending);

#endif
