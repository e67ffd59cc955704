/* SPDX-License-Identifier: Apache-2.0 */
/* The flat table of `jeprof --text`, column for column, for scripts that parse it. */
#include "report/format.h"
#include "report/names.h"
#include "report/table.h"
#include "report/units.h"

typedef struct {
    gboolean megabytes;
    gdouble total; /* shown total: the base of all percentages */
} Layout;

/* jeprof truncates instead of rounding. */
static const char *
unparse(char buffer[UNITS_BUFFER], const Layout *layout, gdouble amount)
{
    if (layout->megabytes)
        return g_ascii_formatd(buffer, UNITS_BUFFER, "%.1f", amount / 1048576.0);
    g_snprintf(buffer, UNITS_BUFFER, "%" G_GINT64_FORMAT, (gint64)CLAMP(amount, -9.2e18, 9.2e18));
    return buffer;
}

static const char *
percent(char buffer[UNITS_BUFFER], gdouble part, gdouble total)
{
    if (total == 0)
        return part == 0 ? "nan" : part > 0 ? "+inf" : "-inf";
    g_ascii_formatd(buffer, UNITS_BUFFER, "%.1f", CLAMP(part * 100 / total, -1e15, 1e15));
    g_strlcat(buffer, "%", UNITS_BUFFER);
    return buffer;
}

static void
write_row(const Report *report, const Layout *layout, const TableRow *row, gdouble running, Writer *writer)
{
    ProfileValue value = report->options->value;
    gdouble flat = table_change(row->flat, value);
    gdouble cumulative = table_change(row->cumulative, value);
    char buffers[5][UNITS_BUFFER];

    writer_format(writer, "%8s %6s %6s %8s %6s %s\n", unparse(buffers[0], layout, flat),
                  percent(buffers[1], flat, layout->total), percent(buffers[2], running, layout->total),
                  unparse(buffers[3], layout, cumulative), percent(buffers[4], cumulative, layout->total),
                  view_node(report->view, row->node)->name);
}

/* The total of the whole profile, before any filter, as in jeprof. */
static gdouble
whole_total(const Report *report)
{
    ProfileValue value = report->options->value;
    gdouble total = view_whole(report->view, VIEW_NOW)->estimate[value];

    if (view_n_sides(report->view) == 2)
        total -= view_whole(report->view, VIEW_BASE)->estimate[value];
    return total;
}

gboolean
text_write_jeprof(const Report *report, Writer *writer, GError **error)
{
    g_autoptr(GArray) table = table_new(report->view, report->options);
    ProfileValue value = report->options->value;
    guint32 limit = report->options->limit ? report->options->limit : REPORT_ALL;
    gboolean bytes = value_is_space(value) && report->options->flags & REPORT_EXACT;
    Layout layout = {.megabytes = value_is_space(value) && !bytes};
    gdouble running = 0, whole = whole_total(report);
    char buffer[UNITS_BUFFER];

    if (value >= PROFILE_N_PPROF_VALUES) {
        g_set_error(error, REPORT_ERROR, REPORT_ERROR_UNSUPPORTED, "jeprof's layout has no %s; omit --jeprof",
                    report_value_name(value));
        return FALSE;
    }
    for (guint i = 0; i < table->len; i++)
        layout.total += table_change(g_array_index(table, TableRow, i).flat, value);
    if (whole != 0)
        writer_format(writer, "Total: %s %s\n", unparse(buffer, &layout, whole),
                      layout.megabytes ? "MB"
                      : bytes          ? "B"
                                       : "objects");
    for (guint i = 0; i < table->len && i < limit; i++) {
        const TableRow *row = &g_array_index(table, TableRow, i);
        running += table_change(row->flat, value);
        if (table_change(row->flat, value) != 0 || table_change(row->cumulative, value) != 0)
            write_row(report, &layout, row, running, writer);
    }
    return TRUE;
}
