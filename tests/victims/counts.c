/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the SIGRTMIN signals that it receives while it does something else:
 *   counts [THREADS]
 * prints "ready". Each of THREADS threads (by default the main one) allocates and frees forever. At the end of stdin it
 * prints "signals N mask HEX". Its alternative signal stack must be unchanged.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_long seen;

static void
count(int signal)
{
    atomic_fetch_add(&seen, 1);
}

static void *
churn(void *unused)
{
    for (size_t i = 0;; i++) {
        void *volatile block = malloc(i * 37 % 5000 + 1);
        free(block);
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    sigset_t blocked;
    sigaction(SIGRTMIN, &action, NULL);
    static char alternative[64 * 1024];
    stack_t before = {.ss_sp = alternative, .ss_size = sizeof(alternative)};
    stack_t after;
    sigaltstack(&before, NULL);
    for (int i = 1; argc > 1 && i <= atoi(argv[1]); i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, churn, NULL);
        pthread_detach(thread);
    }
    puts("ready");
    fflush(stdout);
    while (poll(&in, 1, -1) < 0)
        ;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    sigaltstack(NULL, &after);
    if (after.ss_sp != before.ss_sp || after.ss_size != before.ss_size || after.ss_flags != before.ss_flags)
        return 1;
    unsigned long mask = 0;
    for (int signal = 1; signal < 64; signal++)
        mask |= sigismember(&blocked, signal) > 0 ? 1ul << (signal - 1) : 0;
    printf("signals %ld mask %lx\n", atomic_load(&seen), mask);
    return 0;
}
