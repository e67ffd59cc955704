/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heaviest stacks, one block each: bytes, number and size of objects, and frames with lines, from the allocation
 * outwards. Frames of the program itself are marked.
 */
#include "report/calltree.h"
#include "report/format.h"
#include "report/table.h"
#include "report/units.h"

#include <math.h>

enum {
    STACKS_DEFAULT = 10,
    STACKS_FRAMES = 32, /* of one stack; further outer frames are counted */
};

typedef struct {
    const Report *report;
    const CallTree *tree;
    Writer *writer;
    ProfileValue value;
    UnitsFlags units;
    gboolean difference;
} Stacks;

static void
weights_of(const Stacks *stacks, guint32 index, ProfileWeight weights[VIEW_N_SIDES])
{
    for (guint side = 0; side < VIEW_N_SIDES; side++)
        weights[side] = *calltree_self(stacks->tree, index, side);
}

static gdouble
change_of(const Stacks *stacks, guint32 index, ProfileValue value)
{
    ProfileWeight weights[VIEW_N_SIDES];

    weights_of(stacks, index, weights);
    return table_change(weights, value);
}

static void
write_value(const Stacks *stacks, const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value)
{
    UnitsFlags units = stacks->units | (stacks->difference ? UNITS_SIGNED : 0);
    char amount[UNITS_BUFFER], error[UNITS_BUFFER];

    writer_format(stacks->writer, "%s ± %s", units_format(amount, value, table_shown_change(weights, value), units),
                  units_format(error, value, sqrt(table_shown_variance(weights, value)), stacks->units));
}

/* "15.4 MiB ± 12.0 KiB in 1234 ± 10 objects of 12.8 KiB", the average size; preceded by the chosen value if it is
 * another one. */
static void
write_pair(const Stacks *stacks, const ProfileWeight weights[VIEW_N_SIDES])
{
    ProfileValue space = value_space(stacks->value);
    ProfileValue objects = value_objects(stacks->value);
    gdouble count = table_change(weights, objects);
    char size[UNITS_BUFFER];

    if (stacks->value != space && stacks->value != objects) {
        write_value(stacks, weights, stacks->value);
        writer_format(stacks->writer, " (%s), ", report_value_name(stacks->value));
    }
    write_value(stacks, weights, space);
    writer_text(stacks->writer, " in ");
    write_value(stacks, weights, objects);
    writer_text(stacks->writer, " objects");
    if (count != 0)
        writer_format(stacks->writer, " of %s",
                      units_format(size, space, fabs(table_change(weights, space) / count), stacks->units));
}

static void
write_heading(const Stacks *stacks, guint rank, guint32 index)
{
    gdouble total = view_total(stacks->report->view, VIEW_NOW)->estimate[stacks->value];
    ProfileWeight weights[VIEW_N_SIDES];
    char text[UNITS_BUFFER];

    weights_of(stacks, index, weights);
    writer_style(stacks->writer, STYLE_HEADING);
    writer_format(stacks->writer, "#%u  ", rank);
    write_pair(stacks, weights);
    if (stacks->difference)
        writer_text(stacks->writer, table_is_noise(weights, stacks->value) ? " (noise)" : "");
    else
        writer_format(stacks->writer, " (%s)", units_percent(text, weights[VIEW_NOW].estimate[stacks->value], total));
    writer_style(stacks->writer, STYLE_PLAIN);
    writer_text(stacks->writer, "\n");
}

static void
write_frames(const Stacks *stacks, guint32 index)
{
    guint32 depth = calltree_node(stacks->tree, index)->depth;

    for (guint i = 0; index != 0 && i < STACKS_FRAMES; i++) {
        const CallNode *node = calltree_node(stacks->tree, index);
        const ViewNode *frame = view_node(stacks->report->view, node->node);
        writer_format(stacks->writer, "  %s %s\n", frame->origin == VIEW_PROGRAM ? ">" : " ", frame->display);
        index = node->parent;
    }
    if (depth > STACKS_FRAMES)
        writer_format(stacks->writer, "    ... %u more callers\n", depth - STACKS_FRAMES);
    writer_text(stacks->writer, "\n");
}

static gboolean
is_worth_showing(const Stacks *stacks, guint32 index)
{
    gdouble fraction = stacks->report->options->min_fraction;
    gdouble total = fabs(view_total(stacks->report->view, VIEW_NOW)->estimate[stacks->value]);

    return fraction <= 0 || fabs(change_of(stacks, index, stacks->value)) >= fraction * total;
}

gboolean
stacks_write(const Report *report, Writer *writer, GError **error)
{
    const ReportOptions *options = report->options;
    g_autoptr(CallTree) tree = calltree_new(report->view, CALLTREE_TOP_DOWN, options->value);
    Stacks stacks = {.report = report, .tree = tree, .writer = writer, .value = options->value};
    g_autoptr(GArray) found = NULL;
    guint32 limit = options->limit ? options->limit : STACKS_DEFAULT;
    guint shown = 0;

    stacks.difference = view_n_sides(report->view) == 2;
    stacks.units = options->flags & REPORT_EXACT ? UNITS_EXACT : UNITS_PLAIN;
    found = calltree_heaviest(tree, options->value);
    text_write_header(report, writer);
    while (shown < found->len && shown < limit && is_worth_showing(&stacks, g_array_index(found, guint32, shown))) {
        guint32 index = g_array_index(found, guint32, shown);
        write_heading(&stacks, ++shown, index);
        write_frames(&stacks, index);
    }
    if (shown < found->len)
        writer_format(writer, "%u more stacks not shown (-n 0 shows all)\n", found->len - shown);
    return TRUE;
}
