/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Supervises a command of root's about a process of another user, who can delay any access to it indefinitely: its
 * program file, its root directory and its memory may be in a file system that this user serves (FUSE), and a process
 * that waits for one cannot even be killed. So the command runs in a child, which is given up as soon as one of its
 * threads waits in a single system call about such a file for 10 s, or when such waits have taken 30 s longer than
 * everything else: a file system that delays each request makes a command of W seconds last 2 W + 30 s at most.
 */
#ifndef JESCOPE_CLI_SUPERVISOR_H
#define JESCOPE_CLI_SUPERVISOR_H

#include <glib.h>
#include <sys/types.h>

typedef void (*SupervisorSay)(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* For root's processes, if an operand is a process of another user or may name one, or is a path (with a '/') on which
 * others decide: continues in a child. The calling process forwards signals and the exit status, and never returns; for
 * a child that is given up it prints by SAY what it waited for, and exits with EXIT_FAILURE. Must be called before
 * there are threads. */
void supervisor_begin(char *const *operands, SupervisorSay say);

enum { SUPERVISOR_END_S = 5 };

/* Work about one process, of a command that stays. */
typedef struct {
    pid_t pid; /* whose files it accesses */
    void (*run)(gpointer data);
    gpointer data;
    guint seconds; /* after which it is given up */
    int signals;   /* a descriptor; it is given up SUPERVISOR_END_S after there is something to read; -1: none */
} SupervisorWork;

/* Does WORK in a child: changes to memory stay there. If the process is of another user, who can delay it, the child is
 * also given up as above, and what it prints is discarded. NULL if the work has returned, otherwise why it did not, to
 * be freed. */
char *supervisor_run(const SupervisorWork *work);

#endif
