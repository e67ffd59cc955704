/* SPDX-License-Identifier: Apache-2.0 */
/* Compression in snappy's block format, with libsnappy. It is loaded on demand since it depends on the C++ library. */
#ifndef JESCOPE_EXPORT_SNAPPY_H
#define JESCOPE_EXPORT_SNAPPY_H

#include <glib.h>

/* Loads the library. Thread-safe. FALSE with EXPORT_ERROR_DESTINATION if it is not installed. */
gboolean snappy_load(GError **error);

/* Compresses BYTES; requires snappy_load(). NULL only if out of memory. */
GBytes *snappy_block(const GByteArray *bytes);

#endif
