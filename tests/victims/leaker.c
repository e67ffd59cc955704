/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that allocates on command, one per line of stdin:
 *   stacks N    allocates once from each of N call stacks
 *   hold N      allocates and touches N bytes
 *   leak N      allocates and touches N bytes per second from now on, in a thread
 * It prints its pid first, and a line after each command.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    DEPTH = 20, /* frames with two variants: up to 2^20 stacks */
    SMALL = 64,
    BLOCK = 64 * 1024,
    TICK_NS = 10000000,
    TICKS = 100, /* per second */
};

static void *volatile last;

static void
keep(size_t bytes)
{
    void **block = malloc(bytes);
    memset(block, 1, bytes);
    *block = last;
    last = block;
}

static void left(unsigned way, int depth);
static void right(unsigned way, int depth);

static void
turn(unsigned way, int depth)
{
    if (depth == 0)
        keep(SMALL);
    else if ((way & 1) != 0)
        right(way >> 1, depth - 1);
    else
        left(way >> 1, depth - 1);
}

/* The empty statement prevents a tail call. */
__attribute__((noinline)) static void
left(unsigned way, int depth)
{
    turn(way, depth);
    __asm__ volatile("");
}

__attribute__((noinline)) static void
right(unsigned way, int depth)
{
    turn(way, depth);
    __asm__ volatile("nop");
}

__attribute__((noinline)) static void
hold(size_t bytes)
{
    for (size_t done = 0; done < bytes; done += BLOCK)
        keep(BLOCK);
}

static void *
leak_on(void *rate)
{
    const size_t bytes = (size_t)rate / TICKS;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (;;) {
        hold(bytes);
        next.tv_nsec += TICK_NS;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return NULL;
}

int
main(void)
{
    char word[16];
    size_t number;
    pthread_t thread;
    printf("%d\n", (int)getpid());
    fflush(stdout);
    while (scanf("%15s %zu", word, &number) == 2) {
        if (strcmp(word, "stacks") == 0)
            for (unsigned i = 0; i < number; i++)
                left(i, DEPTH);
        else if (strcmp(word, "hold") == 0)
            hold(number);
        else if (strcmp(word, "leak") != 0 || pthread_create(&thread, NULL, leak_on, (void *)number) != 0)
            return 1;
        puts(word);
        fflush(stdout);
    }
    return 0;
}
