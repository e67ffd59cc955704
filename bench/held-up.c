/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held-up FILE STACKS DUMPS: a program that notices when it is stopped. It keeps STACKS sampled blocks, each of a stack
 * of its own; takes DUMPS heap dumps itself and prints its pid and the median of their time in nanoseconds; then looks
 * at the clock for ever, and notes in the mapped FILE every moment that it missed.
 */
#include "../tests/victims/victim.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MISSED_NS = 10000, GAPS_MAX = 1 << 20, DUMPS_MAX = 1000 };

typedef struct {
    uint64_t count;
    struct {
        uint64_t begin; /* CLOCK_MONOTONIC, nanoseconds */
        uint64_t end;
    } gaps[GAPS_MAX];
} Gaps;

/* What gdb calls mallctl() with: it would have to allocate its own words in this program. */
const char *held_status[] = {
    "version",         "config.prof",  "config.stats",   "opt.prof",       "prof.active",  "prof.lg_sample", "epoch",
    "stats.allocated", "stats.active", "stats.metadata", "stats.resident", "stats.mapped", "stats.retained", NULL};
const char *held_active = "prof.active";
const char *held_dump = "prof.dump";
bool held_on = true;
const char *held_file = "/dev/shm/jescope-held-up";
const char *const *held_file_place = &held_file;
char held_value[64];
size_t held_size = sizeof held_value;

int mallctl(const char *name, void *old, size_t *old_size, void *value, size_t size);

void
answer(const char *format, ...)
{
    (void)format;
}

void
fail(const char *what)
{
    fprintf(stderr, "held-up: %s\n", what);
    exit(1);
}

static uint64_t
now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void
hold(char *count)
{
    char argument[64];
    snprintf(argument, sizeof argument, "%s 100", count);
    for (const Command *command = memory_commands; command->name; command++)
        if (strcmp(command->name, "hold") == 0)
            command->run(argument);
}

static int
compare(const void *one, const void *other)
{
    const uint64_t *a = one, *b = other;
    return (*a > *b) - (*a < *b);
}

static uint64_t
time_own_dumps(int dumps)
{
    static uint64_t times[DUMPS_MAX];
    for (int i = 0; i < dumps && i < DUMPS_MAX; i++) {
        uint64_t begin = now();
        if (mallctl(held_dump, NULL, NULL, &held_file, sizeof held_file) != 0)
            fail("prof.dump");
        times[i] = now() - begin;
    }
    qsort(times, (size_t)dumps, sizeof *times, compare);
    return times[dumps / 2];
}

static Gaps *
map_gaps(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(Gaps)) != 0)
        fail(path);
    Gaps *gaps = mmap(NULL, sizeof(Gaps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    if (gaps == MAP_FAILED)
        fail(path);
    return gaps;
}

int
main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    Gaps *gaps = map_gaps(argv[1]);
    hold(argv[2]);
    printf("%d %llu\n", getpid(), (unsigned long long)time_own_dumps(atoi(argv[3])));
    fflush(stdout);
    for (uint64_t last = now(), time; gaps->count < GAPS_MAX; last = time) {
        time = now();
        if (time - last >= MISSED_NS) {
            gaps->gaps[gaps->count].begin = last;
            gaps->gaps[gaps->count].end = time;
            __atomic_store_n(&gaps->count, gaps->count + 1, __ATOMIC_RELEASE);
        }
    }
    return 0;
}
