/* SPDX-License-Identifier: Apache-2.0 */
/* The jemalloc that the agent serves, and calls of it that are safe in every version. For the agent thread only. */
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
    void *(*own_malloc)(size_t size); /* jemalloc's, if a quirk requires it; NULL, like own_free: not found */
    void (*own_free)(void *block);
    bool is_examined; /* all flags below except SERVES_MALLOC are known */
    uint32_t flags;   /* WireFlag: the constant ones */
    unsigned quirks;  /* JemallocQuirk */
    char prefix[WIRE_PREFIX_MAX];
    char version[WIRE_VERSION_TEXT_MAX];
    char found_in[WIRE_PATH_MAX];
} Allocator;

/*
 * Fills version, quirks and the flags of config.* and opt.prof by mallctl alone (which initialises jemalloc if
 * necessary). False if mallctl does not behave like jemalloc's.
 */
bool allocator_examine(Allocator *allocator);

/* Whether prof.* may be touched: built with profiling and started with prof:true. */
bool allocator_can_profile(const Allocator *allocator);

/* To be called before prof.dump: registers the calling thread with a jemalloc that does not dump otherwise. */
void allocator_prepare_dump(const Allocator *allocator);

/* Return jemalloc's errors unchanged (mallctl returns them and leaves errno alone). */
int allocator_read(const Allocator *allocator, const char *name, void *value, size_t size);
int allocator_write(const Allocator *allocator, const char *name, const void *value, size_t size);

/*
 * Releases what jemalloc assigned to the calling thread on its first call: the cache, so that no memory of the host's
 * heap is kept in a thread that never allocates; and the arena, which jemalloc then assigns to the host's next thread.
 */
void allocator_settle_thread(const Allocator *allocator);

#endif
