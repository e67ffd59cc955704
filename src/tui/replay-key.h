/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that move through a history. */
#ifndef JESCOPE_TUI_REPLAY_KEY_H
#define JESCOPE_TUI_REPLAY_KEY_H

#include "tui/model.h"

/* Handles a key; FALSE if it has no meaning here, or the feed is not a replay. */
gboolean replay_key(Model *model, const Key *key);

#endif
