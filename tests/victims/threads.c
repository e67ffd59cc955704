/* SPDX-License-Identifier: Apache-2.0 */
#include "victim.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 1024, STORM_SLOTS = 64, STACK_SIZE = 64 * 1024 };

static pthread_t threads[THREADS_MAX];
static int thread_count;
static atomic_bool calm;
static atomic_int running;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;

static atomic_int caught;
static atomic_int caught_elsewhere;

static void *
idle(void *argument)
{
    void *block = VICTIM_MALLOC(5000);

    (void)argument;
    atomic_fetch_add(&running, 1);
    pthread_mutex_lock(&gate);
    while (!atomic_load(&calm))
        pthread_cond_wait(&opened, &gate);
    pthread_mutex_unlock(&gate);
    VICTIM_FREE(block);
    return NULL;
}

static void *
storm(void *argument)
{
    void *blocks[STORM_SLOTS] = {NULL};
    unsigned state = (unsigned)(size_t)argument * 2654435761u + 1;

    atomic_fetch_add(&running, 1);
    while (!atomic_load_explicit(&calm, memory_order_relaxed)) {
        state = state * 1664525u + 1013904223u;
        VICTIM_FREE(blocks[(state >> 24) % STORM_SLOTS]);
        blocks[(state >> 24) % STORM_SLOTS] = VICTIM_MALLOC(16 + (state >> 8) % 20000);
    }
    for (int i = 0; i < STORM_SLOTS; i++)
        VICTIM_FREE(blocks[i]);
    return NULL;
}

static void
start_threads(int count, void *(*body)(void *))
{
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    atomic_store(&calm, false);
    atomic_store(&running, 0);
    for (thread_count = 0; thread_count < count && thread_count < THREADS_MAX; thread_count++) {
        errno = pthread_create(&threads[thread_count], &attributes, body, (void *)(size_t)thread_count);
        if (errno) {
            fail("pthread_create");
            return;
        }
    }
    while (atomic_load(&running) < thread_count)
        sched_yield();
    answer("%d", thread_count);
}

static void
run_threads(char *argument)
{
    start_threads(atoi(argument), idle);
}

static void
run_storm(char *argument)
{
    start_threads(atoi(argument), storm);
}

static void
run_join(char *argument)
{
    (void)argument;
    pthread_mutex_lock(&gate);
    atomic_store(&calm, true);
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    answer("%d", thread_count);
    thread_count = 0;
}

static void
count_signal(int number)
{
    (void)number;
    if (gettid() == getpid())
        atomic_fetch_add(&caught, 1);
    else
        atomic_fetch_add(&caught_elsewhere, 1);
}

/* catch: installs handlers for all signals that can have one, and blocks them all in this thread, the program's only
 * one. */
static void
run_catch(char *argument)
{
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    sigset_t all;

    (void)argument;
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &action, NULL);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    answer("blocked");
}

/* caught: unblocks pending signals; answers with the numbers of handlers that ran on the main thread and on others. */
static void
run_caught(char *argument)
{
    int elsewhere_while_blocked = atomic_load(&caught_elsewhere);
    sigset_t none;

    (void)argument;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    answer("%d %d", atomic_load(&caught), elsewhere_while_blocked);
}

const Command thread_commands[] = {
    {"threads", run_threads}, {"storm", run_storm},   {"join", run_join},
    {"catch", run_catch},     {"caught", run_caught}, {NULL, NULL},
};
