/* SPDX-License-Identifier: Apache-2.0 */
/* The values of one quantity of one process over a time, thinned to TREND_POINTS. Times are microseconds of the
 * caller's clock. */
#ifndef JESCOPE_RULES_WINDOW_H
#define JESCOPE_RULES_WINDOW_H

#include "rules/quantity.h"

typedef struct Window Window;

/* For QUANTITY, which is not QUANTITY_VALUE and outlives it. */
Window *window_new(const Quantity *quantity);
void window_free(Window *window);

/* The same quantity, which outlives it from now on. */
void window_set_quantity(Window *window, const Quantity *quantity);
const Quantity *window_quantity(const Window *window);

/* What QUANTITY's base is now. A time that is not after the one before, and window_reset(), begin a new window. */
void window_add(Window *window, gint64 now_us, gdouble value);
void window_reset(Window *window);

/*
 * Of QUANTITY_SLOPE, by least squares: the change per second, and its 95 % interval, whose error grows with the
 * correlation of neighbouring values. Of the other two, all three are the value.
 */
typedef struct {
    gdouble value, low, high;
} WindowValue;

/* FALSE: too little was seen. */
gboolean window_value(Window *window, WindowValue *value);

#endif
