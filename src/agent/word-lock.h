/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock in one word of memory: a pthread_mutex_t could be intercepted by the host.
 *
 * Not recursive. Preserves errno. A zeroed lock is free.
 */
#ifndef JESCOPE_AGENT_WORD_LOCK_H
#define JESCOPE_AGENT_WORD_LOCK_H

#include <stdatomic.h>

typedef struct {
    atomic_int state;
} WordLock;

void word_lock_take(WordLock *lock);
void word_lock_give(WordLock *lock);

/* In a forked child, in its only thread: frees the lock, which a thread of the parent may have held.
 * Async-signal-safe. */
void word_lock_reset(WordLock *lock);

#endif
