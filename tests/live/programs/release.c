/* SPDX-License-Identifier: Apache-2.0 */
/* A program of which there are several releases: -DCACHED is what one of them caches, in KiB a request. It handles as
 * many requests as its second argument says, and dumps its heap to the file that the first one names; with "-" it says
 * that it is ready and handles as many more as each line of standard input says. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern __attribute__((weak)) int mallctl(const char *, void *, size_t *, void *, size_t);

#ifndef CACHED
#define CACHED 4
#endif

static void *volatile kept;

__attribute__((noinline)) void
cache_insert(void)
{
    kept = malloc(CACHED * 1024);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void
session_open(void)
{
    kept = malloc(16 * 1024);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void
index_build(void)
{
    for (int i = 0; i < 64; i++)
        kept = malloc(64 * 1024);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void
handle(int requests)
{
    for (; requests > 0; requests--) {
        session_open();
        cache_insert();
    }
}

static void
serve(void)
{
    static char line[32];
    for (puts("ready"); fflush(stdout) == 0 && fgets(line, sizeof(line), stdin) != NULL; puts("ready"))
        handle(atoi(line));
}

int
main(int argc, char **argv)
{
    const char *file = argv[1];
    index_build();
    handle(atoi(argv[2]));
    if (strcmp(file, "-") != 0)
        return mallctl("prof.dump", NULL, NULL, &file, sizeof(file)) != 0;
    serve();
    return 0;
}
