/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread that sends queries to a child and checks the answers, forever:
 *   busy [signals]
 * prints "ready". A word on its stack looks like an address in the dynamic loader. With "signals", a timer interrupts
 * it a thousand times per second. At the end of stdin it prints "asked N"; it ends with "wrong" if a system call was
 * made twice or not at all, or failed without reason.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    IN_LOADER = 0x8a98,
    LOOKS_AFTER = 64, /* queries between checks for the end of stdin */
    SPREAD = 3000,
    STEPS = 2000,
    INTERVAL_US = 1000,
};

static volatile sig_atomic_t interrupted;

static void
interrupt(int number)
{
    interrupted = 1;
}

static void
answer(int end)
{
    uint64_t question;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (read(end, &question, sizeof(question)) == sizeof(question))
        if (write(end, &question, sizeof(question)) != sizeof(question))
            break;
    _exit(0);
}

static void
complain(const char *what, uint64_t n, uint64_t got)
{
    printf("wrong %s: question %lu, %lu, errno %d\n", what, n, got, errno);
    fflush(stdout);
    abort();
}

/* Waits in epoll_wait(), which may fail with EINTR only because of a signal. */
static void
wait_for_answer(int poll_end, uint64_t n)
{
    struct epoll_event event;
    for (;;) {
        interrupted = 0;
        int ready = epoll_wait(poll_end, &event, 1, -1);
        if (ready == 1)
            return;
        if (ready != -1 || errno != EINTR || !interrupted)
            complain("wait", n, (uint64_t)ready);
    }
}

static void
ask(int end, int poll_end, uint64_t n)
{
    uint64_t got = 0;
    char *block = malloc(100 + n % SPREAD);
    volatile uint64_t worked = n;
    block[0] = 1;
    for (int i = 0; i < STEPS; i++)
        worked = worked * 6364136223846793005u + 1442695040888963407u;
    if (write(end, &n, sizeof(n)) != sizeof(n))
        complain("write", n, 0);
    if (n % 2 == 0)
        wait_for_answer(poll_end, n);
    if (read(end, &got, sizeof(got)) != sizeof(got) || got != n)
        complain("answer", n, got);
    free(block);
}

int
main(int argc, char **argv)
{
    volatile uintptr_t stale[4] = {getauxval(AT_BASE) + IN_LOADER};
    const struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, INTERVAL_US}, {0, INTERVAL_US}};
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 1;
    if (fork() == 0)
        answer(ends[1]);
    int poll_end = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(poll_end, EPOLL_CTL_ADD, ends[0], &event);
    sigaction(SIGALRM, &action, NULL);
    if (argc > 1)
        setitimer(ITIMER_REAL, &often, NULL);
    puts("ready");
    fflush(stdout);
    uint64_t n = 0;
    do {
        for (int i = 0; i < LOOKS_AFTER; i++)
            ask(ends[0], poll_end, ++n);
    } while (poll(&in, 1, 0) <= 0 && stale[0] != 1);
    printf("asked %lu\n", n);
    return 0;
}
