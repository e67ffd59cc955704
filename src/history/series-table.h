/* SPDX-License-Identifier: Apache-2.0 */
/* Writes series as text for people and programs. Each function appends to OUT; SERIES is an array of Series. */
#ifndef JESCOPE_HISTORY_SERIES_TABLE_H
#define JESCOPE_HISTORY_SERIES_TABLE_H

#include "history/series.h"

/* A table with a line per time and a column per series, in readable units; "-" if a series has no value. */
void series_write_table(const GPtrArray *series, GString *out);

/* CSV (RFC 4180) with exact numbers; empty if a series has no value. */
void series_write_csv(const GPtrArray *series, GString *out);

/* {"series": [{"target", "metric", "arena", "item", "type", "unit", "points": [[seconds, value], ...]}, ...]};
 * docs/history.md */
void series_write_json(const GPtrArray *series, GString *out);

/* OpenMetrics 1.0 with a timestamp on every line, as "promtool tsdb create-blocks-from openmetrics" accepts it. Rates
 * are gauges. */
void series_write_openmetrics(const GPtrArray *series, GString *out);

/* Whether the series are of several targets. */
gboolean series_have_targets(const GPtrArray *series);

/* "redis allocated"; without the target unless the series beside it are of several (series_have_targets()). */
char *series_title(const Series *series, gboolean several);

#endif
