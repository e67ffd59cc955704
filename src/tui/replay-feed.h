/* SPDX-License-Identifier: Apache-2.0 */
/* The targets of a history file, one moment after the other. The file is read in the calling thread, a few samples for
 * each moment. */
#ifndef JESCOPE_TUI_REPLAY_FEED_H
#define JESCOPE_TUI_REPLAY_FEED_H

#include "tui/feed.h"

/* PATH: a history file. It begins at the first moment, paused, and goes on by one every EVERY_MS. */
Feed *replay_feed_new(const char *path, guint every_ms, GError **error);

#endif
