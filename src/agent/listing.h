/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of loaded objects. dl_iterate_phdr() holds a lock of the loader's, which glibc does not reset in a forked
 * child, where the next call, also of the host, would block forever. So the agent's own thread does not list, and a
 * fork waits while a thread of the host's does, in a program that links libjescope.
 */
#ifndef JESCOPE_AGENT_LISTING_H
#define JESCOPE_AGENT_LISTING_H

#include <link.h>

/* As dl_iterate_phdr(). The callback calls nothing that can wait. */
int listing_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *data), void *data);

/* Handlers for pthread_atfork(). The wait ends after a tenth of a second: another fork handler may have taken a lock
 * that keeps the list from ending. */
void listing_await(void);
void listing_allow(void);
void listing_forget(void); /* in the child */

#endif
