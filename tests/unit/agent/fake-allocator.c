/* SPDX-License-Identifier: Apache-2.0 */
#include "fake-allocator.h"

#include "agent/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
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
    {"prof.lg_sample", &fake.lg_sample, sizeof(fake.lg_sample)},
    {"config.prof", &fake.config_prof, sizeof(fake.config_prof)},
    {"opt.prof", &fake.opt_prof, sizeof(fake.opt_prof)},
    {"prof.active", &fake.prof_active, sizeof(fake.prof_active)},
    {"config.stats", &has_stats, sizeof(has_stats)},
    {"max_background_threads", &fake.max_background_threads, sizeof(fake.max_background_threads)},
    {"background_thread", &has_stats, sizeof(has_stats)},
    {"version", &fake.version, sizeof(fake.version)},
    {"opt.dss", &fake.version, sizeof(fake.version)},
    {"epoch", &counter, sizeof(counter)},
    {"stats.allocated", &counter, sizeof(counter)},
    {"thread.tcache.enabled", &has_stats, sizeof(has_stats)},
};

static int
write_dump(const char *path)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0)
        return EFAULT;
    size_t size = strlen(fake.dump);
    bool whole = write(descriptor, fake.dump, size) == (ssize_t)size;
    close(descriptor);
    return whole ? 0 : EFAULT;
}

static int
exchange(void *value, size_t value_size, void *old, size_t *old_size, const void *new_value, size_t new_size)
{
    if ((old != NULL && *old_size != value_size) || (new_value != NULL && new_size != value_size))
        return EINVAL;
    uint64_t before = 0;
    memcpy(&before, value, value_size);
    if (new_value != NULL)
        memcpy(value, new_value, value_size);
    if (old != NULL)
        memcpy(old, &before, value_size);
    return 0;
}

/* Classes of a page of 4 KiB: 36 small ones (of a quantum of 8 bytes 39), then four in each doubling. */
static size_t
class_size(unsigned i)
{
    static const size_t first[] = {8, 16, 32, 48, 64, 80, 96, 112, 128};
    static const size_t first_of_8[] = {8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128};
    const size_t *begin = fake.quantum == 8 ? first_of_8 : first;
    const unsigned n = fake.quantum == 8 ? 12 : 9;
    if (i < n)
        return begin[i];
    i -= n;
    return ((size_t)128 << (i / 4)) + ((size_t)32 << (i / 4)) * (i % 4 + 1);
}

static int
read_class(const char *name, void *old, size_t *old_size)
{
    enum { LARGE = 196 };
    const unsigned small = fake.quantum == 8 ? 39 : 36;
    unsigned i;
    size_t value;
    unsigned count = strcmp(name, "arenas.nbins") == 0 ? small : strcmp(name, "arenas.nlextents") == 0 ? LARGE : 0;
    if (count != 0)
        return exchange(&count, sizeof(count), old, old_size, NULL, 0);
    if (strcmp(name, "arenas.page") == 0)
        value = 4096;
    else if (strcmp(name, "arenas.quantum") == 0)
        value = fake.quantum;
    else if (sscanf(name, "arenas.bin.%u.size", &i) == 1)
        value = class_size(i) + (fake.odd_sizes && i == 20 ? 16 : 0);
    else if (sscanf(name, "arenas.lextent.%u.size", &i) == 1)
        value = class_size(i + small);
    else
        return ENOENT;
    return exchange(&value, sizeof(value), old, old_size, NULL, 0);
}

static int
change_hooks(const char *name, void *old, const void *new_value, size_t new_size)
{
    void *handle = &fake.hooks;
    fake.is_marked = true;
    if (strcmp(name, "experimental.hooks.install") != 0) {
        fake.n_hooks--;
        return new_size == sizeof(handle) && memcmp(new_value, &handle, sizeof(handle)) == 0 ? 0 : EINVAL;
    }
    if (fake.hooks_taken || new_size != sizeof(fake.hooks))
        return EAGAIN;
    memcpy(&fake.hooks, new_value, new_size);
    memcpy(old, &handle, sizeof(handle));
    fake.n_hooks++;
    return 0;
}

static int
fake_name_to_mib(const char *name, size_t *mib, size_t *length)
{
    return fake.has_hooks && (strcmp(name, "experimental.hooks.install") == 0 ||
                              strcmp(name, "experimental.utilization.batch_query") == 0)
               ? 0
               : ENOENT;
}

/* Of experimental.utilization.batch_query, for one address; the large ones are at multiples of 64 KiB. */
static int
fake_by_mib(const size_t *mib, size_t length, void *old, size_t *old_size, void *new_value, size_t new_size)
{
    const uintptr_t address = *(const uintptr_t *)new_value;
    const size_t small[] = {fake.slab_unused, 256, 256 * 112}, large[] = {0, 1, 114688};
    if (*old_size != sizeof(small) || new_size != sizeof(address))
        return EINVAL;
    fake.slab_questions++;
    memcpy(old, address % 0x10000 == 0 ? large : small, sizeof(small));
    return 0;
}

static int
fake_mallctl(const char *name, void *old, size_t *old_size, void *new_value, size_t new_size)
{
    fake.prof_calls += strncmp(name, "prof.", 5) == 0 || strncmp(name, "thread.prof.", 12) == 0;
    fake.actions += old == NULL && new_value == NULL;
    fake.is_marked = false;
    if (fake.error != 0)
        return fake.error;
    if (fake.has_hooks && strncmp(name, "experimental.hooks.", 19) == 0)
        return change_hooks(name, old, new_value, new_size);
    if (fake.has_hooks && strncmp(name, "arenas.", 7) == 0)
        return read_class(name, old, old_size);
    if (strcmp(name, "prof.dump") == 0)
        return new_size == sizeof(const char *) ? write_dump(*(const char *const *)new_value) : EINVAL;
    if (strcmp(name, "prof.reset") == 0 && new_size == sizeof(fake.lg_sample)) {
        fake.resets++;
        memcpy(&fake.lg_sample, new_value, sizeof(fake.lg_sample));
        return 0;
    }
    if (strcmp(name, "prof.reset") == 0 || strcmp(name, "arena.0.purge") == 0)
        return old == NULL ? 0 : EPERM;
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        if (strcmp(name, variables[i].name) == 0)
            return exchange(variables[i].value, variables[i].size, old, old_size, new_value, new_size);
    return ENOENT;
}

/* Piece by piece, as jemalloc does. */
static void
fake_stats_print(void (*write_text)(void *opaque, const char *text), void *opaque, const char *letters)
{
    char piece[4] = "";
    for (const char *at = fake.statistics; *at != '\0'; at += strlen(piece)) {
        strncpy(piece, at, sizeof(piece) - 1);
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
        .lg_sample = 19,
        .quantum = 16,
        .version = "5.3.0-0-gfake",
        .dump = "heap_v2/1\n",
        .statistics = "___ Begin jemalloc statistics ___\n",
    };
    fake_examine(guest);
}

void
fake_examine(Guest *guest)
{
    sample_forget();
    *guest = (Guest){.allocator = {.mallctl = fake_mallctl, .stats_print = fake_stats_print}};
    if (fake.has_hooks) {
        guest->allocator.name_to_mib = fake_name_to_mib;
        guest->allocator.by_mib = fake_by_mib;
    }
    allocator_examine(&guest->allocator);
    profiling_init(&guest->profiling, &guest->allocator, WIRE_SINCE_START);
    guest->process = (ProcessIdentity){.pid = 4711, .start_time = 815};
    fake.prof_calls = 0;
    fake.actions = 0;
}
