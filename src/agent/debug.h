/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the agent with JESCOPE_DEBUG; otherwise it never prints. Async-signal-safe, preserves errno. */
#ifndef JESCOPE_AGENT_DEBUG_H
#define JESCOPE_AGENT_DEBUG_H

void debug_enable(void);

/* Writes "jescope-agent: WHAT: DETAIL (errno ERROR)" and a line feed to stderr in one piece. No DETAIL if NULL, no
 * ERROR if 0. */
void debug_log(const char *what, const char *detail, int error);

#endif
