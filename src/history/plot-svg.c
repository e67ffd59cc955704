/* SPDX-License-Identifier: Apache-2.0 */
#include "history/axis.h"
#include "history/plot.h"
#include "history/series-table.h"

#include <math.h>

enum {
    WIDTH = 960,
    LEFT = 84, /* margin for the labels of values */
    RIGHT = 24,
    TOP = 24,
    HEIGHT = 260, /* height of a panel's plot area */
    BELOW = 34,   /* space for the labels of times */
    HEADING = 26,
    LEGEND = 20, /* height of a legend line */
    VALUE_MARKS = 5,
    TIME_MARKS = 8,
};

/* Two shades of each colour: for white and for near-black backgrounds. */
static const char *const light_colors[PLOT_COLORS] = {"#0b62a4", "#b35c00", "#7a3e9d", "#1b7a3d",
                                                      "#b3123f", "#00727a", "#6b5a00", "#5b5b5b"};
static const char *const dark_colors[PLOT_COLORS] = {"#6cb6ff", "#ffb057", "#d2a8ff", "#6fdd8b",
                                                     "#ff8fa8", "#5fd7e0", "#e3d26f", "#b8b8b8"};

typedef struct {
    GString *out;
    HistoryRange span;
    Axis values;
    double top; /* position of the plot area */
} Frame;

static void
append_number(GString *out, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append(out, g_ascii_formatd(text, sizeof(text), "%.1f", value));
}

static double
x_of(const Frame *frame, double time_us)
{
    double share = (time_us - (double)frame->span.from_us) / (double)(frame->span.to_us - frame->span.from_us);
    return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double
y_of(const Frame *frame, double value)
{
    double share = (value - frame->values.first) / (frame->values.last - frame->values.first);
    return frame->top + (1 - share) * HEIGHT;
}

static void
append_text(GString *out, double x, double y, const char *anchor, const char *text)
{
    g_autofree char *escaped = g_markup_escape_text(text, -1);
    g_string_append(out, "<text x=\"");
    append_number(out, x);
    g_string_append(out, "\" y=\"");
    append_number(out, y);
    g_string_append_printf(out, "\" text-anchor=\"%s\">%s</text>\n", anchor, escaped);
}

static void
append_rule(GString *out, double x0, double y0, double x1, double y1)
{
    const double ends[] = {x0, y0, x1, y1};
    static const char *const names[] = {"x1", "y1", "x2", "y2"};
    g_string_append(out, "<line class=\"rule\"");
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        g_string_append_printf(out, " %s=\"", names[i]);
        append_number(out, ends[i]);
        g_string_append_c(out, '"');
    }
    g_string_append(out, "/>\n");
}

static void
append_axes(const Frame *frame, StatsUnit unit)
{
    for (guint i = 0; i < frame->values.n; i++) {
        const double mark = axis_mark(&frame->values, i);
        g_autofree char *label = axis_value_label(mark, unit);
        double y = y_of(frame, mark);
        append_rule(frame->out, LEFT, y, WIDTH - RIGHT, y);
        append_text(frame->out, LEFT - 8, y + 4, "end", label);
    }
    append_text(frame->out, LEFT - 8, frame->top + HEIGHT + 18, "end", PLOT_TIME_ZONE);
    Axis times = axis_times(frame->span.from_us, frame->span.to_us, TIME_MARKS);
    for (guint i = 0; i < times.n; i++) {
        const double mark = axis_mark(&times, i);
        g_autofree char *label = axis_time_label((gint64)mark, (gint64)times.step);
        double x = x_of(frame, mark);
        append_rule(frame->out, x, frame->top + HEIGHT, x, frame->top + HEIGHT + 4);
        append_text(frame->out, x, frame->top + HEIGHT + 18, "middle", label);
    }
}

static void
append_point(const Frame *frame, const SeriesPoint *point, gboolean move)
{
    g_string_append_c(frame->out, move ? 'M' : 'L');
    append_number(frame->out, x_of(frame, (double)point->time_us));
    g_string_append_c(frame->out, ' ');
    append_number(frame->out, y_of(frame, point->value));
}

/* Selects the points to draw in one column of pixels: the first, the extremes and the last, in order. More would be
 * invisible, and a month has a quarter of a million. */
static guint
column_points(const Frame *frame, const GArray *points, guint begin, guint *chosen)
{
    const SeriesPoint *all = (const SeriesPoint *)(void *)points->data;
    guint end = begin + 1, least = begin, most = begin;
    while (end < points->len && !all[end].after_gap &&
           floor(x_of(frame, (double)all[end].time_us)) == floor(x_of(frame, (double)all[begin].time_us))) {
        least = all[end].value < all[least].value ? end : least;
        most = all[end].value > all[most].value ? end : most;
        end++;
    }
    chosen[0] = begin;
    chosen[1] = MIN(least, most);
    chosen[2] = MAX(least, most);
    chosen[3] = end - 1;
    return end;
}

