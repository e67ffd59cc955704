/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks: "root;caller;leaf 123", root first, equal stacks merged, heaviest first among siblings. With a base
   two counts per line, before and after, which is what differential flame graph tools read. */
#include "report/calltree.h"
#include "report/format.h"
#include "report/units.h"

#include <string.h>

/* Semicolons separate frames and a blank the count, so a name holds neither a semicolon nor a line end. */
static void
append_frame(GString *stack, const char *name)
{
    if (stack->len)
        g_string_append_c(stack, ';');
    for (; *name; name++)
        g_string_append_c(stack, *name == ';' ? ':' : *name);
}

static void
write_line(const Report *report, const CallTree *tree, guint32 at, GString *stack)
{
    gint64 counts[VIEW_N_SIDES] = {0};
    guint n_sides = view_n_sides(report->view);

    for (guint side = 0; side < n_sides; side++)
        counts[side] = units_round(tree->self[side][at].estimate[report->options->value]);
    if (counts[VIEW_NOW] == 0 && counts[VIEW_BASE] == 0)
        g_string_truncate(stack, 0);
    else if (n_sides == 2)
        g_string_append_printf(stack, " %" G_GINT64_FORMAT, counts[VIEW_BASE]);
    if (stack->len)
        g_string_append_printf(stack, " %" G_GINT64_FORMAT "\n", counts[VIEW_NOW]);
}

/* Depth first without recursion: a stack may be as deep as its dump says. */
static void
write_tree(const Report *report, const CallTree *tree, Writer *writer)
{
    g_autoptr(GString) prefix = g_string_new(NULL);
    g_autoptr(GString) line = g_string_new(NULL);
    g_autoptr(GArray) lengths = g_array_new(FALSE, FALSE, sizeof(gsize));
    guint32 at = calltree_node(tree, 0)->first_child;

    while (at != PROFILE_NONE) {
        const CallNode *node = calltree_node(tree, at);
        g_array_append_val(lengths, prefix->len);
        append_frame(prefix, view_node(report->view, node->node)->name);
        g_string_assign(line, prefix->str);
        write_line(report, tree, at, line);
        writer_data(writer, line->str, line->len);
        guint32 next = node->first_child;
        while (next == PROFILE_NONE && at != 0) {
            g_string_truncate(prefix, g_array_index(lengths, gsize, lengths->len - 1));
            g_array_set_size(lengths, lengths->len - 1);
            next = calltree_node(tree, at)->next_sibling;
            at = calltree_node(tree, at)->parent;
        }
        at = next;
    }
}

gboolean
folded_write(const Report *report, Writer *writer, GError **error)
{
    g_autoptr(CallTree) tree = calltree_new(report->view, CALLTREE_TOP_DOWN, report->options->value);

    write_tree(report, tree, writer);
    return TRUE;
}
