/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes as text: as jescope writes them, and as Python 2 does in Aerospike's tools (conformance E26, E27). */
#ifndef JESCOPE_STATS_READABLE_H
#define JESCOPE_STATS_READABLE_H

#include <glib.h>

/* "330.0 MB", "1.5 GB", "-5.0 B"...: binary steps up to GB, 12 significant digits, ".0" where there is no fraction.
 * BYTES is a whole number. */
void readable_append_float(GString *out, double bytes);

/* "200 MB": as above, but whole numbers, rounded down (towards minus infinity). */
void readable_append_integer(GString *out, gint64 bytes);

/* "33.33%": PART of WHOLE, cut after the second decimal; neither is negative, WHOLE is not 0. */
void readable_append_percent(GString *out, double part, double whole);

/* "330.0 MiB": one decimal from KiB on. Appended flush right in WIDTH columns (0: none). */
void readable_append_size(GString *out, double bytes, guint width);

#endif
