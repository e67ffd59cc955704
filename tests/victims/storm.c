/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storm FILE THREADS: all threads, including the first, only call malloc and free, forever, without a system call in
 * the loop. Each counts its rounds in the mapped FILE, and ends the program if a block has changed contents.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 64, SIZE_MAX_BYTES = 20000 };

typedef struct {
    unsigned char *bytes;
    size_t size;
    unsigned char mark;
} Block;

static _Atomic uint64_t *rounds;

static void
check(const Block *block)
{
    if (block->bytes && (block->bytes[0] != block->mark || block->bytes[block->size - 1] != block->mark))
        abort();
}

static void *
storm(void *argument)
{
    const size_t number = (size_t)argument;
    Block blocks[SLOTS] = {{NULL, 0, 0}};
    unsigned state = (unsigned)number * 2654435761u + 1;

    for (;;) {
        state = state * 1664525u + 1013904223u;
        Block *block = &blocks[(state >> 24) % SLOTS];
        check(block);
        free(block->bytes);
        block->size = 16 + (state >> 8) % SIZE_MAX_BYTES;
        block->mark = (unsigned char)(state >> 4);
        block->bytes = malloc(block->size);
        if (!block->bytes)
            abort();
        block->bytes[0] = block->bytes[block->size - 1] = block->mark;
        atomic_fetch_add_explicit(&rounds[number], 1, memory_order_relaxed);
    }
}

int
main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const int threads = atoi(argv[2]);
    const size_t size = (size_t)threads * sizeof(*rounds);
    int file = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (threads < 1 || file < 0 || ftruncate(file, (off_t)size) != 0)
        return 1;
    rounds = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (rounds == MAP_FAILED)
        return 1;
    for (size_t i = 1; i < (size_t)threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, storm, (void *)i) != 0)
            return 1;
    }
    storm(NULL);
}
