/* SPDX-License-Identifier: Apache-2.0 */
/* Series as text for people and programs. Each appends to OUT; SERIES is of Series. */
#ifndef JESCOPE_HISTORY_SERIES_TABLE_H
#define JESCOPE_HISTORY_SERIES_TABLE_H

#include "history/series.h"

/* A line per time, a column per series, in units that people read; "-" where a series has no value. */
void series_write_table(const GPtrArray *series, GString *out);

/* The same with exact numbers, RFC 4180; empty where a series has no value. */
void series_write_csv(const GPtrArray *series, GString *out);

/* {"series": [{"target", "metric", "arena", "item", "type", "unit", "points": [[seconds, value], ...]}, ...]};
 * docs/history.md */
void series_write_json(const GPtrArray *series, GString *out);

/* OpenMetrics 1.0 with a timestamp on every line, as "promtool tsdb create-blocks-from openmetrics" takes it. Rates are
 * gauges. */
void series_write_openmetrics(const GPtrArray *series, GString *out);

/* "redis allocated"; without the target if all series are of one. */
char *series_title(const Series *series, const GPtrArray *among);

#endif