static void
append_path(const Frame *frame, const Series *series)
{
    const SeriesPoint *all = (const SeriesPoint *)(void *)series->points->data;
    for (guint at = 0; at < series->points->len;) {
        guint chosen[4];
        guint next = column_points(frame, series->points, at, chosen);
        append_point(frame, &all[at], at == 0 || all[at].after_gap);
        for (size_t i = 1; i < G_N_ELEMENTS(chosen); i++)
            if (chosen[i] != chosen[i - 1])
                append_point(frame, &all[chosen[i]], FALSE);
        /* A single point between two gaps is visible as a zero-length line with round ends. */
        if (chosen[3] == at && (next == series->points->len || all[next].after_gap))
            append_point(frame, &all[at], FALSE);
        at = next;
    }
}

static void
append_series(const Frame *frame, const Series *series, guint color, const char *title)
{
    g_autofree char *escaped = g_markup_escape_text(title, -1);
    g_string_append_printf(frame->out, "<path class=\"line c%u\" d=\"", color % PLOT_COLORS);
    append_path(frame, series);
    g_string_append_printf(frame->out, "\"><title>%s</title></path>\n", escaped);
}

static void
append_legend(GString *out, const Series *series, guint color, double y, const char *title)
{
    const SeriesPoint *last = &g_array_index(series->points, SeriesPoint, series->points->len - 1);
    g_autofree char *value = axis_value_label(last->value, stats_metrics[series->metric].unit);
    g_autofree char *text = g_strdup_printf("%s, last %s", title, value);
    g_string_append_printf(out, "<path class=\"line c%u\" d=\"M%d ", color % PLOT_COLORS, LEFT);
    append_number(out, y - 4);
    g_string_append(out, "h24\"/>\n");
    append_text(out, LEFT + 32, y, "start", text);
}

static double
append_panel(const PlotPanel *panel, const GPtrArray *all, double top, GString *out)
{
    Frame frame = {.out = out, .span = plot_span(all), .top = top + LEGEND * panel->series->len + 8};
    frame.values = axis_values(panel->low, panel->high, VALUE_MARKS, panel->unit);
    append_axes(&frame, panel->unit);
    const gboolean several = series_have_targets(all);
    g_autofree char *note = plot_scale_note(&frame.values, panel->unit);
    if (note != NULL)
        append_text(out, WIDTH - RIGHT, frame.top - 8, "end", note);
    for (guint i = 0; i < panel->series->len; i++) {
        const Series *series = panel->series->pdata[i];
        guint color = g_array_index(panel->colors, guint, i);
        g_autofree char *title = series_title(series, several);
        append_legend(out, series, color, top + LEGEND * (i + 0.7), title);
        append_series(&frame, series, color, title);
    }
    return frame.top + HEIGHT + BELOW;
}

static double
document_height(const GPtrArray *panels)
{
    double height = TOP + LEGEND + HEADING;
    for (guint i = 0; i < panels->len; i++)
        height += LEGEND * ((const PlotPanel *)panels->pdata[i])->series->len + 8 + HEIGHT + BELOW;
    return height;
}

static void
append_style(GString *out)
{
    g_string_append(out, "<style>\n"
                         "svg{background:#fff;font:12px system-ui,\"DejaVu Sans\",sans-serif}\n"
                         "text{fill:#24292f}.heading{font-size:15px;font-weight:600}.rule{stroke:#d0d7de}\n"
                         ".line{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}\n");
    for (guint i = 0; i < PLOT_COLORS; i++)
        g_string_append_printf(out, ".c%u{stroke:%s}", i, light_colors[i]);
    g_string_append(
        out, "\n@media (prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#e6edf3}.rule{stroke:#30363d}");
    for (guint i = 0; i < PLOT_COLORS; i++)
        g_string_append_printf(out, ".c%u{stroke:%s}", i, dark_colors[i]);
    g_string_append(out, "}\n</style>\n");
}

static void
append_footer(const GPtrArray *series, double y, GString *out)
{
    HistoryRange span = plot_span(series);
    g_autofree char *from = axis_time_full(span.from_us), *to = axis_time_full(span.to_us);
    g_autofree char *text = g_strdup_printf("%s to %s", from, to);
    append_text(out, WIDTH - RIGHT, y, "end", text);
}

void
plot_svg(const GPtrArray *series, GString *out)
{
    /* SVG has colours, so that series of one unit share a panel. */
    g_autoptr(GPtrArray) panels = plot_panels(series, PLOT_COLOR);
    double height = document_height(panels);
    g_autofree char *heading = plot_heading(series), *title = g_markup_escape_text(heading, -1);
    g_string_append_printf(out,
                           "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                           "role=\"img\">\n<title>%s: allocator statistics over time</title>\n",
                           WIDTH, (int)height, WIDTH, (int)height, title);
    append_style(out);
    g_string_append(out, "<g class=\"heading\">");
    append_text(out, LEFT, TOP, "start", heading);
    g_string_append(out, "</g>\n");
    double top = TOP / 2 + HEADING;
    for (guint i = 0; i < panels->len; i++)
        top = append_panel(panels->pdata[i], series, top, out);
    append_footer(series, height - 8, out);
    g_string_append(out, "</svg>\n");
}
