/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jemdata.py, what Aerospike's extract-jem-stats makes of a console log and jemabs, jemdel and jemeff load: a Python
 * function with one call per line, `arenas('sum')` beginning an iteration, `arenas(N)` an arena of it, `total(V)`,
 * `active(V)` and `mapped(V)` its values in bytes.
 */
#ifndef JESCOPE_STATS_JEMDATA_H
#define JESCOPE_STATS_JEMDATA_H

#include "stats/reader.h"

/* Passes on one sample per iteration of FILE, which stays open: arena.allocated (total), arena.active and arena.mapped,
 * those of 'sum' as merged. Other lines are skipped; a call with an invalid number is STATS_ERROR_FORMAT. */
gboolean jemdata_read_file(const StatsFile *file, StatsSampleFunc func, gpointer data, GError **error);

/* Appends the output of extract-jem-stats for one line of a log to OUT; most lines have none. Lines match from their
 * first column, and any that contains "Begin" begins an iteration; only the four calls with a number are written, since
 * Python executes the file. */
void jemdata_extract_line(const char *line, gsize length, GString *out);

/* The line a jemdata.py begins with. */
#define JEMDATA_HEADER "def load(arenas, total, active, mapped):\n"

#endif
