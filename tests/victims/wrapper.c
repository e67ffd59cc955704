/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces malloc() by one that keeps a log, with a lock. Waits for the end of stdin in it, holding the lock. Prints
 * "ready" there, and "over" at the end.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

extern __attribute__((weak)) void *mallocx(size_t size, int flags);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_logging;

static void
say(const char *line, size_t length)
{
    if (write(STDOUT_FILENO, line, length) < 0)
        _exit(1);
}

static void
log_allocation(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    pthread_mutex_lock(&lock);
    say("ready\n", 6);
    while (poll(&in, 1, -1) < 0)
        ;
    pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) void *
malloc(size_t size)
{
    void *block = mallocx(size > 0 ? size : 1, 0);
    if (is_logging)
        log_allocation();
    return block;
}

int
main(void)
{
    is_logging = 1;
    void *volatile block = malloc(10);
    is_logging = 0;
    if (block == NULL)
        return 1;
    say("over\n", 5);
    return 0;
}
