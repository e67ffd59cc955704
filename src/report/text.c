/* SPDX-License-Identifier: Apache-2.0 */
/* The readable table. With a base it shows the changes, and marks those within sampling noise. */
#include "report/format.h"
#include "report/table.h"
#include "report/units.h"
#include "text/printable.h"

#include <math.h>

enum { TEXT_DEFAULT_ROWS = 30 };

typedef struct {
    ProfileValue value;
    const TableRow *row;
    gdouble running; /* sum of flat so far, including this row */
    gdouble total;
    UnitsFlags units;
} TextCell;

typedef enum {
    COLUMN_PLAIN = 1 << 0,
    COLUMN_DIFFERENCE = 1 << 1,
    COLUMN_ERRORS = 1 << 2, /* only with errors */
} ColumnUse;

typedef struct {
    const char *title;
    int width;
    ColumnUse use;
    const char *(*format)(char *buffer, const TextCell *cell);
} TextColumn;

static const char *
format_error(char *buffer, const ProfileWeight *weights, const TextCell *cell)
{
    char amount[UNITS_BUFFER];

    g_snprintf(buffer, UNITS_BUFFER, "± %s",
               units_format(amount, cell->value, sqrt(table_shown_variance(weights, cell->value)), cell->units));
    return buffer;
}

static const char *
cell_flat(char *buffer, const TextCell *cell)
{
    return units_format(buffer, cell->value, table_shown(&cell->row->flat[VIEW_NOW], cell->value), cell->units);
}

static const char *
cell_flat_error(char *buffer, const TextCell *cell)
{
    return format_error(buffer, cell->row->flat, cell);
}

static const char *
cell_flat_percent(char *buffer, const TextCell *cell)
{
    return units_percent(buffer, cell->row->flat[VIEW_NOW].estimate[cell->value], cell->total);
}

static const char *
cell_running_percent(char *buffer, const TextCell *cell)
{
    return units_percent(buffer, cell->running, cell->total);
}

static const char *
cell_cumulative(char *buffer, const TextCell *cell)
{
    return units_format(buffer, cell->value, table_shown(&cell->row->cumulative[VIEW_NOW], cell->value), cell->units);
}

static const char *
cell_cumulative_error(char *buffer, const TextCell *cell)
{
    return format_error(buffer, cell->row->cumulative, cell);
}

static const char *
cell_cumulative_percent(char *buffer, const TextCell *cell)
{
    return units_percent(buffer, cell->row->cumulative[VIEW_NOW].estimate[cell->value], cell->total);
}

static const char *
cell_change(char *buffer, const TextCell *cell)
{
    return units_format(buffer, cell->value, table_shown_change(cell->row->flat, cell->value),
                        cell->units | UNITS_SIGNED);
}

static const char *
cell_noise(char *buffer, const TextCell *cell)
{
    gboolean changed = table_shown_change(cell->row->flat, cell->value) != 0;

    return changed && table_is_noise(cell->row->flat, cell->value) ? "noise" : "";
}

static const char *
cell_before(char *buffer, const TextCell *cell)
{
    return units_format(buffer, cell->value, table_shown(&cell->row->flat[VIEW_BASE], cell->value), cell->units);
}

static const char *
cell_cumulative_change(char *buffer, const TextCell *cell)
{
    return units_format(buffer, cell->value, table_shown_change(cell->row->cumulative, cell->value),
                        cell->units | UNITS_SIGNED);
}

static const char *
cell_cumulative_noise(char *buffer, const TextCell *cell)
{
    gboolean changed = table_shown_change(cell->row->cumulative, cell->value) != 0;

    return changed && table_is_noise(cell->row->cumulative, cell->value) ? "noise" : "";
}

