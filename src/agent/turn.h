/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is with the agent's state. The agent thread has it whenever it does not sleep; where the agent is
 * linked (embed/), other threads of the program take it for their calls. Nobody else's code runs under it but
 * jemalloc's, so it is never held while another lock of the program is waited for. In a preloaded agent there is nobody
 * to share it with.
 *
 * Not recursive; not for signal handlers. Preserves errno.
 */
#ifndef JESCOPE_AGENT_TURN_H
#define JESCOPE_AGENT_TURN_H

void turn_take(void);
void turn_give(void);

/* In a forked child, in the one thread there is: whoever had it has stayed behind. Async-signal-safe. */
void turn_reset(void);

#endif
