/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates known numbers of objects at known places, dumps the heap profile and frees them, repeatedly: ROUNDS files
 * PREFIX.0, PREFIX.1, ... The scale argument is the number of bytes per place. Run by bench/sampling-error under
 * jemalloc.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int (*mallctl)(const char *name, void *old, size_t *old_length, void *new, size_t new_length);

static void **live;
static size_t n_live;

static void
keep(void *object)
{
    if (object == NULL) {
        perror("known-heap");
        exit(1);
    }
    live[n_live++] = object;
}

/* A place that allocates the sizes[] in turn until their sum reaches bytes. Prints the true numbers. */
#define PLACE(name, ...)                                                                                               \
    __attribute__((noinline)) static void name(size_t bytes)                                                           \
    {                                                                                                                  \
        static const size_t sizes[] = {__VA_ARGS__};                                                                   \
        size_t sum = 0;                                                                                                \
        size_t n = 0;                                                                                                  \
        for (; sum < bytes; n++) {                                                                                     \
            size_t size = sizes[n % (sizeof(sizes) / sizeof(*sizes))];                                                 \
            keep(malloc(size));                                                                                        \
            sum += size;                                                                                               \
        }                                                                                                              \
        printf("%s %zu %zu\n", __func__, n, sum);                                                                      \
    }

PLACE(place_tiny, 16)
PLACE(place_small, 96)
PLACE(place_medium, 1024)
PLACE(place_page, 4096)
PLACE(place_large, 65536)
PLACE(place_close, 48, 64, 80, 96)
PLACE(place_spread, 32, 64, 128, 256, 512, 1024, 2048, 4096)
PLACE(place_extremes, 64, 64, 64, 64, 64, 64, 64, 16384)

static void (*const places[])(size_t bytes) = {place_tiny,  place_small, place_medium, place_page,
                                               place_large, place_close, place_spread, place_extremes};

static void
dump(const char *prefix, int round)
{
    char path[4096];
    const char *name = path;

    snprintf(path, sizeof(path), "%s.%d", prefix, round);
    if (mallctl("prof.dump", NULL, NULL, &name, sizeof(name)) != 0) {
        fprintf(stderr, "known-heap: cannot write %s\n", path);
        exit(1);
    }
}

int
main(int argc, char **argv)
{
    *(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
    if (argc != 4 || mallctl == NULL) {
        fprintf(stderr, "usage: known-heap PREFIX ROUNDS BYTES, under jemalloc with prof:true\n");
        return 2;
    }
    int rounds = atoi(argv[2]);
    size_t bytes = (size_t)strtoull(argv[3], NULL, 10);
    static char buffer[1 << 16]; /* so that stdout allocates nothing between the rounds */
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    live = malloc((bytes / 8) * sizeof(*live));
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
            places[i](bytes);
        dump(argv[1], round);
        while (n_live > 0)
            free(live[--n_live]);
        mallctl("prof.reset", NULL, NULL, NULL, 0);
    }
    return 0;
}
