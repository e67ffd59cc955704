/* SPDX-License-Identifier: Apache-2.0 */
/* Replays the targets of a history file, one moment after another. The file is read in the calling thread, a few
 * samples per moment. */
#ifndef JESCOPE_TUI_REPLAY_FEED_H
#define JESCOPE_TUI_REPLAY_FEED_H

#include "tui/feed.h"

/* PATH is a history file. The replay begins paused at the first moment, and advances by one every EVERY_MS. Sets
 * *LEFT_OUT to the number of targets that are not shown, as the file has too many. */
Feed *replay_feed_new(const char *path, guint every_ms, guint *left_out, GError **error);

/* The damaged blocks that were left out so far; of several readings, the most. */
guint replay_feed_damaged(const Feed *feed);

#endif
