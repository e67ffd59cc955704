/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops its other threads by a signal again and again, as a collector of garbage does, while they are in jemalloc. Says
 * "ready", then "alive" for each byte of stdin; exits at the end of stdin.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 3, BLOCKS = 32, SUSPEND = SIGUSR1, RESUME = SIGUSR2 };

static sem_t stopped;
static atomic_uint round_number, resumed_round;
static pthread_t workers[WORKERS];

static void
suspend(int signal)
{
    const unsigned mine = round_number;
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, RESUME);
    sem_post(&stopped);
    while (resumed_round != mine)
        sigsuspend(&all);
}

static void
resume(int signal)
{
}

/* Large enough for the locks of an arena. */
static void *
work(void *unused)
{
    void *blocks[BLOCKS];
    for (;;) {
        for (int i = 0; i < BLOCKS; i++)
            *(volatile char *)(blocks[i] = malloc(20000 + (size_t)i * 3000)) = 1;
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
    }
    return unused;
}

static void
stop_world(void)
{
    const struct timespec pause = {.tv_nsec = 3000000};
    round_number++;
    for (int i = 0; i < WORKERS; i++)
        pthread_kill(workers[i], SUSPEND);
    for (int i = 0; i < WORKERS; i++)
        while (sem_wait(&stopped) != 0) {
        }
    nanosleep(&pause, NULL);
    resumed_round = round_number;
    for (int i = 0; i < WORKERS; i++)
        pthread_kill(workers[i], RESUME);
}

static void
say(const char *line)
{
    if (write(STDOUT_FILENO, line, strlen(line)) != (ssize_t)strlen(line))
        _exit(1);
}

int
main(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    struct sigaction action = {.sa_handler = suspend, .sa_flags = SA_RESTART};
    char byte;
    sigfillset(&action.sa_mask);
    sigaction(SUSPEND, &action, NULL);
    action.sa_handler = resume;
    sigaction(RESUME, &action, NULL);
    sem_init(&stopped, 0, 0);
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&workers[i], NULL, work, NULL) != 0)
            return 1;
    say("ready\n");
    for (;;) {
        stop_world();
        if (poll(&input, 1, 2) <= 0)
            continue;
        if (read(STDIN_FILENO, &byte, 1) != 1)
            return 0;
        say("alive\n");
    }
}
