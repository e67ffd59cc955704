/* SPDX-License-Identifier: Apache-2.0 */
#include "history/plot.h"

#include "confine/keyed-hash.h"

#include <math.h>

enum {
    SPAN_MIN_US = 1000,
    HEADING_NAMES = 3,
};

static void
free_panel(gpointer data)
{
    PlotPanel *panel = data;
    g_ptr_array_unref(panel->series);
    g_array_unref(panel->colors);
    g_free(panel);
}

static PlotPanel *
panel_for(GPtrArray *panels, const Series *series, PlotFlags flags)
{
    StatsUnit unit = stats_metrics[series->metric].unit;
    for (guint i = 0; flags & PLOT_COLOR && i < panels->len; i++) {
        PlotPanel *panel = panels->pdata[i];
        const Series *first = panel->series->pdata[0];
        if (panel->unit == unit && first->rate == series->rate)
            return panel;
    }
    PlotPanel *panel = g_new0(PlotPanel, 1);
    panel->series = g_ptr_array_new();
    panel->colors = g_array_new(FALSE, FALSE, sizeof(guint));
    panel->unit = unit;
    panel->low = INFINITY;
    panel->high = -INFINITY;
    g_ptr_array_add(panels, panel);
    return panel;
}

GPtrArray *
plot_panels(const GPtrArray *series, PlotFlags flags)
{
    GPtrArray *panels = g_ptr_array_new_with_free_func(free_panel);
    for (guint i = 0; i < series->len; i++) {
        Series *one = series->pdata[i];
        PlotPanel *panel = panel_for(panels, one, flags);
        g_ptr_array_add(panel->series, one);
        g_array_append_val(panel->colors, i);
        for (guint j = 0; j < one->points->len; j++) {
            double value = g_array_index(one->points, SeriesPoint, j).value;
            panel->low = fmin(panel->low, value);
            panel->high = fmax(panel->high, value);
        }
    }
    for (guint i = 0; i < panels->len; i++) {
        PlotPanel *panel = panels->pdata[i];
        if (panel->low > 0 && panel->low < panel->high / 2)
            panel->low = 0;
    }
    return panels;
}

char *
plot_heading(const GPtrArray *series)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(keyed_hash_string, g_str_equal);
    g_autoptr(GString) heading = g_string_new(NULL);
    for (guint i = 0; i < series->len; i++) {
        char *target = ((const Series *)series->pdata[i])->target;
        if (g_hash_table_add(seen, target) && g_hash_table_size(seen) <= HEADING_NAMES)
            g_string_append_printf(heading, "%s%s", heading->len > 0 ? ", " : "", target);
    }
    if (g_hash_table_size(seen) > HEADING_NAMES)
        g_string_append_printf(heading, " and %u more", g_hash_table_size(seen) - HEADING_NAMES);
    return g_string_free(g_steal_pointer(&heading), FALSE);
}

char *
plot_scale_note(const Axis *values, StatsUnit unit)
{
    if (values->first <= 0)
        return NULL;
    g_autofree char *first = axis_value_label(values->first, unit);
    return g_strdup_printf("scale begins at %s, not at 0", first);
}

HistoryRange
plot_span(const GPtrArray *series)
{
    HistoryRange span = {.from_us = G_MAXINT64, .to_us = G_MININT64};
    for (guint i = 0; i < series->len; i++) {
        const GArray *points = ((const Series *)series->pdata[i])->points;
        /* Those of a forged history need not be in order. */
        for (guint j = 0; j < points->len; j++) {
            const gint64 time_us = g_array_index(points, SeriesPoint, j).time_us;
            span.from_us = MIN(span.from_us, time_us);
            span.to_us = MAX(span.to_us, time_us);
        }
    }
    span.to_us = MAX(span.to_us, span.from_us + SPAN_MIN_US);
    return span;
}
