/* SPDX-License-Identifier: Apache-2.0 */
/* Linked with a jemalloc of the matrix: holds what it allocates, checks it, and prints a line after each check. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef PREFIXED
void *je_malloc(size_t size);
void je_free(void *pointer);
#define MALLOC je_malloc
#define FREE   je_free
#else
#include <stdlib.h>
#define MALLOC malloc
#define FREE   free
#endif

enum { SIZE = 1000, HELD = 20000, ROUND = 2000, PAUSE_US = 2000 };

static unsigned char *held[HELD];

__attribute__((noinline)) static void
hold_memory(unsigned i)
{
    FREE(held[i]);
    held[i] = MALLOC(SIZE);
    if (held[i] != NULL)
        memset(held[i], (int)(i % 251), SIZE);
}

static int
is_whole(unsigned i)
{
    for (unsigned j = 0; j < SIZE; j++)
        if (held[i] == NULL || held[i][j] != i % 251)
            return 0;
    return 1;
}

int
main(void)
{
    for (unsigned round = 0;; round++) {
        for (unsigned i = 0; i < ROUND; i++)
            hold_memory((round * ROUND + i) % HELD);
        for (unsigned i = 0; i < HELD && (round + 1) * ROUND >= HELD; i++)
            if (!is_whole(i))
                return 1;
        printf("%u\n", round);
        fflush(stdout);
        usleep(PAUSE_US);
    }
}
