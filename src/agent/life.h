/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life cycle of the agent in a process: from the constructor to the end of its thread, through fork and exit.
 * docs/decisions/0002-agent-isolation.md gives the reasons; docs/embedding.md the differences in a program that links
 * it.
 */
#ifndef JESCOPE_AGENT_LIFE_H
#define JESCOPE_AGENT_LIFE_H

#include "agent/environment.h"
#include "agent/guest.h"
#include "wire/enter.h"

#include <stdbool.h>

/* Called in the constructor of a preloaded agent, under the loader's lock: looks for jemalloc and starts the thread if
 * there may be one. Preserves errno. */
void life_begin(const Environment *environment);

/* Implements WireEnter. Preserves errno. */
WireEntered life_enter(const char *socket_directory, const char *runtime_directory);

typedef enum {
    LIFE_STARTED,
    LIFE_STARTED_SILENT, /* another copy has the socket of this process: a thread without one */
    LIFE_ALREADY,        /* it was started before */
    LIFE_STILL_ENDING,   /* after a stop, or a client's LEAVE: retry in a moment */
    LIFE_NO_JEMALLOC,
    LIFE_NO_THREAD, /* *error has the errno value */
} LifeResult;

/*
 * Starts the thread of a linked agent. May be called in any thread that has the turn, and in a constructor.
 * LIFE_NO_JEMALLOC can change once a jemalloc has been loaded.
 */
LifeResult life_start(const Environment *environment, int *error);

typedef enum {
    LIFE_STOPPED,
    LIFE_NOT_STARTED,
    LIFE_STOPPING, /* another thread stops it already, and waits for it */
} LifeStop;

/*
 * Ends the thread that life_start() started, and waits for it: a lease ends as at its deadline, connections are closed,
 * the socket's file is removed. Must be called in another thread that does not have the turn.
 */
LifeStop life_stop(void);

/* Whether the thread runs and is not about to end. Requires the turn. */
bool life_is_started(void);

/* Whether its thread has no socket because another copy has it. Requires the turn. */
bool life_is_served_by_other(void);

/* The state, for a thread that has the turn; NULL if no jemalloc is found; searches for it in the calling thread,
 * without changing that thread's cache. */
Guest *life_guest(void);

/* Registers HANDLER to run in forked children, after the agent's handler and before its thread starts. Once;
 * HANDLER is async-signal-safe. To be called before another thread can call the agent. */
void life_on_fork(void (*handler)(void));

#endif
