/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wakes the agent thread from its poll() in another thread. The two may have no descriptor in common (see
 * descriptor.h), so this uses a signal to that thread, which is blocked there and read through a signalfd: no handler
 * runs, and no signal of the program is consumed. The signal is the one that the C library reserves for
 * pthread_cancel(), which is never called for the agent's thread, and which programs cannot send or block by mistake.
 * Without a signalfd, or if descriptors are shared with the host, the thread wakes twice a second instead.
 */
#ifndef JESCOPE_AGENT_WAKER_H
#define JESCOPE_AGENT_WAKER_H

/* In the agent thread, with its own descriptor table: enables waker_wake(). */
void waker_open(void);

/* The descriptor to poll; -1: none. */
int waker_descriptor(void);

/* In the agent thread, after poll(): resets the descriptor. */
void waker_clear(void);

/* Disables waker_wake(): the thread is about to end, or this is a forked child without it. Async-signal-safe. */
void waker_forget(void);

/* In any thread that has the turn: makes the agent thread notice changes soon. */
void waker_wake(void);

#endif
