/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon that closes all descriptors, as soon as it has a file of jescope's, and then has a file of its own with the
 * same number. Says "ready"; at the end of stdin "N rounds, N lost": a round is lost if its own file was closed or
 * written to by somebody else.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SMALL_STACK = 48 << 10, /* too small for a call */
    FILES = 16,
    DEPTH = 15, /* of calls: 2^15 call stacks, so that a dump has many writes */
};

static atomic_int rounds, lost;

__attribute__((noinline)) static void
allocate_below(int depth, unsigned path)
{
    if (depth == 0)
        *(volatile char *)malloc(100) = 1;
    else if ((path & 1) != 0)
        allocate_below(depth - 1, path >> 1);
    else {
        allocate_below(depth - 1, path >> 1);
        __asm__ volatile("" ::: "memory"); /* another return address */
    }
    __asm__ volatile("" ::: "memory");
}

static int
file_of_jescope(void)
{
    char name[64];
    char path[64];
    for (int file = 3; file < FILES; file++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        const ssize_t length = readlink(path, name, sizeof(name));
        if (length > 0 && memmem(name, (size_t)length, "jescope", strlen("jescope")) != NULL)
            return file;
    }
    return -1;
}

static void
play_round(int number)
{
    static const char data[] = "own";
    struct stat st;
    const int own = memfd_create("own", MFD_CLOEXEC);
    if (own < 0 || write(own, data, sizeof(data)) != sizeof(data))
        exit(1);
    for (int file = 3; file < FILES; file++)
        if (file != own && file != number)
            close(file);
    dup2(own, number); /* closes what has this number */
    if (own != number)
        close(own);
    rounds++;
    poll(NULL, 0, 500); /* the dump goes on meanwhile */
    lost += fstat(number, &st) != 0 || st.st_size != sizeof(data);
    close(number);
}

static void *
close_all(void *unused)
{
    for (;;) {
        const int number = file_of_jescope();
        if (number >= 0)
            play_round(number);
    }
    return unused;
}

int
main(void)
{
    char byte;
    pthread_t thread;
    pthread_attr_t attributes;
    for (unsigned path = 0; path < 1u << DEPTH; path++)
        allocate_below(DEPTH, path);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SMALL_STACK);
    if (pthread_create(&thread, &attributes, close_all, NULL) != 0)
        return 1;
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    printf("%d rounds, %d lost\n", rounds, lost);
    return 0;
}
