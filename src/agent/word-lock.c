/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/word-lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The third state saves word_lock_give() a system call if no thread waits. */
enum { FREE, TAKEN, WAITED_FOR };

static bool
try(WordLock *lock)
{
    int seen = FREE;
    return atomic_compare_exchange_strong(&lock->state, &seen, TAKEN);
}

void
word_lock_take(WordLock *lock)
{
    if (try(lock))
        return;
    int saved = errno;
    while (atomic_exchange(&lock->state, WAITED_FOR) != FREE)
        syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, WAITED_FOR, NULL, NULL, 0);
    errno = saved;
}

void
word_lock_give(WordLock *lock)
{
    if (atomic_exchange(&lock->state, FREE) == WAITED_FOR) {
        int saved = errno;
        syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        errno = saved;
    }
}

void
word_lock_reset(WordLock *lock)
{
    atomic_store(&lock->state, FREE);
}
