/* SPDX-License-Identifier: Apache-2.0 */
#include "history/axis.h"
#include "history/plot.h"
#include "history/series-table.h"

#include <math.h>

enum {
    ROWS = 12,       /* rows per panel */
    DOTS_ACROSS = 2, /* dots per braille character */
    DOTS_DOWN = 4,
    LABELS = 10,     /* width of the value labels */
    TIME_LABEL = 14, /* minimum width of a mark of the time axis */
    VALUE_MARKS = 4,
    BRAILLE = 0x2800,
};

/* The bit of the dot at [row][column] of a braille character. */
static const guint8 dot_bits[DOTS_DOWN][DOTS_ACROSS] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

static const char *const colors[PLOT_COLORS] = {"36", "33", "35", "32", "34", "31", "96", "93"};

typedef struct {
    guint columns; /* width in characters */
    guint8 *dots;  /* ROWS x columns */
    guint *owner;  /* index + 1 of the series last drawn in each character */
    Axis values;
    HistoryRange span;
} Canvas;

/* What all panels have in common; there may be one for each series. */
typedef struct {
    HistoryRange span;
    gboolean several; /* targets */
} Whole;

static void
set_dot(Canvas *canvas, guint x, guint y, guint color)
{
    guint cell = y / DOTS_DOWN * canvas->columns + x / DOTS_ACROSS;
    canvas->dots[cell] |= dot_bits[y % DOTS_DOWN][x % DOTS_ACROSS];
    canvas->owner[cell] = color + 1;
}

static guint
x_of(const Canvas *canvas, gint64 time_us)
{
    double share = (double)(time_us - canvas->span.from_us) / (double)(canvas->span.to_us - canvas->span.from_us);
    return (guint)lround(share * (canvas->columns * DOTS_ACROSS - 1));
}

static guint
y_of(const Canvas *canvas, double value)
{
    double share = (value - canvas->values.first) / (canvas->values.last - canvas->values.first);
    return (guint)lround((1 - share) * (ROWS * DOTS_DOWN - 1));
}

static void
draw_line(Canvas *canvas, guint x0, guint y0, guint x1, guint y1, guint color)
{
    int across = (int)x1 - (int)x0, down = (int)y1 - (int)y0;
    int steps = MAX(MAX(ABS(across), ABS(down)), 1);
    for (int i = 0; i <= steps; i++)
        set_dot(canvas, (guint)((int)x0 + across * i / steps), (guint)((int)y0 + down * i / steps), color);
}

static void
draw_series(Canvas *canvas, const Series *series, guint color)
{
    guint x_before = 0, y_before = 0;
    for (guint i = 0; i < series->points->len; i++) {
        const SeriesPoint *point = &g_array_index(series->points, SeriesPoint, i);
        guint x = x_of(canvas, point->time_us), y = y_of(canvas, point->value);
        if (i > 0 && !point->after_gap)
            draw_line(canvas, x_before, y_before, x, y, color);
        else
            set_dot(canvas, x, y, color);
        x_before = x;
        y_before = y;
    }
}

static void
append_colored(GString *out, guint color, PlotFlags flags, const char *text)
{
    if (flags & PLOT_COLOR)
        g_string_append_printf(out, "\x1b[%sm%s\x1b[0m", colors[color % PLOT_COLORS], text);
    else
        g_string_append(out, text);
}

static void
append_cell(const Canvas *canvas, guint cell, PlotFlags flags, GString *out)
{
    char text[7] = "*";
    if (canvas->dots[cell] == 0) {
        g_string_append_c(out, ' ');
        return;
    }
    if (!(flags & PLOT_ASCII))
        text[g_unichar_to_utf8(BRAILLE + canvas->dots[cell], text)] = '\0';
    append_colored(out, canvas->owner[cell] - 1, flags, text);
}

/* The label of character row ROW, or NULL if it has no mark. */
static char *
row_label(const Canvas *canvas, guint row, StatsUnit unit)
{
    for (guint i = 0; i < canvas->values.n; i++) {
        const double mark = axis_mark(&canvas->values, i);
        if (y_of(canvas, mark) / DOTS_DOWN == row)
            return axis_value_label(mark, unit);
    }
    return NULL;
}

