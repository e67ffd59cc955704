/* SPDX-License-Identifier: Apache-2.0 */
/* The block format of snappy, by libsnappy, which is loaded when it is needed: it brings the library of C++ along. */
#ifndef JESCOPE_EXPORT_SNAPPY_H
#define JESCOPE_EXPORT_SNAPPY_H

#include <glib.h>

/* Thread-safe. EXPORT_ERROR_DESTINATION: the library is not installed. */
gboolean snappy_load(GError **error);

/* After that. NULL only without memory. */
GBytes *snappy_block(const GByteArray *bytes);

#endif
