/* SPDX-License-Identifier: Apache-2.0 */
#include "fake-allocator.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

FakeAllocator fake;

static uint64_t counter;
static bool has_stats = true;

/* Controls that are a variable: old value out, new value in. */
static const struct {
    const char *name;
    void *value;
    size_t size;
} variables[] = {
    {"config.prof", &fake.config_prof, sizeof fake.config_prof},
    {"opt.prof", &fake.opt_prof, sizeof fake.opt_prof},
    {"prof.active", &fake.prof_active, sizeof fake.prof_active},
    {"config.stats", &has_stats, sizeof has_stats},
    {"max_background_threads", &fake.max_background_threads, sizeof fake.max_background_threads},
    {"background_thread", &has_stats, sizeof has_stats},
    {"version", &fake.version, sizeof fake.version},
    {"opt.dss", &fake.version, sizeof fake.version},
    {"epoch", &counter, sizeof counter},
    {"stats.allocated", &counter, sizeof counter},
    {"thread.tcache.enabled", &has_stats, sizeof has_stats},
};

static int
write_dump(const char *path)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) {
        return EFAULT;
    }
    size_t size = strlen(fake.dump);
    bool whole = write(descriptor, fake.dump, size) == (ssize_t)size;
    close(descriptor);
    return whole ? 0 : EFAULT;
}

static int
exchange(void *value, size_t value_size, void *old, size_t *old_size, const void *new_value, size_t new_size)
{
    if ((old != NULL && *old_size != value_size) || (new_value != NULL && new_size != value_size)) {
        return EINVAL;
    }
    uint64_t before = 0;
    memcpy(&before, value, value_size);
    if (new_value != NULL) {
        memcpy(value, new_value, value_size);
    }
    if (old != NULL) {
        memcpy(old, &before, value_size);
    }
    return 0;
}

static int
fake_mallctl(const char *name, void *old, size_t *old_size, void *new_value, size_t new_size)
{
    fake.prof_calls += strncmp(name, "prof.", 5) == 0 || strncmp(name, "thread.prof.", 12) == 0;
    fake.actions += old == NULL && new_value == NULL;
    if (fake.error != 0) {
        return fake.error;
    }
    if (strcmp(name, "prof.dump") == 0) {
        return new_size == sizeof(const char *) ? write_dump(*(const char *const *)new_value) : EINVAL;
    }
    if (strcmp(name, "prof.reset") == 0 || strcmp(name, "arena.0.purge") == 0) {
        return old == NULL ? 0 : EPERM;
    }
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        if (strcmp(name, variables[i].name) == 0) {
            return exchange(variables[i].value, variables[i].size, old, old_size, new_value, new_size);
        }
    }
    return ENOENT;
}

/* Piece by piece, as jemalloc does. */
static void
fake_stats_print(void (*write_text)(void *opaque, const char *text), void *opaque, const char *letters)
{
    char piece[4] = "";
    for (const char *at = fake.statistics; *at != '\0'; at += strlen(piece)) {
        strncpy(piece, at, sizeof piece - 1);
        write_text(opaque, piece);
    }
    write_text(opaque, letters);
}

void
fake_reset(Guest *guest)
{
    fake = (FakeAllocator){
        .config_prof = true,
        .opt_prof = true,
        .max_background_threads = 4,
        .version = "5.3.0-0-gfake",
        .dump = "heap_v2/1\n",
        .statistics = "___ Begin jemalloc statistics ___\n",
    };
    fake_examine(guest);
}

void
fake_examine(Guest *guest)
{
    *guest = (Guest){.allocator = {.mallctl = fake_mallctl, .stats_print = fake_stats_print}};
    allocator_examine(&guest->allocator);
    if (allocator_can_profile(&guest->allocator)) {
        profiling_init(&guest->profiling, &guest->allocator, WIRE_SINCE_START);
    }
    guest->process = (ProcessIdentity){.pid = 4711, .start_time = 815};
    fake.prof_calls = 0;
    fake.actions = 0;
}
