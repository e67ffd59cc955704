/* SPDX-License-Identifier: Apache-2.0 */
/* The targets of another jescope, over its HTTP API (client/exchange.h). A separate thread sends the requests; the
 * server is not trusted. */
#ifndef JESCOPE_TUI_REMOTE_FEED_H
#define JESCOPE_TUI_REMOTE_FEED_H

#include "client/exchange.h"
#include "tui/feed.h"

/* URL names a server or one target of it. ACCESS is borrowed for the life of the feed. */
typedef struct {
    const char *url;
    const ClientAccess *access;
    guint every_ms;
} RemoteFeedOptions;

/* Sets *ONE if the URL names a single target. */
Feed *remote_feed_new(const RemoteFeedOptions *options, gboolean *one, GError **error);

#endif