static const TextColumn columns[] = {
    {"flat", 11, COLUMN_PLAIN, cell_flat},
    {"error", 12, COLUMN_PLAIN | COLUMN_ERRORS, cell_flat_error},
    {"flat%", 7, COLUMN_PLAIN, cell_flat_percent},
    {"sum%", 7, COLUMN_PLAIN, cell_running_percent},
    {"cum", 12, COLUMN_PLAIN, cell_cumulative},
    {"error", 12, COLUMN_PLAIN | COLUMN_ERRORS, cell_cumulative_error},
    {"cum%", 7, COLUMN_PLAIN, cell_cumulative_percent},
    {"change", 11, COLUMN_DIFFERENCE, cell_change},
    {"error", 12, COLUMN_DIFFERENCE | COLUMN_ERRORS, cell_flat_error},
    {"", 6, COLUMN_DIFFERENCE, cell_noise},
    {"before", 11, COLUMN_DIFFERENCE, cell_before},
    {"after", 11, COLUMN_DIFFERENCE, cell_flat},
    {"cum change", 12, COLUMN_DIFFERENCE, cell_cumulative_change},
    {"error", 12, COLUMN_DIFFERENCE | COLUMN_ERRORS, cell_cumulative_error},
    {"", 6, COLUMN_DIFFERENCE, cell_cumulative_noise},
};

static const char *const value_titles[PROFILE_N_VALUES] = {
    [PROFILE_ALLOC_OBJECTS] = "objects allocated so far",
    [PROFILE_ALLOC_SPACE] = "allocated so far",
    [PROFILE_INUSE_OBJECTS] = "objects in use",
    [PROFILE_INUSE_SPACE] = "in use",
    [PROFILE_FREED_OBJECTS] = "objects allocated and freed again",
    [PROFILE_FREED_SPACE] = "allocated and freed again",
    [PROFILE_CHURN] = "allocated and freed again",
    [PROFILE_AGE] = "mean age of what is in use",
    [PROFILE_LIFETIME] = "mean lifetime of what was freed",
    [PROFILE_PINNED] = "free in slabs that are in use",
    [PROFILE_WHATIF] = "of slabs that would go back",
};

/* Pads to width in columns, with at least one blank. */
static void
write_padded(Writer *writer, const char *text, int width)
{
    guint n = text_columns(text);

    do
        writer_text(writer, " ");
    while (++n < (guint)width);
    writer_text(writer, text);
}

static gboolean
is_used(const TextColumn *column, const Report *report)
{
    ColumnUse wanted = view_n_sides(report->view) == 2 ? COLUMN_DIFFERENCE : COLUMN_PLAIN;

    return column->use & wanted && (!(column->use & COLUMN_ERRORS) || report->options->flags & REPORT_SHOW_ERRORS);
}

static void
write_titles(const Report *report, Writer *writer)
{
    writer_style(writer, STYLE_HEADING);
    for (guint i = 0; i < G_N_ELEMENTS(columns); i++)
        if (is_used(&columns[i], report))
            write_padded(writer, columns[i].title, columns[i].width);
    writer_format(writer, "  %s", report_granularity_name(report->options->by));
    writer_style(writer, STYLE_PLAIN);
    writer_text(writer, "\n");
}

/* The program's own code and changes are emphasized; noise and library code are not. */
static Style
style_of(const Report *report, const TextCell *cell)
{
    const ProfileWeight *flat = cell->row->flat;
    gdouble change = table_shown_change(flat, cell->value);

    if (view_n_sides(report->view) == 1)
        return view_node(report->view, cell->row->node)->origin == VIEW_PROGRAM ? STYLE_STRONG : STYLE_PLAIN;
    if (change == 0 || table_is_noise(flat, cell->value))
        return STYLE_FAINT;
    return change > 0 ? STYLE_GROWN : STYLE_SHRUNK;
}

static void
write_row(const Report *report, const TextCell *cell, Writer *writer)
{
    char buffer[UNITS_BUFFER];

    writer_style(writer, style_of(report, cell));
    for (guint i = 0; i < G_N_ELEMENTS(columns); i++)
        if (is_used(&columns[i], report))
            write_padded(writer, columns[i].format(buffer, cell), columns[i].width);
    writer_format(writer, "  %s", view_node(report->view, cell->row->node)->display);
    writer_style(writer, STYLE_PLAIN);
    writer_text(writer, "\n");
}

