/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits in one system call and reports how the wait ended:
 *   waits KIND MILLISECONDS
 * prints "ready" before the wait, then "ended RESULT ERRNO MILLISECONDS". A child causes the awaited event after
 * MILLISECONDS, or the wait has that timeout. No signal handler is installed unless the wait is for a signal.
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TRANSFER = 1 << 20 };

static long period; /* milliseconds */
static int ends[2]; /* of a pipe or a socket pair */

static struct timespec
span(void)
{
    return (struct timespec){period / 1000, period % 1000 * 1000000};
}

static struct timespec
moment(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    now.tv_sec += period / 1000;
    now.tv_nsec += period % 1000 * 1000000;
    now.tv_sec += now.tv_nsec / 1000000000;
    now.tv_nsec %= 1000000000;
    return now;
}

/* Forks a child that writes to the other end after the period. */
static pid_t
write_later(void)
{
    pid_t child = fork();
    if (child == 0) {
        usleep((useconds_t)period * 1000);
        _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    return child;
}

static long
wait_nanosleep(void)
{
    struct timespec time = span();
    return nanosleep(&time, NULL);
}

static long
wait_clock_nanosleep(void)
{
    struct timespec until = moment(CLOCK_MONOTONIC);
    errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    return -(errno != 0);
}

static long
wait_poll(void)
{
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    return poll(&one, 1, (int)period);
}

/* All system calls are permitted: the program could handle them, but does not. */
static long
wait_dispatch(void)
{
    static char selector = SYSCALL_DISPATCH_FILTER_ALLOW;
    return prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector) == 0 ? wait_poll() : -1;
}

static long
wait_ppoll(void)
{
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    struct timespec time = span();
    sigset_t none;
    sigemptyset(&none);
    return ppoll(&one, 1, &time, &none);
}

static long
wait_select(void)
{
    struct timeval time = {period / 1000, period % 1000 * 1000};
    return select(0, NULL, NULL, NULL, &time);
}

static long
wait_pselect(void)
{
    struct timespec time = span();
    sigset_t none;
    sigemptyset(&none);
    return pselect(0, NULL, NULL, NULL, &time, &none);
}

static long
wait_epoll(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
    write_later();
    return epoll_wait(epoll, &event, 1, -1);
}

static long
wait_epoll_timeout(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_create1(0), &event, 1, (int)period);
}

static long
wait_epoll_pwait(void)
{
    struct epoll_event event;
    sigset_t none;
    sigemptyset(&none);
    return epoll_pwait(epoll_create1(0), &event, 1, (int)period, &none);
}

static long
wait_futex(void)
{
    uint32_t word = 1;
    struct timespec time = span();
    return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &time, NULL, 0);
}

static long
wait_condition(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec until = moment(CLOCK_REALTIME);
    pthread_mutex_lock(&mutex);
    errno = pthread_cond_timedwait(&condition, &mutex, &until);
    return -(errno != 0);
}

static long
wait_semaphore(void)
{
    sem_t semaphore;
    struct timespec until = moment(CLOCK_REALTIME);
    sem_init(&semaphore, 0, 0);
    return sem_timedwait(&semaphore, &until);
}

static long
wait_read(void)
{
    char byte;
    write_later();
    return read(ends[0], &byte, 1);
}

static long
wait_recv(void)
{
    char byte;
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    write_later();
    return recv(ends[0], &byte, 1, 0);
}

/* With SO_RCVTIMEO, the kernel returns EINTR instead of restarting the call. */
static long
wait_recv_timeout(void)
{
    char byte;
    struct timeval time = {period / 1000, period % 1000 * 1000};
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
    return recv(ends[0], &byte, 1, 0);
}

/* To a listener whose queue of one connection is full. */
static long
wait_connect_timeout(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof(sa_family_t);
    struct timeval time = {period / 1000, period % 1000 * 1000};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&address, length);
    length = sizeof(address);
    getsockname(listener, (struct sockaddr *)&address, &length);
    listen(listener, 0);
    connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, length);
    int late = socket(AF_UNIX, SOCK_STREAM, 0);
    setsockopt(late, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
    return connect(late, (struct sockaddr *)&address, length);
}

