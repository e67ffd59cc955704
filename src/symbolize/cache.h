/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result cache: one answer file per program file and its state (build id, device, inode, size and times), in
 * $XDG_CACHE_HOME/jescope/symbols (else ~/.cache). Answers from files that neither root nor the caller owns are neither
 * written nor read: their author could give them another file's build id. Answers found while a process or dump of
 * another user is read are kept apart, for that user's data only. A directory that is not the caller's is not used.
 * Deleting it only costs time. Files are replaced atomically, so readers and concurrent writers never see a partial
 * one; the last writer wins. A file that is damaged, of another version, or made from other debug files than the
 * present ones counts as absent. Their total size stays below CACHE_MAX_TOTAL: the least recently used are deleted.
 */
#ifndef JESCOPE_SYMBOLIZE_CACHE_H
#define JESCOPE_SYMBOLIZE_CACHE_H

#include "symbolize/object.h"

#define CACHE_MAX_TOTAL ((guint64)256 << 20)

/* Enables the cache, for this process or for a confined one (opener.h). */
void cache_allow(void);

/* Takes answers and their source from the cache; returns TRUE if work is complete. */
gboolean cache_read(ObjectWork *work);

/* Adds the answers of work. Failure to write is ignored. */
void cache_write(const ObjectWork *work);

/* Deletes the least recently used files until the rest is at most limit, and files left by killed writers. */
void cache_trim(const char *directory, guint64 limit);

#endif