static void
append_rows(const Canvas *canvas, const PlotPanel *panel, PlotFlags flags, GString *out)
{
    gboolean ascii = (flags & PLOT_ASCII) != 0;
    for (guint row = 0; row < ROWS; row++) {
        g_autofree char *label = row_label(canvas, row, panel->unit);
        g_string_append_printf(out, "%*s %s", LABELS, label != NULL ? label : "",
                               label != NULL ? (ascii ? "+" : "┤") : (ascii ? "|" : "│"));
        gsize filled = out->len;
        for (guint column = 0; column < canvas->columns; column++) {
            append_cell(canvas, row * canvas->columns + column, flags, out);
            if (canvas->dots[row * canvas->columns + column] != 0)
                filled = out->len;
        }
        g_string_truncate(out, filled);
        g_string_append_c(out, '\n');
    }
}

static void
append_time_axis(const Canvas *canvas, PlotFlags flags, GString *out)
{
    gboolean ascii = (flags & PLOT_ASCII) != 0;
    Axis axis = axis_times(canvas->span.from_us, canvas->span.to_us, MAX(canvas->columns / TIME_LABEL, 1));
    g_autoptr(GString) labels = g_string_new(NULL);
    g_string_append_printf(out, "%*s %s", LABELS, "", ascii ? "+" : "└");
    guint column = 0;
    for (guint i = 0; i < axis.n; i++) {
        const gint64 mark = (gint64)axis_mark(&axis, i);
        guint at = x_of(canvas, mark) / DOTS_ACROSS;
        for (; column < at; column++)
            g_string_append(out, ascii ? "-" : "─");
        g_string_append(out, ascii ? "+" : "┴");
        column++;
        g_autofree char *label = axis_time_label(mark, (gint64)axis.step);
        guint length = (guint)g_utf8_strlen(label, -1);
        guint begin = at > length / 2 ? at - length / 2 : 0;
        if (begin < labels->len + (labels->len > 0) || begin + length > canvas->columns)
            continue;
        g_string_append_printf(labels, "%*s%s", (int)(begin - labels->len), "", label);
    }
    for (; column < canvas->columns; column++)
        g_string_append(out, ascii ? "-" : "─");
    g_string_append_printf(out, "\n%*s  %s\n", LABELS, PLOT_TIME_ZONE, labels->str);
}

static void
append_legend(const PlotPanel *panel, gboolean several, PlotFlags flags, GString *out)
{
    for (guint i = 0; i < panel->series->len; i++) {
        const Series *series = panel->series->pdata[i];
        const SeriesPoint *last = &g_array_index(series->points, SeriesPoint, series->points->len - 1);
        g_autofree char *title = series_title(series, several), *value = axis_value_label(last->value, panel->unit);
        g_string_append_printf(out, "%*s  ", LABELS, "");
        if (flags & PLOT_COLOR)
            append_colored(out, g_array_index(panel->colors, guint, i), flags, flags & PLOT_ASCII ? "** " : "━━ ");
        g_string_append_printf(out, "%s, last %s\n", title, value);
    }
}

static void
append_scale_note(const Canvas *canvas, StatsUnit unit, GString *out)
{
    g_autofree char *note = plot_scale_note(&canvas->values, unit);
    if (note != NULL)
        g_string_append_printf(out, "%*s  (%s)\n", LABELS, "", note);
}

static void
append_panel(const PlotPanel *panel, const Whole *whole, guint width, PlotFlags flags, GString *out)
{
    Canvas canvas = {.columns = width - LABELS - 3, .span = whole->span};
    g_autofree guint8 *dots = g_new0(guint8, (gsize)ROWS * canvas.columns);
    g_autofree guint *owner = g_new0(guint, (gsize)ROWS * canvas.columns);
    canvas.dots = dots;
    canvas.owner = owner;
    canvas.values = axis_values(panel->low, panel->high, VALUE_MARKS, panel->unit);
    for (guint i = 0; i < panel->series->len; i++)
        draw_series(&canvas, panel->series->pdata[i], g_array_index(panel->colors, guint, i));
    append_legend(panel, whole->several, flags, out);
    append_scale_note(&canvas, panel->unit, out);
    append_rows(&canvas, panel, flags, out);
    append_time_axis(&canvas, flags, out);
}

void
plot_text(const GPtrArray *series, guint width, PlotFlags flags, GString *out)
{
    const Whole whole = {.span = plot_span(series), .several = series_have_targets(series)};
    g_autoptr(GPtrArray) panels = plot_panels(series, flags);
    g_autofree char *heading = plot_heading(series);
    g_string_append_printf(out, "%*s  %s\n", LABELS, "", heading);
    for (guint i = 0; i < panels->len; i++)
        append_panel(panels->pdata[i], &whole, MAX(width, PLOT_WIDTH_MIN), flags, out);
}
