/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result cache: one answer file per build id in $XDG_CACHE_HOME/jescope/symbols (else ~/.cache). Deleting it loses
 * time only. Files are replaced as a whole, so that readers and several writers never meet half of one; the last writer
 * wins. A file that is damaged, of another version, or made from other debug files than are there now counts as absent.
 * Together they stay below CACHE_MAX_TOTAL: those unused for longest go.
 */
#ifndef JESCOPE_SYMBOLIZE_CACHE_H
#define JESCOPE_SYMBOLIZE_CACHE_H

#include "symbolize/object.h"

#define CACHE_MAX_TOTAL ((guint64)256 << 20)

/* Answers what the cache knows and takes over the source it had; returns TRUE if nothing is left open. */
gboolean cache_read(ObjectWork *work);

/* Adds the answers of work. A cache that cannot be written is no error. */
void cache_write(const ObjectWork *work);

/* Deletes the files unused for longest until the rest is no larger than limit, and what killed writers left behind. */
void cache_trim(const char *directory, guint64 limit);

#endif
