/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jemalloc made of a few variables: what the agent asks of it can be looked at, and nothing outside is touched. Libc
 * only; shared with fuzz/agent_message.c.
 */
#ifndef JESCOPE_TESTS_FAKE_ALLOCATOR_H
#define JESCOPE_TESTS_FAKE_ALLOCATOR_H

#include "agent/guest.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    bool config_prof;
    bool opt_prof;
    bool prof_active;
    size_t max_background_threads;
    const char *version;
    const char *dump;       /* what prof.dump writes to the file it is given */
    const char *statistics; /* what malloc_stats_print says */
    int error;              /* returned instead of doing any of it, unless 0 */
    unsigned prof_calls;    /* on prof.* and thread.prof.* */
    unsigned actions;       /* calls with neither a place for the old value nor a new one */
} FakeAllocator;

extern FakeAllocator fake;

/* Fills `fake` and @guest with the state after start-up: 5.3.0, prof:true, inactive. Change `fake`, then
 * fake_examine(). */
void fake_reset(Guest *guest);

/* Lets @guest look at `fake` anew, as the agent does at start-up. */
void fake_examine(Guest *guest);

#endif
