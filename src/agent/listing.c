/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/listing.h"

#include "agent/word-lock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>

enum { TRIES = 100, TRY_MS = 1 };

static WordLock listing;
static _Atomic(pthread_t) lister; /* 0: none */
static atomic_bool held;          /* by a forking thread */

int
listing_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *data), void *data)
{
    word_lock_take(&listing);
    atomic_store(&lister, pthread_self());
    int result = dl_iterate_phdr(callback, data);
    atomic_store(&lister, 0);
    word_lock_give(&listing);
    return result;
}

/* A signal handler that forks while its own thread lists would wait for itself. */
void
listing_await(void)
{
    int saved = errno;
    bool own = atomic_load(&lister) == pthread_self();
    bool taken = false;
    for (int i = 0; i < TRIES && !own && !(taken = word_lock_try(&listing)); i++)
        poll(NULL, 0, TRY_MS);
    if (taken)
        atomic_store(&held, true);
    errno = saved;
}

void
listing_allow(void)
{
    if (atomic_exchange(&held, false))
        word_lock_give(&listing);
}

void
listing_forget(void)
{
    atomic_store(&held, false);
    atomic_store(&lister, 0);
    word_lock_reset(&listing);
}
