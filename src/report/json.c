/* SPDX-License-Identifier: Apache-2.0 */
/* Our own JSON, stable and complete: docs/formats.md, "Report JSON". Written element by element, so that its memory
 * does not grow with the report. */
#include "report/calltree.h"
#include "report/format.h"
#include "report/table.h"

#include <jansson.h>
#include <math.h>

enum { JSON_VERSION = 1 };

static int
write_chunk(const char *text, size_t size, void *writer)
{
    writer_data(writer, text, size);
    return 0;
}

static void
write_json(Writer *writer, json_t *value)
{
    json_dump_callback(value, write_chunk, writer, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(value);
}

/* Estimates beyond what a double holds exactly are no integers; below, whole numbers read better. */
static json_t *
number(gdouble amount)
{
    return fabs(amount) < 9e15 ? json_integer((json_int_t)llround(amount)) : json_real(amount);
}

static json_t *
weight_json(const ProfileWeight *weight)
{
    json_t *object = json_object();

    for (guint value = 0; value < PROFILE_N_VALUES; value++)
        json_object_set_new(object, report_value_name(value),
                            json_pack("{s:o,s:o}", "estimate", number(weight->estimate[value]), "error",
                                      number(sqrt(weight->variance[value]))));
    return object;
}

static void
set_text(json_t *object, const char *key, const char *text)
{
    if (text)
        json_object_set_new(object, key, json_string(text));
}

static json_t *
input_json(const Report *report, ViewSide side)
{
    const ReportInput *input = view_input(report->view, side);
    json_t *object = json_object();

    set_text(object, "name", input->name);
    if (input->time)
        json_object_set_new(object, "time", json_integer(input->time));
    json_object_set_new(object, "period", json_integer((json_int_t)MIN(profile_period(input->profile), G_MAXINT64)));
    json_object_set_new(object, "stacks", json_integer(profile_n_stacks(input->profile)));
    json_object_set_new(object, "total", weight_json(profile_total(input->profile)));
    json_object_set_new(object, "shown", weight_json(view_total(report->view, side)));
    return object;
}

static json_t *
notes_json(const Report *report)
{
    json_t *notes = json_array();

    for (const char *const *note = report->options->notes; note && *note; note++)
        json_array_append_new(notes, json_string(*note));
    return notes;
}

static json_t *
row_json(const Report *report, const TableRow *row)
{
    const ViewNode *node = view_node(report->view, row->node);
    json_t *object = json_pack("{s:i,s:s,s:b}", "id", (int)row->node, "name", node->name, "known", node->known);

    set_text(object, "function", node->function);
    set_text(object, "file", node->file);
    set_text(object, "object", node->object);
    if (node->line)
        json_object_set_new(object, "line", json_integer(node->line));
    json_object_set_new(object, "flat", weight_json(&row->flat[VIEW_NOW]));
    json_object_set_new(object, "cum", weight_json(&row->cumulative[VIEW_NOW]));
    if (view_n_sides(report->view) == 2) {
        json_object_set_new(object, "flat_base", weight_json(&row->flat[VIEW_BASE]));
        json_object_set_new(object, "cum_base", weight_json(&row->cumulative[VIEW_BASE]));
        json_object_set_new(object, "noise", json_boolean(table_is_noise(row->flat, report->options->value)));
    }
    return object;
}

static void
write_rows(const Report *report, Writer *writer)
{
    g_autoptr(GArray) table = table_new(report->view, report->options);
    guint32 limit = report->options->limit ? report->options->limit : REPORT_ALL;

    for (guint i = 0; i < table->len && i < limit; i++) {
        writer_text(writer, i ? ",\n" : "\n");
        write_json(writer, row_json(report, &g_array_index(table, TableRow, i)));
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

static json_t *
stack_json(const CallTree *tree, guint32 index)
{
    json_t *object = json_object();
    json_t *frames = json_array();

    for (guint32 at = index; at != 0; at = calltree_node(tree, at)->parent)
        json_array_append_new(frames, json_integer(calltree_node(tree, at)->node));
    json_object_set_new(object, "frames", frames);
    json_object_set_new(object, "weight", weight_json(&tree->self[VIEW_NOW][index]));
    if (tree->self[VIEW_BASE])
        json_object_set_new(object, "base", weight_json(&tree->self[VIEW_BASE][index]));
    return object;
}

static void
write_stacks(const Report *report, Writer *writer)
{
    g_autoptr(CallTree) tree = calltree_new(report->view, CALLTREE_TOP_DOWN, report->options->value);
    const char *separator = "\n";

    for (guint32 at = calltree_next(tree, 0); at != PROFILE_NONE; at = calltree_next(tree, at)) {
        if (is_zero(&tree->self[VIEW_NOW][at]) && (!tree->self[VIEW_BASE] || is_zero(&tree->self[VIEW_BASE][at])))
            continue;
        writer_text(writer, separator);
        write_json(writer, stack_json(tree, at));
        separator = ",\n";
    }
}

gboolean
json_write(const Report *report, Writer *writer, GError **error)
{
    writer_format(writer, "{\"format\":\"jescope-report\",\"version\":%d,\"value\":\"%s\",\"by\":\"%s\",\n\"source\":",
                  JSON_VERSION, report_value_name(report->options->value),
                  report_granularity_name(report->options->by));
    write_json(writer, input_json(report, VIEW_NOW));
    if (view_n_sides(report->view) == 2) {
        writer_text(writer, ",\n\"base\":");
        write_json(writer, input_json(report, VIEW_BASE));
    }
    writer_text(writer, ",\n\"notes\":");
    write_json(writer, notes_json(report));
    writer_text(writer, ",\n\"rows\":[");
    write_rows(report, writer);
    writer_text(writer, "],\n\"stacks\":[");
    write_stacks(report, writer);
    writer_text(writer, "]}\n");
    return TRUE;
}
