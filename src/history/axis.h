/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of the two drawings: short numbers and times, and the positions of axis marks. */
#ifndef JESCOPE_HISTORY_AXIS_H
#define JESCOPE_HISTORY_AXIS_H

#include "history/series.h"

/* Marks at FIRST, FIRST + STEP, ... up to LAST. */
typedef struct {
    double first;
    double last;
    double step;
} Axis;

/* Round marks that cover LOW..HIGH, about COUNT of them: powers of two for bytes, 1, 2 or 5 of a power of ten else. */
Axis axis_values(double low, double high, guint count, StatsUnit unit);

/* Marks within FROM..TO (microseconds) at round times of day (UTC), at most COUNT of them. */
Axis axis_times(gint64 from_us, gint64 to_us, guint count);

/* "1.5 GiB", "12k", "250 ms". */
char *axis_value_label(double value, StatsUnit unit);

/* As short as a step of STEP_US allows: "14:05:30", "14:05", "Nov 21". */
char *axis_time_label(gint64 time_us, gint64 step_us);

/* "2026-11-21T14:05:30Z", with milliseconds where they are not zero. */
char *axis_time_full(gint64 time_us);

#endif
