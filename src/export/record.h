/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of the queue as a file: 16 bytes "jescope queue 1\n", the SHA-256 of what follows (32 bytes), and a zstd
 * frame with the content. A file that was cut or damaged is recognized. Pure.
 */
#ifndef JESCOPE_EXPORT_RECORD_H
#define JESCOPE_EXPORT_RECORD_H

#include <glib.h>

/* NULL only without memory. */
GBytes *record_wrap(GBytes *content);

/* NULL with BATCH_ERROR_FORMAT. FILE may come from anywhere; the content has at most BATCH_MAX_BYTES. */
GBytes *record_unwrap(GBytes *file, GError **error);

#endif