static void
write_source(const Report *report, ViewSide side, Writer *writer)
{
    const ReportInput *input = view_input(report->view, side);
    const ProfileWeight *total = view_total(report->view, side);
    const ProfileWeight *whole = view_whole(report->view, side);
    ProfileValue value = report->options->value;
    guint32 n_stacks = profile_n_stacks(input->profile);
    guint64 period = profile_period(input->profile);
    char amount[UNITS_BUFFER], error[UNITS_BUFFER], rate[UNITS_BUFFER];

    writer_format(writer, "%s%s: ", side == VIEW_BASE ? "against " : "", input->name);
    if (profile_has_value(input->profile, value) || n_stacks == 0)
        writer_format(writer, "%s ± %s %s, ", units_format(amount, value, table_shown(total, value), UNITS_PLAIN),
                      units_format(error, value, table_shown_error(total, value), UNITS_PLAIN), value_titles[value]);
    writer_format(writer, "%u %s, ", n_stacks, n_stacks == 1 ? "stack" : "stacks");
    if (period > 1)
        writer_format(writer, "one sample per %s\n",
                      units_format(rate, PROFILE_INUSE_SPACE, (gdouble)period, UNITS_PLAIN));
    else
        writer_text(writer, "every allocation counted\n");
    if (fabs(total->estimate[value] - whole->estimate[value]) > 0.5 && profile_has_value(input->profile, value))
        writer_format(writer, "filters leave %s of %s\n",
                      units_percent(rate, total->estimate[value], whole->estimate[value]),
                      value_is_mean(value) ? value_unit(value)
                                           : units_format(amount, value, whole->estimate[value], UNITS_PLAIN));
}

void
text_write_header(const Report *report, Writer *writer)
{
    for (guint side = 0; side < view_n_sides(report->view); side++)
        write_source(report, side, writer);
    for (const char *const *note = report->options->notes; note && *note; note++)
        writer_format(writer, "%s\n", *note);
    writer_text(writer, "\n");
}

/* Whether the row is too small to be shown. */
static gboolean
is_folded(const Report *report, const TableRow *row, gdouble total)
{
    ProfileValue value = report->options->value;
    gdouble amount = fabs(table_change(row->cumulative, value));

    if (table_change(row->flat, value) == 0 && amount == 0)
        return TRUE;
    return report->options->min_fraction > 0 && amount < report->options->min_fraction * fabs(total);
}

static void
write_rows(const Report *report, const GArray *table, Writer *writer)
{
    ProfileValue value = report->options->value;
    guint32 limit = report->options->limit ? report->options->limit : TEXT_DEFAULT_ROWS;
    TextCell cell = {.value = value, .total = view_total(report->view, VIEW_NOW)->estimate[value]};
    guint32 shown = 0, hidden = 0;

    cell.units = report->options->flags & REPORT_EXACT ? UNITS_EXACT : UNITS_PLAIN;
    for (guint i = 0; i < table->len; i++) {
        cell.row = &g_array_index(table, TableRow, i);
        if (shown >= limit || is_folded(report, cell.row, cell.total)) {
            hidden += table_change(cell.row->cumulative, value) != 0;
            continue;
        }
        cell.running += cell.row->flat[VIEW_NOW].estimate[value];
        write_row(report, &cell, writer);
        shown++;
    }
    if (hidden)
        writer_format(writer, "%u more not shown (-n 0 shows all)\n", hidden);
}

gboolean
text_write(const Report *report, Writer *writer, GError **error)
{
    g_autoptr(GArray) table = NULL;

    if (report->options->flags & REPORT_JEPROF_LAYOUT)
        return text_write_jeprof(report, writer, error);
    table = table_new(report->view, report->options);
    text_write_header(report, writer);
    if (table->len == 0)
        return TRUE;
    write_titles(report, writer);
    write_rows(report, table, writer);
    return TRUE;
}
