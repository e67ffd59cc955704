/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile process: as soon as one thread is made to open a file, another thread replaces the descriptor by FILE:
 *   exchange FILE
 * opens FILE with O_PATH, which needs no permission on it. Prints "ready", and "exchanged N" at the end of stdin.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { HELD_NS = 20000000 };

static int chosen;
static int next;
static atomic_long exchanged;

static void *
exchange(void *unused)
{
    const struct timespec held = {0, HELD_NS};
    for (;;) {
        if (fcntl(next, F_GETFD) < 0)
            continue;
        dup2(chosen, next);
        atomic_fetch_add(&exchanged, 1);
        nanosleep(&held, NULL);
        close(next);
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    char byte;
    pthread_t thread;
    if (argc != 2)
        return 2;
    chosen = open(argv[1], O_PATH);
    if (chosen < 0)
        return 1;
    next = dup(chosen); /* the lowest free number, which the next file gets */
    close(next);
    free(malloc(1000));
    pthread_create(&thread, NULL, exchange, NULL);
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    printf("exchanged %ld\n", atomic_load(&exchanged));
    return 0;
}
