/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of loaded objects. dl_iterate_phdr() holds a lock of the loader that glibc does not reset in a forked child,
 * where the next call, the host's as well, would block forever. So the agent's own thread never lists, and in a program
 * that links libjescope a fork waits while another thread lists.
 */
#ifndef JESCOPE_AGENT_LISTING_H
#define JESCOPE_AGENT_LISTING_H

#include <link.h>

/* Like dl_iterate_phdr(). The callback must not block. */
int listing_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *data), void *data);

/* Handlers for pthread_atfork(). The wait ends after 0.1 s: another fork handler may hold a lock that the listing
 * thread needs. */
void listing_await(void);
void listing_allow(void);
void listing_forget(void); /* in the child */

#endif
