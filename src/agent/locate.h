/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the jemalloc of this process: exported, prefixed, or static with its names only in .symtab. */
#ifndef JESCOPE_AGENT_LOCATE_H
#define JESCOPE_AGENT_LOCATE_H

#include "agent/allocator.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    bool located;    /* the allocator is known: it serves malloc and was found under one of its usual names */
    bool maybe_here; /* not located, but possible: a thread should search closely */
    bool unlisted;   /* unknown: the loaded objects cannot be listed (listing.h) */
    size_t tls_size; /* thread-local storage of all loaded objects, which glibc places on a thread's stack */
} LocateGlance;

/*
 * The quick search of the constructor, a fraction of a millisecond, in the thread that loads the agent. Does not call
 * jemalloc. Keeps no descriptor, but the list of loaded objects until locate_forget(). ALLOCATOR is filled if located,
 * but not yet examined. SCRATCH as in jemalloc/elf-symbols.h.
 */
LocateGlance locate_glance(Allocator *allocator, void *scratch, size_t scratch_size);

/* Whether this library was loaded under a name that starts with BEGIN. Lists nothing: the lock that it takes is one
 * that glibc resets in a forked child. */
bool locate_own_name_begins(const char *begin);

/* The calling thread. The agent's own immediately releases what jemalloc assigns to it on its first call. */
typedef enum { LOCATE_FROM_HOST, LOCATE_FROM_AGENT } LocateThread;

/*
 * Finds jemalloc and fills ALLOCATOR: the one that serves malloc in this process, else a prefixed one (called by its
 * own names). An unprefixed copy that does not serve malloc is unused code and ignored. Searches the objects listed by
 * locate_glance(), calls jemalloc, allocates and frees one small block. Takes no lock of the loader.
 */
bool locate_allocator(Allocator *allocator, LocateThread thread, void *scratch, size_t scratch_size);

/* Frees the list of loaded objects. */
void locate_forget(void);

/* Only LocateGlance.tls_size. */
size_t locate_tls_size(void);

#endif
