/* SPDX-License-Identifier: Apache-2.0 */
/* Common code of the text and SVG plots: short labels of values and times, and the positions of axis marks. */
#ifndef JESCOPE_HISTORY_AXIS_H
#define JESCOPE_HISTORY_AXIS_H

#include "history/series.h"

/* N marks at FIRST, FIRST + STEP, ..., none of them after LAST. */
typedef struct {
    double first;
    double last;
    double step;
    guint n;
} Axis;

/* The mark of INDEX, which is less than N. */
double axis_mark(const Axis *axis, guint index);

/* About COUNT round marks that cover LOW..HIGH, both finite: powers of two for bytes, otherwise 1, 2 or 5 times a power
 * of ten. Of values that differ in their last digits only, the axis is that of one value: a step could not be added to
 * them. */
Axis axis_values(double low, double high, guint count, StatsUnit unit);

/* At most COUNT marks within FROM..TO (microseconds), at round times of day (UTC). */
Axis axis_times(gint64 from_us, gint64 to_us, guint count);

/* "1.5 GiB", "12k", "250 ms". */
char *axis_value_label(double value, StatsUnit unit);

/* TIME_US as short as marks STEP_US apart allow: "14:05:30", "14:05", "Nov 21". */
char *axis_time_label(gint64 time_us, gint64 step_us);

/* "2026-11-21T14:05:30Z", with milliseconds unless they are zero. */
char *axis_time_full(gint64 time_us);

#endif
