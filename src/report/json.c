/* SPDX-License-Identifier: Apache-2.0 */
/* jescope's JSON, stable and complete: docs/formats.md, "Report JSON". Written element by element, so that its memory
 * does not grow with the report. */
#include "report/calltree.h"
#include "report/format.h"
#include "report/table.h"
#include "report/units.h"

#include <math.h>

enum { JSON_VERSION = 1 };

/* A mean has decimals. */
static void
write_amount(Writer *writer, ProfileValue value, gdouble amount)
{
    if (value_is_mean(value))
        writer_number(writer, amount, 6);
    else
        writer_amount(writer, amount);
}

/* The values known by the profiles; means without bytes are omitted. */
static void
write_weight(const View *view, Writer *writer, const char *before, const ProfileWeight *weight)
{
    const char *separator = "{\"";

    writer_text(writer, before);
    for (ProfileValue value = 0; value < PROFILE_N_VALUES; value++) {
        if (!view_has_value(view, value) || (value_is_mean(value) && weight->estimate[value_space(value)] <= 0))
            continue;
        writer_text(writer, separator);
        writer_text(writer, report_value_name(value));
        writer_text(writer, "\":{\"estimate\":");
        write_amount(writer, value, table_shown(weight, value));
        writer_text(writer, ",\"error\":");
        write_amount(writer, value, table_shown_error(weight, value));
        writer_text(writer, "}");
        separator = ",\"";
    }
    writer_text(writer, "}");
}

/* A member that is omitted if it has no text. */
static void
write_member(Writer *writer, const char *before, const char *text)
{
    if (!text)
        return;
    writer_text(writer, before);
    writer_json(writer, text);
}

/* jescope's own sampler; nothing for jemalloc's. */
static void
write_sampler(Writer *writer, const ProfileSampler *sampler)
{
    if (!sampler)
        return;
    writer_format(writer,
                  ",\"sampler\":{\"name\":\"jescope\",\"since\":%" G_GUINT64_FORMAT ",\"dropped\":%" G_GUINT64_FORMAT
                  ",\"dropped_bytes\":%" G_GUINT64_FORMAT ",\"thinned\":%" G_GUINT64_FORMAT ",\"window\":",
                  sampler->since / G_USEC_PER_SEC, sampler->dropped, sampler->dropped_bytes, sampler->thinned);
    writer_number(writer, (gdouble)sampler->window / G_USEC_PER_SEC, 6);
    writer_text(writer, "}");
}

static void
write_input(const Report *report, Writer *writer, ViewSide side)
{
    const ReportInput *input = view_input(report->view, side);

    write_member(writer, "{\"name\":", input->name);
    if (input->time)
        writer_format(writer, ",\"time\":%" G_GINT64_FORMAT, input->time);
    writer_format(writer, ",\"period\":%" G_GUINT64_FORMAT ",\"stacks\":%u",
                  MIN(profile_period(input->profile), G_MAXINT64), profile_n_stacks(input->profile));
    write_sampler(writer, profile_sampler(input->profile));
    write_weight(report->view, writer, ",\"total\":", view_whole(report->view, side));
    write_weight(report->view, writer, ",\"shown\":", view_total(report->view, side));
    writer_text(writer, "}");
}

static void
write_notes(const Report *report, Writer *writer)
{
    writer_text(writer, ",\n\"notes\":[");
    for (const char *const *note = report->options->notes; note && *note; note++)
        write_member(writer, note == report->options->notes ? "" : ",", *note);
    writer_text(writer, "]");
}

static void
write_row(const Report *report, Writer *writer, const TableRow *row)
{
    const ViewNode *node = view_node(report->view, row->node);

    writer_format(writer, "{\"id\":%u", row->node);
    write_member(writer, ",\"name\":", node->name);
    write_member(writer, ",\"display\":", node->display);
    writer_text(writer, node->known ? ",\"known\":true" : ",\"known\":false");
    write_member(writer, ",\"function\":", node->function);
    write_member(writer, ",\"file\":", node->file);
    write_member(writer, ",\"object\":", node->object);
    if (node->line)
        writer_format(writer, ",\"line\":%u", node->line);
    write_weight(report->view, writer, ",\"flat\":", &row->flat[VIEW_NOW]);
    write_weight(report->view, writer, ",\"cum\":", &row->cumulative[VIEW_NOW]);
    if (view_n_sides(report->view) == 2) {
        write_weight(report->view, writer, ",\"flat_base\":", &row->flat[VIEW_BASE]);
        write_weight(report->view, writer, ",\"cum_base\":", &row->cumulative[VIEW_BASE]);
        writer_text(writer, table_is_noise(row->flat, report->options->value) ? ",\"noise\":true" : ",\"noise\":false");
    }
    writer_text(writer, "}");
}

static void
write_rows(const Report *report, Writer *writer)
{
    g_autoptr(GArray) table = table_new(report->view, report->options);
    guint32 limit = report->options->limit ? report->options->limit : REPORT_ALL;

    for (guint i = 0; i < table->len && i < limit; i++) {
        writer_text(writer, i ? ",\n" : "\n");
        write_row(report, writer, &g_array_index(table, TableRow, i));
    }
}

static gboolean
is_zero(const ProfileWeight *weight)
{
    for (guint value = 0; value < PROFILE_N_VALUES; value++)
        if (weight->estimate[value] != 0)
            return FALSE;
    return TRUE;
}

static void
write_stack(const CallTree *tree, Writer *writer, guint32 index)
{
    const char *before = "{\"frames\":[";

    for (guint32 at = index; at != 0; at = calltree_node(tree, at)->parent) {
        writer_text(writer, before);
        writer_integer(writer, calltree_node(tree, at)->node);
        before = ",";
    }
    write_weight(tree->view, writer, "],\"weight\":", calltree_self(tree, index, VIEW_NOW));
    if (view_n_sides(tree->view) == 2)
        write_weight(tree->view, writer, ",\"base\":", calltree_self(tree, index, VIEW_BASE));
    writer_text(writer, "}");
}

static void
write_stacks(const Report *report, Writer *writer)
{
    g_autoptr(CallTree) tree = calltree_new(report->view, CALLTREE_TOP_DOWN, report->options->value);
    const char *separator = "\n";

    for (guint32 at = calltree_next(tree, 0); at != PROFILE_NONE; at = calltree_next(tree, at)) {
        if (is_zero(calltree_self(tree, at, VIEW_NOW)) && is_zero(calltree_self(tree, at, VIEW_BASE)))
            continue;
        writer_text(writer, separator);
        write_stack(tree, writer, at);
        separator = ",\n";
    }
}

gboolean
json_write(const Report *report, Writer *writer, GError **error)
{
    writer_format(writer, "{\"format\":\"jescope-report\",\"version\":%d,\"value\":\"%s\",\"by\":\"%s\",\n\"source\":",
                  JSON_VERSION, report_value_name(report->options->value),
                  report_granularity_name(report->options->by));
    write_input(report, writer, VIEW_NOW);
    if (view_n_sides(report->view) == 2) {
        writer_text(writer, ",\n\"base\":");
        write_input(report, writer, VIEW_BASE);
    }
    write_notes(report, writer);
    writer_text(writer, ",\n\"rows\":[");
    write_rows(report, writer);
    writer_text(writer, "],\n\"stacks\":[");
    write_stacks(report, writer);
    writer_text(writer, "]}\n");
    return TRUE;
}
