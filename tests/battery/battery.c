/* SPDX-License-Identifier: Apache-2.0 */
#include "battery.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STEP_MS = 4,
    INNOCENT_OBJECTS = 210000,
};

size_t truth;

void *
filled(size_t bytes)
{
    char *memory = malloc(bytes);
    if (memory == NULL)
        abort();
    memset(memory, 1, bytes);
    return memory;
}

unsigned
random_below(unsigned limit)
{
    static unsigned state = 12345;
    state = state * 1103515245 + 12345;
    return (state >> 8) % limit;
}

typedef struct {
    void (*body)(int number);
    int number;
    pthread_barrier_t *ready;
} Start;

static void *
run_thread(void *data)
{
    Start *start = data;
    start->body(start->number);
    pthread_barrier_wait(start->ready);
    for (;;)
        pause();
    return NULL;
}

void
in_threads(int count, void (*body)(int number))
{
    static pthread_barrier_t ready;
    Start *starts = calloc((size_t)count, sizeof(*starts));
    pthread_barrier_init(&ready, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        starts[i] = (Start){body, i, &ready};
        if (pthread_create(&thread, NULL, run_thread, &starts[i]) != 0)
            abort();
    }
    pthread_barrier_wait(&ready);
}

/* What every program has: a table that it keeps. */
static void *configuration[INNOCENT_OBJECTS];

NAMED static void
load_configuration(void)
{
    for (int i = 0; i < INNOCENT_OBJECTS; i++)
        configuration[i] = filled(64 + 16 * random_below(16));
}

static const Case *const tables[] = {
    heap_cases, allocator_cases, system_cases,
#ifdef BATTERY_CXX
    cxx_cases,  shape_cases,     trade_cases,
#endif
};

static const Case *
find(const char *name)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const Case *row = tables[i]; row->name != NULL; row++)
            if (strcmp(row->name, name) == 0)
                return row;
    return NULL;
}

static void
list(void)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const Case *row = tables[i]; row->name != NULL; row++)
            printf("%s\t%s\t%s\t%s\n", row->name, row->cause, row->function, row->conf);
}

static void
tell(const Case *row)
{
    char line[512];
    int length = snprintf(line, sizeof(line), "{\"pid\":%d,\"cause\":\"%s\",\"function\":\"%s\",\"bytes\":%zu}\n",
                          (int)getpid(), row->cause, row->function, truth);
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(1);
}

static void
serve(const Case *row)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char words[64];
    if (poll(&input, 1, row->step != NULL ? STEP_MS : -1) <= 0)
        return;
    ssize_t got = read(STDIN_FILENO, words, sizeof(words));
    if (got <= 0)
        _exit(0);
    tell(row);
}

int
main(int argc, char **argv)
{
    const Case *row = argc == 2 ? find(argv[1]) : NULL;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list();
        return 0;
    }
    if (row == NULL) {
        fprintf(stderr, "usage: battery --list | battery CASE\n");
        return 2;
    }
    load_configuration();
    row->prepare();
    tell(row);
    for (;;) {
        serve(row);
        if (row->step != NULL)
            row->step();
    }
}
