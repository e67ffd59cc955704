/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jemdata.py, the file that Aerospike's extract-jem-stats creates from a console log and that jemabs, jemdel and jemeff
 * load: a Python function with one call per line. `arenas('sum')` begins an iteration, `arenas(N)` an arena of it;
 * `total(V)`, `active(V)` and `mapped(V)` are its values in bytes.
 */
#ifndef JESCOPE_STATS_JEMDATA_H
#define JESCOPE_STATS_JEMDATA_H

#include "stats/reader.h"

/* Calls FUNC with a sample for each iteration of FILE, which stays open: arena.allocated (total), arena.active and
 * arena.mapped; those of 'sum' are the merged arena's. Other lines are skipped; an invalid number in a call is
 * STATS_ERROR_FORMAT. */
gboolean jemdata_read_file(const StatsFile *file, StatsSampleFunc func, gpointer data, GError **error);

/* Appends the output of extract-jem-stats for one line of a log to OUT; most lines have none. Lines match from their
 * first column, and any line that contains "Begin" begins an iteration. Only the four calls with a number are written,
 * since Python executes the file. */
void jemdata_extract_line(const char *line, gsize length, GString *out);

/* The first line of a jemdata.py. */
#define JEMDATA_HEADER "def load(arenas, total, active, mapped):\n"

#endif
