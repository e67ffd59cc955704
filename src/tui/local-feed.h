/* SPDX-License-Identifier: Apache-2.0 */
/* The targets of this machine, from a Service (service/service.h) of its own, and the processes that use jemalloc
 * without an agent. */
#ifndef JESCOPE_TUI_LOCAL_FEED_H
#define JESCOPE_TUI_LOCAL_FEED_H

#include "tui/feed.h"

#include "service/service.h"

typedef struct {
    const ServiceSource *sources; /* only these targets; borrowed for the life of the feed */
    guint n_sources;              /* 0: every target of this machine */
    guint every_ms;
} LocalFeedOptions;

Feed *local_feed_new(const LocalFeedOptions *options, GError **error);

#endif
