/* SPDX-License-Identifier: Apache-2.0 */
/* Writing samples in bulk, and packing those that were written one by one. */
#ifndef JESCOPE_HISTORY_STORE_H
#define JESCOPE_HISTORY_STORE_H

#include "history/block.h"

enum {
    STORE_LEVEL_LOOSE = 1,  /* zstd's, for a sample that waits to be packed */
    STORE_LEVEL_PACKED = 6, /* twice the time of 3 for a tenth less; packing is rare */
};

/* Packs the loose samples of INCARNATION into as few blocks as they fit. */
gboolean store_pack(History *history, gint64 incarnation, GError **error);

/* The id of target NAME, made if need be. */
gboolean store_target(History *history, const char *name, gint64 *id, GError **error);

/* Whether a sample with this DIGEST was noted for TARGET. */
gboolean store_knows_digest(History *history, gint64 target, GBytes *digest, gboolean *known, GError **error);

/* Notes it; to be called in the transaction that writes the sample. */
gboolean store_note_digest(History *history, gint64 target, GBytes *digest, GError **error);

#endif
