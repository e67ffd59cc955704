/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an agent that was brought into a running process is told to begin: a call of the one function it exports, in a
 * thread that the caller has stopped at a place where the program itself could have called dlopen().
 *
 * Loaded under a name of /proc/thread-self/fd/, the agent waits for this call; loaded in any other way it has begun by
 * itself, and the call brings it back after a LEAVE.
 */
#ifndef JESCOPE_WIRE_ENTER_H
#define JESCOPE_WIRE_ENTER_H

#define WIRE_ENTER_SYMBOL     "jescope_agent_enter"
#define WIRE_ENTER_NAME_BEGIN "/proc/thread-self/fd/"

typedef enum {
    WIRE_ENTER_STARTED = 1,     /* its thread was started and will listen in a moment */
    WIRE_ENTER_PRESENT = 2,     /* nothing to do */
    WIRE_ENTER_LEAVING = 3,     /* after a LEAVE whose thread is about to end: call again in a moment */
    WIRE_ENTER_NO_JEMALLOC = 4, /* nothing here that looks like one */
    WIRE_ENTER_NO_THREAD = 5,   /* the process may have no more threads */
    WIRE_ENTER_DIRECTORY = 6,   /* the directory is no absolute path, or too long a one */
} WireEntered;

/* Where the socket goes, as in src/agent/environment.h; NULL or "": not given. Neither is used in a process that gained
 * privileges (AT_SECURE). */
typedef int (*WireEnter)(const char *socket_directory, const char *runtime_directory);

#endif
