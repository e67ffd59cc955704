/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of this process. Async-signal-safe apart from errno. */
#ifndef JESCOPE_AGENT_PROCESS_H
#define JESCOPE_AGENT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROCESS_NAME_MAX = 16 }; /* with the NUL: the kernel's TASK_COMM_LEN */

typedef struct {
    pid_t pid;           /* in the process's own PID namespace */
    uint64_t start_time; /* field 22 of /proc/self/stat, clock ticks after boot; 0 without /proc */
} ProcessIdentity;

void process_identify(ProcessIdentity *identity);

/* Finds field 22 in the text of a /proc/PID/stat (proc(5)). The name in field 2 may hold blanks, parentheses and line
 * feeds. */
bool process_parse_start_time(const char *stat, uint64_t *start_time);

/* The state of the main thread: a letter of /proc/self/stat (proc(5)); 0 without /proc. */
char process_state(void);

typedef enum {
    PROCESS_MAIN_THREAD,
    PROCESS_OWN_THREAD,
} ProcessThread;

/* The number of seccomp filters of a thread, from its /proc status (proc(5)); before Linux 5.9 the mode, which is 0
 * without a filter; 0 without /proc. */
unsigned process_filters(ProcessThread thread);

/* /proc/self/comm, or "" without /proc. */
void process_read_name(char name[PROCESS_NAME_MAX]);

#endif
