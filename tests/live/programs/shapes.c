/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates in known shapes and dumps its heap to the file named on the command line; every function holds what its
 * name says. */
#include <stddef.h>
#include <stdlib.h>

extern int mallctl(const char *, void *, size_t *, void *, size_t);

/* Compilers must neither see that the memory is not read nor turn calls into jumps. */
static void *volatile kept;

#define KEEP(pointer)                                                                                                  \
    do {                                                                                                               \
        kept = (pointer);                                                                                              \
        __asm__ volatile("" ::: "memory");                                                                             \
    } while (0)

static inline __attribute__((always_inline)) void
inlined_megabytes(int n)
{
    for (int i = 0; i < n; i++)
        KEEP(malloc(1 << 20)); /* the inlined line */
}

__attribute__((noinline)) void
holds_eight_megabytes(void)
{
    inlined_megabytes(8);
}

__attribute__((noinline)) void
holds_two_megabytes_recursively(int depth)
{
    if (depth > 0)
        holds_two_megabytes_recursively(depth - 1);
    else
        KEEP(calloc(2, 1 << 20));
    __asm__ volatile("");
}

__attribute__((noinline)) void
holds_many_small(void)
{
    for (int i = 0; i < 50000; i++)
        KEEP(malloc(100));
}

__attribute__((noinline)) void
calls_all(void)
{
    holds_eight_megabytes();
    holds_two_megabytes_recursively(5);
    holds_many_small();
    __asm__ volatile("");
}

int
main(int argc, char **argv)
{
    const char *file = argv[1];

    calls_all();
    for (int i = 3; i < argc; i++)
        holds_many_small();
    return argc < 2 ? 2 : mallctl("prof.dump", NULL, NULL, &file, sizeof(file));
}
