/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock of the agent's state. The agent thread holds it except while it sleeps; if the agent is linked (embed/),
 * other threads of the program take it for their calls. Only jemalloc's code runs under it, so it is never held while
 * waiting for another lock of the program. A preloaded agent does not share it.
 *
 * Not recursive; not for signal handlers. Preserves errno.
 */
#ifndef JESCOPE_AGENT_TURN_H
#define JESCOPE_AGENT_TURN_H

void turn_take(void);
void turn_give(void);

/* In a forked child, in its only thread: resets the lock, whose owner does not exist here. Async-signal-safe. */
void turn_reset(void);

#endif
