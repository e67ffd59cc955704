/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jemalloc made of a few variables: the agent's requests can be checked, and nothing outside is changed. Libc only;
 * shared with fuzz/agent_message.c.
 */
#ifndef JESCOPE_TESTS_FAKE_ALLOCATOR_H
#define JESCOPE_TESTS_FAKE_ALLOCATOR_H

#include "agent/guest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* jemalloc's hooks_t (hook.h). */
typedef struct {
    void (*alloc)(void *extra, int call, void *result, uintptr_t raw_result, uintptr_t arguments[3]);
    void (*dalloc)(void *extra, int call, void *address, uintptr_t arguments[3]);
    void (*expand)(void *extra, int call, void *address, size_t old_size, size_t new_size, uintptr_t raw_result,
                   uintptr_t arguments[4]);
    void *extra;
} FakeHooks;

typedef struct {
    bool config_prof;
    bool opt_prof;
    bool prof_active;
    size_t max_background_threads;
    size_t lg_sample;
    unsigned resets; /* calls of prof.reset with a period */
    const char *version;
    const char *dump;       /* the content that prof.dump writes */
    const char *statistics; /* the text of malloc_stats_print */
    int error;              /* returned instead of doing any of it, unless 0 */
    unsigned prof_calls;    /* on prof.* and thread.prof.* */
    bool has_hooks;         /* experimental.hooks.install, and the size classes of a real one */
    bool hooks_taken;       /* the places for hooks are in use by others */
    bool odd_sizes;         /* one size class is not what it should be */
    size_t quantum;         /* of the classes: 16 or 8 */
    unsigned n_hooks;       /* that are installed */
    bool is_marked;         /* the calling thread, since the hooks changed and until its next call */
    FakeHooks hooks;        /* the last ones */
    size_t slab_unused;     /* free regions of every slab, of 256 */
    unsigned slab_questions;
    unsigned actions; /* calls with neither a place for the old value nor a new one */
} FakeAllocator;

extern FakeAllocator fake;

/* Fills `fake` and GUEST with the state after start-up: 5.3.0, prof:true, inactive. Change `fake`, then
 * fake_examine(). */
void fake_reset(Guest *guest);

/* Makes GUEST examine `fake` again, as the agent does at start-up. */
void fake_examine(Guest *guest);

#endif
