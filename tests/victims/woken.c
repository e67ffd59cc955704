/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits in a system call that only a handler of a signal ends, again and again:
 *   woken CALL
 * where CALL is pause, read, epoll_wait, or epoll_pwait, which alone lets the signal through. Prints "ready"; at the
 * end of stdin "N waits, N lost": a wait is lost if it took a second signal to end it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    FIRST_US = 2000,
    SPREAD_US = 10000,
    AGAIN_S = 2,
    BLOCKS = 20000, /* so that a dump takes some time */
};

static void *volatile blocks[BLOCKS];

static volatile sig_atomic_t signals;

static void
count(int signal)
{
    signals++;
}

static int
wait_in(const char *call, int quiet, int poll_end)
{
    sigset_t none;
    struct epoll_event event;
    char byte;
    sigemptyset(&none);
    if (strcmp(call, "pause") == 0)
        return pause();
    if (strcmp(call, "read") == 0)
        return (int)read(quiet, &byte, 1);
    return epoll_pwait(poll_end, &event, 1, -1, strcmp(call, "epoll_pwait") == 0 ? &none : NULL);
}

int
main(int argc, char **argv)
{
    const char *call = argc > 1 ? argv[1] : "pause";
    const struct sigaction action = {.sa_handler = count}; /* without SA_RESTART */
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    struct epoll_event event = {.events = EPOLLIN};
    sigset_t blocked;
    int ends[2], poll_end = epoll_create1(0), waits = 0, lost = 0;
    if (pipe(ends) != 0)
        return 1;
    epoll_ctl(poll_end, EPOLL_CTL_ADD, ends[0], &event);
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGALRM);
    if (strcmp(call, "epoll_pwait") == 0)
        sigprocmask(SIG_BLOCK, &blocked, NULL);
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(100 + i % 4000);
    puts("ready");
    fflush(stdout);
    for (; poll(&in, 1, 0) == 0; waits++) {
        const struct itimerval timer = {{AGAIN_S, 0}, {0, FIRST_US + rand() % SPREAD_US}}, off = {0};
        signals = 0;
        setitimer(ITIMER_REAL, &timer, NULL);
        if (wait_in(call, ends[0], poll_end) != -1 || errno != EINTR)
            return 1;
        setitimer(ITIMER_REAL, &off, NULL);
        lost += signals > 1;
    }
    printf("%d waits, %d lost\n", waits, lost);
    return 0;
}
