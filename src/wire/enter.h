/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts an agent that was injected into a running process: a call of the only function that it exports, in a thread
 * stopped where the program itself could have called dlopen().
 *
 * Loaded under a name of /proc/thread-self/fd/, the agent waits for this call; loaded in any other way it starts by
 * itself, and the call starts it again after a LEAVE.
 */
#ifndef JESCOPE_WIRE_ENTER_H
#define JESCOPE_WIRE_ENTER_H

#define WIRE_ENTER_SYMBOL     "jescope_agent_enter"
#define WIRE_ENTER_NAME_BEGIN "/proc/thread-self/fd/"

typedef enum {
    WIRE_ENTER_STARTED = 1,     /* its thread was started and will listen in a moment */
    WIRE_ENTER_PRESENT = 2,     /* nothing to do */
    WIRE_ENTER_LEAVING = 3,     /* the thread has not ended after a LEAVE: retry in a moment */
    WIRE_ENTER_NO_JEMALLOC = 4, /* nothing here that looks like one */
    WIRE_ENTER_NO_THREAD = 5,   /* the process cannot create another thread */
    WIRE_ENTER_DIRECTORY = 6,   /* the directory is not an absolute path, or too long */
    WIRE_ENTER_NO_LIST = 7,     /* the loader's list of objects cannot be read; its lock may stay taken */
} WireEntered;

/* The directories for the socket, as in src/agent/environment.h; NULL or "": not given. Ignored in a process that
 * gained privileges (AT_SECURE). */
typedef int (*WireEnter)(const char *socket_directory, const char *runtime_directory);

#endif
