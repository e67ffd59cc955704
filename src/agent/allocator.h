/* SPDX-License-Identifier: Apache-2.0 */
/* The jemalloc we serve, and the calls on it that are safe whatever its version. For the agent thread alone. */
#ifndef JESCOPE_AGENT_ALLOCATOR_H
#define JESCOPE_AGENT_ALLOCATOR_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>

typedef int (*Mallctl)(const char *name, void *old, size_t *old_size, void *new_value, size_t new_size);
typedef int (*NameToMib)(const char *name, size_t *mib, size_t *length);
typedef int (*ByMib)(const size_t *mib, size_t length, void *old, size_t *old_size, void *new_value, size_t new_size);
typedef void (*StatsPrint)(void (*write)(void *opaque, const char *text), void *opaque, const char *letters);

typedef struct {
    Mallctl mallctl;
    StatsPrint stats_print;
    NameToMib name_to_mib; /* NULL, like by_mib: not found */
    ByMib by_mib;
    void *(*own_malloc)(size_t size); /* its own, where its quirks need one; NULL, like own_free: not found */
    void (*own_free)(void *block);
    bool is_examined; /* all flags below except SERVES_MALLOC are known */
    uint32_t flags;   /* WireFlag, those that never change */
    unsigned quirks;  /* JemallocQuirk */
    char prefix[WIRE_PREFIX_MAX];
    char version[WIRE_VERSION_TEXT_MAX];
    char found_in[WIRE_PATH_MAX];
} Allocator;

/*
 * Fills version, quirks and the flags that config.* and opt.prof give, from mallctl alone (which initialises jemalloc
 * if necessary). False if mallctl does not behave like jemalloc's.
 */
bool allocator_examine(Allocator *allocator);

/* Whether prof.* may be touched: built with profiling and started with prof:true. */
bool allocator_can_profile(const Allocator *allocator);

/* Before prof.dump: has jemalloc know the calling thread, where it does not dump without. */
void allocator_prepare_dump(const Allocator *allocator);

/* jemalloc's errors as they come (mallctl returns them and leaves errno alone). */
int allocator_read(const Allocator *allocator, const char *name, void *value, size_t size);
int allocator_write(const Allocator *allocator, const char *name, const void *value, size_t size);

/*
 * Releases what jemalloc assigned to the calling thread on its first call: the cache, so that no memory of the host's
 * heap is kept in a thread that never allocates; and the arena, which jemalloc then assigns to the host's next thread.
 */
void allocator_settle_thread(const Allocator *allocator);

#endif
