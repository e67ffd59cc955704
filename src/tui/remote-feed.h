/* SPDX-License-Identifier: Apache-2.0 */
/* The targets of another jescope, over its HTTP API (client/exchange.h). A thread of its own asks; the server is not
 * trusted. */
#ifndef JESCOPE_TUI_REMOTE_FEED_H
#define JESCOPE_TUI_REMOTE_FEED_H

#include "client/exchange.h"
#include "tui/feed.h"

/* URL: a server, or one target of it. ACCESS is borrowed as long as the feed. */
typedef struct {
    const char *url;
    const ClientAccess *access;
    guint every_ms;
} RemoteFeedOptions;

/* *ONE: the URL names a target. */
Feed *remote_feed_new(const RemoteFeedOptions *options, gboolean *one, GError **error);

#endif
