/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file format of a queue entry: 16 bytes "jescope queue 1\n", the SHA-256 of the rest (32 bytes), and a zstd frame
 * with the content. Truncated and damaged files are detected. Pure.
 */
#ifndef JESCOPE_EXPORT_RECORD_H
#define JESCOPE_EXPORT_RECORD_H

#include <glib.h>

/* NULL only if out of memory. */
GBytes *record_wrap(GBytes *content);

/* NULL with BATCH_ERROR_FORMAT. FILE may be untrusted; the content has at most BATCH_MAX_BYTES. */
GBytes *record_unwrap(GBytes *file, GError **error);

#endif
