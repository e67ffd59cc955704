/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that move through a history. */
#ifndef JESCOPE_TUI_REPLAY_KEY_H
#define JESCOPE_TUI_REPLAY_KEY_H

#include "tui/model.h"

/* FALSE: not such a key, or nothing is replayed. */
gboolean replay_key(Model *model, const Key *key);

#endif
