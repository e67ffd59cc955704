/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks: "root;caller;leaf 123", root first, equal stacks merged, heaviest first among siblings. With a base
 * two counts per line, before and after, as input of differential flame graph tools. */
#include "report/calltree.h"
#include "report/format.h"
#include "report/units.h"

/* Semicolons separate frames and a blank separates the count, so semicolons and line ends in names are replaced. */
static void
append_frame(GString *stack, const char *name)
{
    if (stack->len)
        g_string_append_c(stack, ';');
    for (; *name; name++)
        g_string_append_c(stack, *name == ';' ? ':' : *name);
}

static void
write_line(const Report *report, const CallTree *tree, guint32 at, const GString *stack, Writer *writer)
{
    gint64 counts[VIEW_N_SIDES] = {0};
    guint n_sides = view_n_sides(report->view);

    for (guint side = 0; side < n_sides; side++)
        counts[side] = units_round(calltree_self(tree, at, side)->estimate[report->options->value]);
    if (counts[VIEW_NOW] == 0 && counts[VIEW_BASE] == 0)
        return;
    writer_data(writer, stack->str, stack->len);
    if (n_sides == 2)
        writer_format(writer, " %" G_GINT64_FORMAT, counts[VIEW_BASE]);
    writer_format(writer, " %" G_GINT64_FORMAT "\n", counts[VIEW_NOW]);
}

static void
write_tree(const Report *report, const CallTree *tree, Writer *writer)
{
    g_autoptr(GString) line = g_string_new(NULL);
    g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(gsize)); /* the length of the line for each depth */
    gsize end = 0;

    g_array_append_val(ends, end);
    for (guint32 at = calltree_next(tree, 0); at != PROFILE_NONE; at = calltree_next(tree, at)) {
        const CallNode *node = calltree_node(tree, at);
        g_array_set_size(ends, node->depth);
        g_string_truncate(line, g_array_index(ends, gsize, node->depth - 1));
        append_frame(line, view_node(report->view, node->node)->name);
        end = line->len;
        g_array_append_val(ends, end);
        write_line(report, tree, at, line, writer);
    }
}

gboolean
folded_write(const Report *report, Writer *writer, GError **error)
{
    g_autoptr(CallTree) tree = calltree_new(report->view, CALLTREE_TOP_DOWN, report->options->value);

    write_tree(report, tree, writer);
    return TRUE;
}
