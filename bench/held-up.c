/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held-up FILE STACKS DUMPS: a program that detects when it is stopped. It keeps STACKS sampled blocks, each from a
 * separate stack; takes DUMPS heap dumps itself, and prints its pid and the median and 99th percentile of their
 * duration in ns; then reads the clock forever, and records every gap in the mapped FILE.
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

enum {
    MISSED_NS = 10000,
    BUSY_NS = 9000000,
    REST_NS = 1000000,
    WAKING_NS = 60000, /* nanoseconds of timer slack */
    GAPS_MAX = 1 << 20,
    DUMPS_MAX = 1000
};

typedef struct {
    uint64_t count;
    struct {
        uint64_t begin; /* CLOCK_MONOTONIC, nanoseconds */
        uint64_t end;
    } gaps[GAPS_MAX];
} Gaps;

/* Arguments of mallctl() for gdb, which would otherwise have to allocate them in this program. */
const char *held_status[] = {
    "version",         "config.prof",  "config.stats",   "opt.prof",       "prof.active",  "prof.lg_sample", "epoch",
    "stats.allocated", "stats.active", "stats.metadata", "stats.resident", "stats.mapped", "stats.retained", NULL};
const char *held_active = "prof.active";
const char *held_dump = "prof.dump";
bool held_on = true;
const char *held_file = "/dev/shm/jescope-held-up";
const char *const *held_file_place = &held_file;
char held_value[64];
size_t held_size = sizeof(held_value);

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
    snprintf(argument, sizeof(argument), "%s 100", count);
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

static void
time_own_dumps(int dumps)
{
    static uint64_t times[DUMPS_MAX];
    for (int i = 0; i < dumps && i < DUMPS_MAX; i++) {
        uint64_t begin = now();
        if (mallctl(held_dump, NULL, NULL, &held_file, sizeof(held_file)) != 0)
            fail("prof.dump");
        times[i] = now() - begin;
    }
    qsort(times, (size_t)dumps, sizeof(*times), compare);
    printf("%d %llu %llu\n", getpid(), (unsigned long long)times[dumps / 2],
           (unsigned long long)times[dumps * 99 / 100]);
    fflush(stdout);
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

static void
note(Gaps *gaps, uint64_t begin, uint64_t end)
{
    if (end - begin < MISSED_NS || end < begin)
        return;
    gaps->gaps[gaps->count].begin = begin;
    gaps->gaps[gaps->count].end = end;
    __atomic_store_n(&gaps->count, gaps->count + 1, __ATOMIC_RELEASE);
}

/* Sleeps for a tenth of the time, since the kernel throttles real-time programs that never sleep. Only the excess of a
 * sleep counts as a gap. */
static void
watch(Gaps *gaps)
{
    const struct timespec rest = {.tv_nsec = REST_NS};
    uint64_t rested = now();
    for (uint64_t last = rested, time; gaps->count < GAPS_MAX; last = time) {
        time = now();
        note(gaps, last, time);
        if (time - rested > BUSY_NS) {
            uint64_t until = now() + REST_NS + WAKING_NS;
            nanosleep(&rest, NULL);
            time = rested = now();
            note(gaps, until, time);
        }
    }
}

int
main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    Gaps *gaps = map_gaps(argv[1]);
    hold(argv[2]);
    time_own_dumps(atoi(argv[3]));
    watch(gaps);
    return 0;
}
