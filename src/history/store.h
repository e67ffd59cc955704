/* SPDX-License-Identifier: Apache-2.0 */
/* Writes samples in bulk, and packs samples that were written one by one. */
#ifndef JESCOPE_HISTORY_STORE_H
#define JESCOPE_HISTORY_STORE_H

#include "history/block.h"

enum {
    STORE_LEVEL_LOOSE = 1,  /* zstd level of a sample that is not packed yet */
    STORE_LEVEL_PACKED = 6, /* takes twice as long as level 3 and saves a tenth; packing is rare */
};

/* Packs the loose samples of INCARNATION into as few blocks as possible. */
gboolean store_pack(History *history, gint64 incarnation, GError **error);

/* Sets *ID to that of target NAME, which is created if needed. */
gboolean store_target(History *history, const char *name, gint64 *id, GError **error);

/* Sets *KNOWN to whether DIGEST was noted for TARGET. */
gboolean store_knows_digest(History *history, gint64 target, GBytes *digest, gboolean *known, GError **error);

/* Notes the digest of a sample; must be called in the transaction that writes the sample. */
gboolean store_note_digest(History *history, gint64 target, GBytes *digest, GError **error);

#endif
