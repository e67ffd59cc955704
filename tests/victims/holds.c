/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds memory of known sizes: holds [small=MIB] [cached=THREADS] [buffers=N] [elsewhere=MIB] [leak=KIB]
 *   small      MiB in blocks of 128 bytes
 *   cached     live threads that have allocated and freed everything
 *   buffers    blocks of 16 KiB, the size that is counted for sampled small objects
 *   elsewhere  MiB unknown to every malloc
 *   leak       KiB more every 10 ms, in blocks of 4 KiB, after a line was read; another line stops it
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SMALL = 128, BUFFER = 16384, LEAKED = 4096, BLOCKS = 400, ROUNDS = 30, BEAT_MS = 10 };

static void *kept;

/* Keeps blocks in a chain, so that they stay reachable. */
static void
keep(size_t size)
{
    void **block = malloc(size);
    memset(block, 1, size);
    *block = kept;
    kept = block;
}

static pthread_barrier_t all_freed;

static void *
allocate_and_free(void *unused)
{
    void *blocks[BLOCKS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i] = malloc((size_t)64 + (size_t)(i % 40) * 200);
            memset(blocks[i], 1, 64);
        }
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
    }
    pthread_barrier_wait(&all_freed);
    for (;;)
        pause();
    return unused;
}

static void
cache(unsigned threads)
{
    pthread_attr_t small_stack;
    pthread_attr_init(&small_stack);
    pthread_attr_setstacksize(&small_stack, 128 * 1024);
    pthread_barrier_init(&all_freed, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, &small_stack, allocate_and_free, NULL);
    }
    pthread_barrier_wait(&all_freed);
}

static void
hold(const char *what, size_t amount)
{
    size_t mib = amount << 20;
    if (strcmp(what, "small") == 0)
        for (size_t i = 0; i < mib / SMALL; i++)
            keep(SMALL);
    else if (strcmp(what, "buffers") == 0)
        for (size_t i = 0; i < amount; i++)
            keep(BUFFER);
    else if (strcmp(what, "cached") == 0)
        cache((unsigned)amount);
    else if (strcmp(what, "elsewhere") == 0)
        memset(mmap(NULL, mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, mib);
}

/* Leaks until the next line is read. */
static void
leak(size_t kib)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&input, 1, BEAT_MS) == 0)
        for (size_t i = 0; i < kib * 1024 / LEAKED; i++)
            keep(LEAKED);
}

int
main(int argc, char **argv)
{
    size_t leaked = 0;
    char line[64];
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (equals == NULL)
            return 2;
        *equals = '\0';
        if (strcmp(argv[i], "leak") == 0)
            leaked = strtoul(equals + 1, NULL, 10);
        else
            hold(argv[i], strtoul(equals + 1, NULL, 10));
    }
    printf("%d\n", (int)getpid());
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        puts("ok");
        fflush(stdout);
        leak(leaked);
    }
    return 0;
}
