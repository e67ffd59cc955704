/* SPDX-License-Identifier: Apache-2.0 */
/* The recent values of a quantity of a process, thinned to TREND_POINTS. Times are microseconds of the caller's
 * clock. */
#ifndef JESCOPE_RULES_WINDOW_H
#define JESCOPE_RULES_WINDOW_H

#include "rules/quantity.h"

typedef struct Window Window;

/* QUANTITY must not have the form QUANTITY_VALUE, and must outlive the window. */
Window *window_new(const Quantity *quantity);
void window_free(Window *window);

/* Replaces the quantity by an equal one, which must outlive the window. */
void window_set_quantity(Window *window, const Quantity *quantity);
const Quantity *window_quantity(const Window *window);

/* Adds the current value of the quantity's base. If NOW_US is not after the previous time, the window is reset
 * first. */
void window_add(Window *window, gint64 now_us, gdouble value);
void window_reset(Window *window);

/*
 * For QUANTITY_SLOPE, the change per second by least squares, and its 95 % interval, which is wider if neighbouring
 * values are correlated. For the other forms, all three are the value.
 */
typedef struct {
    gdouble value, low, high;
} WindowValue;

/* FALSE if there are too few values. */
gboolean window_value(Window *window, WindowValue *value);

#endif
