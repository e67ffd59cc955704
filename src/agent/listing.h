/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of loaded objects. dl_iterate_phdr() holds a lock of the loader that glibc does not reset in a forked child,
 * where the next call, the host's as well, would block forever. So the agent's own thread never lists; a fork waits
 * while another thread lists, and a listing waits for forks that have begun.
 */
#ifndef JESCOPE_AGENT_LISTING_H
#define JESCOPE_AGENT_LISTING_H

#include <link.h>
#include <stdbool.h>

/*
 * Registers the handlers for forks, once; before the first listing, and as long before it as possible: a fork that
 * has begun already does not run them.
 */
void listing_guard_forks(void);

/*
 * Like dl_iterate_phdr(). The callback must not block. Requires the guard. False, without a call, if another thread
 * lists or forks without end, or if the loader's lock was held for a listing when this process was forked.
 */
bool listing_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *data), void *data);

#endif
