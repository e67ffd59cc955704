/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jemdata.py, what Aerospike's extract-jem-stats makes of a console log and jemabs, jemdel and jemeff load: a Python
 * function with one call per line, `arenas('sum')` beginning an iteration, `arenas(N)` an arena of it, `total(V)`,
 * `active(V)` and `mapped(V)` its values in bytes.
 */
#ifndef JESCOPE_STATS_JEMDATA_H
#define JESCOPE_STATS_JEMDATA_H

#include "stats/stats.h"

/* Hands out one sample per iteration of PATH: arena.allocated (total), arena.active and arena.mapped, those of 'sum' as
 * merged. Lines that are no such call are passed over; a call with a value that is no number is STATS_ERROR_FORMAT. */
gboolean jemdata_read_file(const char *path, StatsSampleFunc func, gpointer data, GError **error);

/* What extract-jem-stats writes for one line of a log, appended to OUT; most lines give nothing. Lines count from their
 * first column, and any that contains "Begin" begins an iteration; one that would not load as Python gives nothing. */
void jemdata_extract_line(const char *line, gsize length, GString *out);

/* The line a jemdata.py begins with. */
#define JEMDATA_HEADER "def load(arenas, total, active, mapped):\n"

#endif
