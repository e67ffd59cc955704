/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/turn.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The third state is what spares turn_give() a system call as long as nobody waits. */
enum { FREE, TAKEN, WAITED_FOR };

/* A word of our own: a pthread_mutex_t would be the host's business in what may interpose it. */
static atomic_int state = FREE;

void
turn_take(void)
{
    int seen = FREE;
    if (atomic_compare_exchange_strong(&state, &seen, TAKEN)) {
        return;
    }
    int saved = errno;
    while (atomic_exchange(&state, WAITED_FOR) != FREE) {
        syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, WAITED_FOR, NULL, NULL, 0);
    }
    errno = saved;
}

void
turn_give(void)
{
    if (atomic_exchange(&state, FREE) == WAITED_FOR) {
        int saved = errno;
        syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        errno = saved;
    }
}

void
turn_reset(void)
{
    atomic_store(&state, FREE);
}
