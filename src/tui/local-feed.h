/* SPDX-License-Identifier: Apache-2.0 */
/* The targets of this machine, by a Service (service/service.h) of our own, and beside them the processes that use
 * jemalloc but have no agent. */
#ifndef JESCOPE_TUI_LOCAL_FEED_H
#define JESCOPE_TUI_LOCAL_FEED_H

#include "tui/feed.h"

#include "service/service.h"

typedef struct {
    const ServiceSource *sources; /* only these; borrowed as long as the feed */
    guint n_sources;              /* 0: every target of this machine */
    guint every_ms;
} LocalFeedOptions;

Feed *local_feed_new(const LocalFeedOptions *options, GError **error);

#endif
