/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock in a word of our own: a pthread_mutex_t would be the host's business in what may interpose it.
 *
 * Not recursive. Preserves errno. One that is all zeros is free.
 */
#ifndef JESCOPE_AGENT_WORD_LOCK_H
#define JESCOPE_AGENT_WORD_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct {
    atomic_int state;
} WordLock;

void word_lock_take(WordLock *lock);
bool word_lock_try(WordLock *lock); /* false: it is taken */
void word_lock_give(WordLock *lock);

/* In a forked child, in its only thread, whose parent's thread may have held it. Async-signal-safe. */
void word_lock_reset(WordLock *lock);

#endif
