/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/allocator.h"

#include "jemalloc/version.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Controls that report capabilities, and the flag of each. */
static const struct {
    const char *name;
    WireFlag flag;
} abilities[] = {
    {"config.prof", WIRE_FLAG_CONFIG_PROF},
    {"config.stats", WIRE_FLAG_CONFIG_STATS},
    {"opt.prof", WIRE_FLAG_OPT_PROF}, /* ENOENT without config.prof */
};

int
allocator_read(const Allocator *allocator, const char *name, void *value, size_t size)
{
    size_t got = size;
    int error = allocator->mallctl(name, value, &got, NULL, 0);
    return error == 0 && got != size ? EINVAL : error;
}

int
allocator_write(const Allocator *allocator, const char *name, const void *value, size_t size)
{
    /* mallctl() takes the new value by a pointer to non-const and never writes through it. */
    union {
        const void *in;
        void *out;
    } pointer = {.in = value};
    return allocator->mallctl(name, NULL, NULL, pointer.out, size);
}

bool
allocator_examine(Allocator *allocator)
{
    const char *version = NULL;
    JemallocVersion parsed;
    if (allocator_read(allocator, "version", &version, sizeof(char *)) != 0 || version == NULL)
        return false;
    strncpy(allocator->version, version, sizeof(allocator->version) - 1);
    allocator->quirks = jemalloc_quirks(jemalloc_version_parse(version, &parsed) ? &parsed : NULL);
    for (size_t i = 0; i < sizeof(abilities) / sizeof(abilities[0]); i++) {
        bool able = false;
        if (allocator_read(allocator, abilities[i].name, &able, sizeof(able)) == 0 && able)
            allocator->flags |= abilities[i].flag;
    }
    allocator->is_examined = true;
    return true;
}

bool
allocator_can_profile(const Allocator *allocator)
{
    const uint32_t needed = WIRE_FLAG_CONFIG_PROF | WIRE_FLAG_OPT_PROF;
    return (allocator->flags & needed) == needed;
}

/* Allocates and frees one small block. */
void
allocator_prepare_dump(const Allocator *allocator)
{
    void *volatile block = NULL; /* volatile: a pair of malloc and free may be optimised away */
    if ((allocator->quirks & JEMALLOC_QUIRK_DUMP_AFTER_ALLOCATION) == 0)
        return;
    if (allocator->own_malloc != NULL && allocator->own_free != NULL) {
        block = allocator->own_malloc(1);
        allocator->own_free(block);
    } else if ((allocator->flags & WIRE_FLAG_SERVES_MALLOC) != 0) {
        block = malloc(1);
        free(block);
    }
}

void
allocator_settle_thread(const Allocator *allocator)
{
    /* Switching the cache off flushes and frees it. The first arena always exists. */
    allocator_write(allocator, "thread.tcache.enabled", &(bool){false}, sizeof(bool));
    allocator_write(allocator, "thread.arena", &(unsigned){0}, sizeof(unsigned));
}
