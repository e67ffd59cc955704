/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cancels a thread with pthread_cancel():
 *   cancels pending     the main thread, while it waits for a mutex, which cancellation does not end
 *   cancels meanwhile   a thread that waits in poll(), which cancellation ends, once the process has a file of
 * jescope's Says "ready", and at the end of stdin (pending), or once the thread has ended, whether the thread had done
 * its work, and whether the process can still fork. No other thread has a stack that can be used for a call.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SMALL_STACK = 48 << 10, FILES = 16 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_t cancelled;
static volatile int done;

static void
say_ready(void)
{
    puts("ready");
    fflush(stdout);
}

/* fork() waits for all locks of jemalloc. */
static void
report(void)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0)
        _exit(7);
    waitpid(child, &status, 0);
    printf("done %d forked %d\n", done, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    exit(0);
}

static void *
cancel_main(void *held)
{
    char byte;
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(held);
    pthread_cancel(cancelled);
    say_ready();
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    pthread_mutex_unlock(&mutex);
    pthread_join(cancelled, NULL);
    report();
    return NULL;
}

static int
has_file_of_jescope(void)
{
    char name[64];
    char path[64];
    for (int file = 3; file < FILES; file++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        const ssize_t length = readlink(path, name, sizeof(name));
        if (length > 0 && memmem(name, (size_t)length, "memfd:jescope", strlen("memfd:jescope")) != NULL)
            return 1;
    }
    return 0;
}

static void *
cancel_meanwhile(void *unused)
{
    say_ready();
    while (!has_file_of_jescope())
        ;
    pthread_cancel(cancelled);
    pthread_join(cancelled, NULL);
    report();
    return unused;
}

static void
note_end(void *unused)
{
    done = 1;
}

static void *
wait_until_cancelled(void *unused)
{
    pthread_cleanup_push(note_end, NULL);
    for (;;)
        poll(NULL, 0, -1);
    pthread_cleanup_pop(0);
    return unused;
}

static void
start_small(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SMALL_STACK);
    if (pthread_create(&thread, &attributes, run, argument) != 0)
        exit(1);
}

int
main(int argc, char **argv)
{
    pthread_barrier_t held;
    for (int i = 0; i < 1000; i++)
        *(volatile char *)malloc(5000) = 1;
    if (argc > 1 && strcmp(argv[1], "meanwhile") == 0) {
        if (pthread_create(&cancelled, NULL, wait_until_cancelled, NULL) != 0)
            return 1;
        start_small(cancel_meanwhile, NULL);
        for (;;)
            pause();
    }
    cancelled = pthread_self();
    pthread_barrier_init(&held, NULL, 2);
    start_small(cancel_main, &held);
    pthread_barrier_wait(&held);
    pthread_mutex_lock(&mutex);
    done = 1;
    pthread_mutex_unlock(&mutex);
    pthread_testcancel();
    return 0;
}