/* More than the pipe takes before a child reads, after the period. */
static long
wait_write(void)
{
    static char bytes[TRANSFER], taken[TRANSFER];
    if (fork() == 0) {
        usleep((useconds_t)period * 1000);
        for (long n = 0, all = 0; all < TRANSFER && (n = read(ends[0], taken, TRANSFER)) > 0;)
            all += n;
        _exit(0);
    }
    return write(ends[1], bytes, TRANSFER);
}

/* The other half comes from a child after the period. */
static long
wait_recv_all(void)
{
    char bytes[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    if (write(ends[1], "x", 1) != 1)
        return -1;
    write_later();
    return recv(ends[0], bytes, sizeof(bytes), MSG_WAITALL);
}

static long
wait_accept(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof(sa_family_t);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&address, length);
    length = sizeof(address);
    getsockname(listener, (struct sockaddr *)&address, &length);
    listen(listener, 1);
    if (fork() == 0) {
        usleep((useconds_t)period * 1000);
        _exit(connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, length));
    }
    return accept(listener, NULL, NULL) >= 0;
}

static long
wait_child(void)
{
    pid_t child = write_later();
    return waitpid(child, NULL, 0) == child;
}

static long
wait_message(void)
{
    struct {
        long type;
        char text[1];
    } message = {1, "x"};
    int queue = msgget(IPC_PRIVATE, 0600);
    if (fork() == 0) {
        usleep((useconds_t)period * 1000);
        _exit(msgsnd(queue, &message, 1, 0));
    }
    long got = msgrcv(queue, &message, 1, 0, 0);
    int saved = errno;
    msgctl(queue, IPC_RMID, NULL);
    errno = saved;
    return got;
}

static long
wait_signal(void)
{
    sigset_t one;
    struct timespec time = span();
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, NULL);
    return sigtimedwait(&one, NULL, &time);
}

static volatile sig_atomic_t seen;

static void
note(int signal)
{
    seen = signal;
}

static void
alarm_later(void)
{
    struct sigaction action = {.sa_handler = note};
    struct itimerval time = {.it_value = {period / 1000, period % 1000 * 1000}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &time, NULL);
}

static long
wait_pause(void)
{
    alarm_later();
    return pause();
}

static long
wait_suspend(void)
{
    sigset_t none;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    alarm_later();
    sigemptyset(&none);
    return sigsuspend(&none);
}

static volatile sig_atomic_t begun;

static void *
wait_in_vfork(void *unused)
{
    if (vfork() == 0) {
        begun = 1;
        usleep((useconds_t)period * 1000);
        _exit(0);
    }
    return unused;
}

/* In the C library, which keeps the list of threads locked until each of them has changed its ids. */
static long
wait_setresuid(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_in_vfork, NULL) != 0)
        return -1;
    while (!begun)
        usleep(1000);
    return setresuid(getuid(), geteuid(), -1);
}

static const struct {
    const char *name;
    long (*wait)(void);
} kinds[] = {
    {"nanosleep", wait_nanosleep},
    {"clock_nanosleep", wait_clock_nanosleep},
    {"poll", wait_poll},
    {"dispatch", wait_dispatch},
    {"ppoll", wait_ppoll},
    {"select", wait_select},
    {"pselect", wait_pselect},
    {"epoll_wait", wait_epoll},
    {"epoll_wait_timeout", wait_epoll_timeout},
    {"epoll_pwait", wait_epoll_pwait},
    {"futex", wait_futex},
    {"condition", wait_condition},
    {"semaphore", wait_semaphore},
    {"read", wait_read},
    {"recv", wait_recv},
    {"recv_timeout", wait_recv_timeout},
    {"connect_timeout", wait_connect_timeout},
    {"write", wait_write},
    {"recv_all", wait_recv_all},
    {"accept", wait_accept},
    {"waitpid", wait_child},
    {"msgrcv", wait_message},
    {"sigtimedwait", wait_signal},
    {"pause", wait_pause},
    {"sigsuspend", wait_suspend},
    {"setresuid", wait_setresuid},
};

static long
now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int
main(int argc, char **argv)
{
    if (argc != 3 || pipe(ends) != 0)
        return 2;
    period = atol(argv[2]);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(kinds[i].name, argv[1]) != 0)
            continue;
        puts("ready");
        fflush(stdout);
        long start = now_ms();
        errno = 0;
        long result = kinds[i].wait();
        int code = errno;
        printf("ended %ld %d %ld\n", result, result < 0 ? code : 0, now_ms() - start);
        return 0;
    }
    return 2;
}
