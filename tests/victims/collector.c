/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops its other threads by a signal again and again, as a collector of garbage does, while they are in jemalloc. Says
 * "ready", then "alive" for each byte of stdin; exits at the end of stdin. With the argument "all" a thread of its own
 * stops them, the main thread too; with "filtered" a seccomp filter kills it for all system calls but its own; with
 * "stack" the handler has its own stack.
 */
#include "seccomp-filter.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 3, BLOCKS = 32, SUSPEND = SIGUSR1, RESUME = SIGUSR2, HANDLER_STACK = 64 * 1024 };

static sem_t stopped;
static atomic_uint round_number, resumed_round;
static pthread_t stoppable[WORKERS + 1];
static int n_stoppable, has_stack;

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
static void
use_stack(void)
{
    const stack_t stack = {.ss_sp = malloc(HANDLER_STACK), .ss_size = HANDLER_STACK};
    if (has_stack && sigaltstack(&stack, NULL) != 0)
        _exit(1);
}

static void *
work(void *unused)
{
    void *blocks[BLOCKS];
    use_stack();
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
    for (int i = 0; i < n_stoppable; i++)
        pthread_kill(stoppable[i], SUSPEND);
    for (int i = 0; i < n_stoppable; i++)
        while (sem_wait(&stopped) != 0) {
        }
    nanosleep(&pause, NULL);
    resumed_round = round_number;
    for (int i = 0; i < n_stoppable; i++)
        pthread_kill(stoppable[i], RESUME);
}

static void *
collect(void *unused)
{
    for (const struct timespec pause = {.tv_nsec = 2000000};; nanosleep(&pause, NULL))
        stop_world();
    return unused;
}

static void
install_filter(void)
{
    struct sock_filter code[] = {
        FILTER_BEGIN,
        ALLOW(SYS_read),
        ALLOW(SYS_write),
        ALLOW(SYS_futex),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_poll),
        ALLOW(SYS_ppoll),
        ALLOW(SYS_nanosleep),
        ALLOW(SYS_clock_nanosleep),
        ALLOW(SYS_restart_syscall),
        ALLOW(SYS_rt_sigaction),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_rt_sigsuspend),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_sigaltstack),
        ALLOW(SYS_tgkill),
        ALLOW(SYS_getpid),
        ALLOW(SYS_clone3),
        ALLOW(SYS_set_robust_list),
        ALLOW(SYS_rseq),
        ALLOW(SYS_mmap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mprotect),
        ALLOW(SYS_madvise),
        ALLOW(SYS_sched_yield),
        FILTER_END,
    };
    install_instructions(code, sizeof(code) / sizeof(*code));
}

static void
say(const char *line)
{
    if (write(STDOUT_FILENO, line, strlen(line)) != (ssize_t)strlen(line))
        _exit(1);
}

static void
start(void *(*run)(void *), pthread_t *thread)
{
    if (pthread_create(thread, NULL, run, NULL) != 0)
        _exit(1);
}

static int
has_word(char **words, const char *word)
{
    for (; *words != NULL; words++)
        if (strcmp(*words, word) == 0)
            return 1;
    return 0;
}

int
main(int argc, char **argv)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    struct sigaction action = {.sa_handler = suspend, .sa_flags = SA_RESTART | SA_ONSTACK};
    const int all = has_word(argv, "all");
    pthread_t collector;
    char byte;
    has_stack = has_word(argv, "stack");
    use_stack();
    sigfillset(&action.sa_mask);
    sigaction(SUSPEND, &action, NULL);
    action.sa_handler = resume;
    sigaction(RESUME, &action, NULL);
    sem_init(&stopped, 0, 0);
    if (has_word(argv, "filtered"))
        install_filter();
    while (n_stoppable < WORKERS)
        start(work, &stoppable[n_stoppable++]);
    if (all) {
        stoppable[n_stoppable++] = pthread_self();
        start(collect, &collector);
    }
    say("ready\n");
    for (;;) {
        if (!all)
            stop_world();
        if (poll(&input, 1, 2) <= 0)
            continue;
        if (read(STDIN_FILENO, &byte, 1) != 1)
            return 0;
        say("alive\n");
    }
}
