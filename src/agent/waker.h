/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waking the agent thread out of its poll() from another thread. The two may have no descriptor in common (see
 * descriptor.h), so it is done by a signal to that very thread, blocked there and watched through a signalfd: no
 * handler ever runs, and no signal of the program's is consumed. The number is the one that the C library keeps for
 * pthread_cancel(), which nobody can call on the agent's thread and which no program can send or block by mistake.
 *
 * Where a signalfd cannot be had, or the descriptors are shared with the host, the thread looks up by itself twice a
 * second instead.
 */
#ifndef JESCOPE_AGENT_WAKER_H
#define JESCOPE_AGENT_WAKER_H

/* In the agent thread, with a descriptor table of its own: from now on waker_wake() reaches it. */
void waker_open(void);

/* The descriptor to wait for, -1: none. */
int waker_descriptor(void);

/* In the agent thread, after poll(): makes the descriptor wait for the next time. */
void waker_clear(void);

/* The thread is about to end, or this is a forked child that has none. Async-signal-safe. */
void waker_forget(void);

/* From any thread that has the turn: what it changed before is seen by the agent thread soon. */
void waker_wake(void);

#endif
