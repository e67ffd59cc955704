/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes as text, in jescope's format and in that of Aerospike's tools in Python 2 (conformance E26, E27). */
#ifndef JESCOPE_STATS_READABLE_H
#define JESCOPE_STATS_READABLE_H

#include <glib.h>

/* "330.0 MB", "1.5 GB", "-5.0 B"...: binary steps up to GB, 12 significant digits, ".0" if there is no fraction. BYTES
 * must be a whole number. */
void readable_append_float(GString *out, double bytes);

/* "200 MB": like readable_append_float(), but with whole numbers, rounded down (towards minus infinity). */
void readable_append_integer(GString *out, gint64 bytes);

/* "33.33%": PART of WHOLE, truncated to two decimals. Neither may be negative, and WHOLE must not be 0. */
void readable_append_percent(GString *out, double part, double whole);

/* "330.0 MiB": with one decimal from KiB up, right-aligned in WIDTH columns (0: not aligned). */
void readable_append_size(GString *out, double bytes, guint width);

#endif
