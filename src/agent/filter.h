/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the program has installed a seccomp filter since the agent's thread was started. The agent's handlers of exit
 * and fork run in the program's threads, where a filter may end the process for any system call, and a thread cannot
 * find out that it has a filter without a system call. So the agent's thread, which has none of the later ones (without
 * SECCOMP_FILTER_FLAG_TSYNC), looks at the main thread's from time to time.
 */
#ifndef JESCOPE_AGENT_FILTER_H
#define JESCOPE_AGENT_FILTER_H

#include <stdbool.h>

/* In the agent's thread, when it starts: the filters that it has inherited were there before. */
void filter_begin(void);

/* In the agent's thread: looks whether the main thread has more of them. Nothing without /proc. */
void filter_look(void);

/* Whether it had more at the last look. Makes no system call. In any thread; a forked child inherits the answer. */
bool filter_was_added(void);

#endif
