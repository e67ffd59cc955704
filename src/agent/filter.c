/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/filter.h"

#include "agent/debug.h"
#include "agent/process.h"

#include <stdatomic.h>

static unsigned at_start; /* for the agent's thread */
static atomic_bool added;

void
filter_begin(void)
{
    at_start = process_filters(PROCESS_OWN_THREAD);
    added = false;
}

void
filter_look(void)
{
    if (!added && process_filters(PROCESS_MAIN_THREAD) > at_start) {
        debug_log("the program has installed a seccomp filter", NULL, 0);
        added = true;
    }
}

bool
filter_was_added(void)
{
    return added;
}
