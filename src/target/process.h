/* SPDX-License-Identifier: Apache-2.0 */
/* The properties of processes, from /proc (proc(5)). */
#ifndef JESCOPE_TARGET_PROCESS_H
#define JESCOPE_TARGET_PROCESS_H

#include "target/process-file.h"

#include <glib.h>
#include <sys/types.h>

enum {
    PROCESS_NAME_MAX = 64, /* with the NUL */
    PROCESS_COMM_MAX = 15, /* the kernel cuts names at this length, except of kernel threads */
    PROCESS_UIDS = 3,      /* real, effective, saved; that for files is one of them, unless it may have any */
};

typedef struct {
    pid_t pid;
    pid_t inner_pid; /* in its innermost pid namespace */
    pid_t parent;
    uid_t uids[PROCESS_UIDS];
    gid_t gids[PROCESS_UIDS];
    guint64 start_time; /* field 22 of /proc/PID/stat: clock ticks after boot */
    char state;         /* field 3 of /proc/PID/stat: of its first thread */
    guint threads;      /* field 20 */
    /* The kernel denies its own user its memory: it is not dumpable (PR_SET_DUMPABLE of prctl(2)), as a program that
     * gives other rights, or that its user may execute but not read, or it has capabilities in our user namespace and
     * is not root's. */
    gboolean closed;
    /* The kernel's name; if that was truncated, the one in its arguments or of its executable. Safe for terminals. */
    char name[PROCESS_NAME_MAX];
} Process;

/* Reads process PID. FALSE if there is none. */
gboolean process_read(pid_t pid, Process *process);

/* The same with the kernel's name, which may be truncated. Unlike process_read(), it does not read the memory of the
 * process, which may block (process_open()). */
gboolean process_look(pid_t pid, Process *process);

/* Fills PROCESS, whose pid is set, from the texts of its files stat and status, and OWNER, process_memory_owner()
 * before these were read. FALSE if they are not such texts or NULL. The name is not safe for terminals. */
gboolean process_parse(const char *stat, const char *status, uid_t owner, Process *process);

/* The owner of the file "maps" in the open DIRECTORY, that of a process in /proc: its effective user, or a root if it
 * is not dumpable or has no memory. (uid_t)-1 if unknown. */
uid_t process_memory_owner(int directory);

/* Process.start_time of PID, cheaper than process_read(); 0 if there is no such process. */
guint64 process_start_time(pid_t pid);

/* What execve(2) changes, even while another process keeps the memory of the earlier program. */
typedef struct {
    guint64 stack;         /* start of the stack, field 28 of /proc/PID/stat: random if the program has other rights */
    guint64 device, inode; /* of the executable */
} ProcessProgram;

/* The program that PID executes. FALSE with errno if it cannot be read: ENOENT or ESRCH if the process has ended. */
gboolean process_program(pid_t pid, ProcessProgram *program);

gboolean process_program_equal(const ProcessProgram *a, const ProcessProgram *b);

/* Whether both are of one executable file, under whatever name, which may have been replaced. */
gboolean process_program_is_of_file(const ProcessProgram *a, const ProcessProgram *b);

/* Converts a Process.start_time to microseconds of CLOCK_REALTIME. */
gint64 process_started_us(guint64 start_time);

/* Processes in user namespaces that a list has left out. In a user namespace of their own, any user can give
 * each process 65536 groups, which the kernel takes milliseconds to print. */
typedef struct {
    guint slow;   /* of users whose namespaces took too long */
    guint unread; /* of others, since no time was left */
} ProcessListGaps;

/* process_look() for each of PIDS (of pid_t), of processes that others may have made to be slow to look at: those in
 * user namespaces come after the others, in turns by who made the namespace, for a limited time of each maker. A GArray
 * of Process, except those that GAPS, which may be NULL, counts, and those that do not exist. */
GArray *process_look_each(const GArray *pids, ProcessListGaps *gaps);

/* All visible processes, as a GArray of Process in the order of their pids, except those that GAPS, which may be NULL,
 * counts. */
GArray *process_list(ProcessListGaps *gaps);

/* An operand that means PROCESS and no later process with its pid: "PID@START", with Process.start_time. To be freed.
 */
char *process_operand(const Process *process);

/* Whether TEXT is a pid or such an operand, which is then stored in *PID, and in *START_TIME or 0 there. */
gboolean process_operand_parse(const char *text, pid_t *pid, guint64 *start_time);

/* Whether TEXT is one of these, or a number that is too large for a pid, and so not the name of a process. */
gboolean process_operand_is_number(const char *text);

/* Whether PID is still the process with this start time, which may be a zombie. What cannot be read since this process
 * has no descriptor or memory left (process_is_shortage()) is taken to be the same: not to decide on rights. */
gboolean process_is_there(pid_t pid, guint64 start_time);

/* Whether all its threads have ended: the first one may end before the others, which then are the process, and which
 * process_thread() finds. */
gboolean process_has_ended(const Process *process);

/* The same as process_is_there(), but one that has ended, a zombie, is not alive. */
gboolean process_alive(pid_t pid, guint64 start_time);

/* Reads PROCESS again, since its user, root or name may have changed. FALSE, with *PROCESS unchanged, if it has
 * ended. */
gboolean process_read_again(Process *process);

/* Whether all its user ids are root's. */
gboolean process_is_roots(const Process *process);

/* Whether NAME, a Process.name, is the one that the user calls ASKED: the kernel's name as it is, with the characters
 * that are replaced in Process.name, and a name that the kernel truncated, whole or as ps(1) shows it. */
gboolean process_name_is(const char *name, const char *asked);

/* The user of all its ids; (uid_t)-1 if they differ. */
uid_t process_user(const Process *process);

/* The same, but (uid_t)-1 if the process is closed: the user who may see what is read of it. */
uid_t process_viewer(const Process *process);

/* process_user(), but the real user if they differ: the one to whom its data is attributed. */
uid_t process_author(const Process *process);

/* Whether the effective user is the caller's, or the caller is root. */
gboolean process_is_ours(const Process *process);

/* The effective user id in the user namespace of the process; the outer one if that is unknown. */
uid_t process_inner_uid(const Process *process);

/* The outer id of the root of the user namespace with MAP, the text of a uid_map; (uid_t)-1 if it has none. */
uid_t process_namespace_root(const char *map);

/* The name in its first argument, without directory and title ("nginx: worker process"), and the name of its executable
 * file, to be freed; NULL if unknown. Not sanitized for terminals. */
char *process_called(pid_t pid);
char *process_executable(pid_t pid);

/* Its arguments including the program, as of arguments_text(), to be freed; "" for a kernel thread. */
char *process_arguments(pid_t pid);

/* Resident bytes by the kernel's count; 0 if unknown. */
guint64 process_rss(pid_t pid);

/* The value of a variable of its initial environment, to be freed; NULL if it is not set or not readable. For a program
 * that overwrites its environment with its title, as redis-server does, and was started by 'jescope run', the value in
 * the environment of 'run'. */
char *process_variable(pid_t pid, const char *name);

/* The same for the first variable with this suffix: "_RJEM_MALLOC_CONF" for "MALLOC_CONF". */
char *process_variable_ending(pid_t pid, const char *ending);

#endif
