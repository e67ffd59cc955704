/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plots series. Series of one unit share a panel and its scale. Lines are interrupted where samples are missing or the
 * process was restarted. The scale begins at zero unless all values are in its upper half.
 */
#ifndef JESCOPE_HISTORY_PLOT_H
#define JESCOPE_HISTORY_PLOT_H

#include "history/axis.h"
#include "history/series.h"

typedef enum {
    PLOT_PLAIN = 0,
    PLOT_COLOR = 1 << 0, /* ANSI colours; without, every series has its own panel */
    PLOT_ASCII = 1 << 1, /* no braille */
} PlotFlags;

enum {
    PLOT_COLORS = 8, /* number of distinct colours, which repeat */
    PLOT_WIDTH_MIN = 40,
};

/* Appends a plot of SERIES (of Series, at least one) for a terminal of WIDTH columns to OUT. */
void plot_text(const GPtrArray *series, guint width, PlotFlags flags, GString *out);

/* Appends a plot of SERIES as an SVG document to OUT, without scripts and external resources, light or dark according
 * to the viewer's preference. */
void plot_svg(const GPtrArray *series, GString *out);

/* Shared by both ----------------------------------------------------------------------------------------------------
 */

/* Series with a common scale. */
typedef struct {
    GPtrArray *series; /* of Series, borrowed */
    GArray *colors;    /* of guint: the index among all series */
    StatsUnit unit;
    double low, high;
} PlotPanel;

/* The panels of SERIES, of PlotPanel; without PLOT_COLOR, one per series. */
GPtrArray *plot_panels(const GPtrArray *series, PlotFlags flags);

/* The targets of the series: "redis", "app, redis and 3 more". */
char *plot_heading(const GPtrArray *series);

/* A note about a scale that does not begin at zero: "scale begins at 20 MiB, not at 0"; else NULL. */
char *plot_scale_note(const Axis *values, StatsUnit unit);

/* The time zone of all marks. */
#define PLOT_TIME_ZONE "UTC"

/* The time from the first to the last point of all SERIES; at least a millisecond. */
HistoryRange plot_span(const GPtrArray *series);

#endif
