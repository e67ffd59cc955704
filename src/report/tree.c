/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree as indented text. A chain of only children stays in one column, so that indentation shows branching. */
#include "report/calltree.h"
#include "report/format.h"
#include "report/table.h"
#include "report/units.h"

#include <math.h>
#include <string.h>

#define TREE_DEFAULT_FRACTION 0.005

/* One line waiting to be written. */
typedef struct {
    guint32 index;      /* into the tree, or PROFILE_NONE for the sum of folded nodes */
    const char *indent; /* of its branch */
    const char *arm;    /* "├─ ", "└─ " or "" for an only child */
    guint32 n_folded;
    gdouble folded;
} Pending;

typedef struct {
    const Report *report;
    const CallTree *tree;
    Writer *writer;
    GArray *pending; /* a stack: the next line last */
    GStringChunk *indents;
    gdouble threshold;
    UnitsFlags units;
} TreeText;

static gdouble
amount_of(const TreeText *text, guint32 index, ViewSide side)
{
    return calltree_total(text->tree, index, side);
}

static void
write_value(const TreeText *text, gdouble amount, UnitsFlags flags)
{
    char buffer[UNITS_BUFFER];

    writer_format(text->writer, "%12s",
                  units_format(buffer, text->report->options->value, amount, text->units | flags));
}

static gdouble
shown_of(const TreeText *text, guint32 index, ViewSide side)
{
    ProfileValue value = text->report->options->value;

    if (!value_is_mean(value))
        return amount_of(text, index, side);
    ProfileWeight weight = calltree_weight(text->tree, index, side);
    return table_shown(&weight, value);
}

static void
write_values(const TreeText *text, guint32 index)
{
    gdouble now = shown_of(text, index, VIEW_NOW);
    gdouble self = table_shown(calltree_self(text->tree, index, VIEW_NOW), text->report->options->value);
    char percent[UNITS_BUFFER];

    if (view_n_sides(text->report->view) == 2) {
        gdouble base = shown_of(text, index, VIEW_BASE);
        write_value(text, now - base, UNITS_SIGNED);
        write_value(text, base, UNITS_PLAIN);
        write_value(text, now, UNITS_PLAIN);
        return;
    }
    write_value(text, now, UNITS_PLAIN);
    writer_format(text->writer, "%8s",
                  units_percent(percent, amount_of(text, index, VIEW_NOW), amount_of(text, 0, VIEW_NOW)));
    if (self > 0)
        write_value(text, self, UNITS_PLAIN);
    else
        writer_format(text->writer, "%12s", "");
}

static void
write_folded(const TreeText *text, const Pending *line)
{
    gboolean difference = view_n_sides(text->report->view) == 2;
    ProfileValue value = text->report->options->value;
    char amount[UNITS_BUFFER];

    writer_format(text->writer, "%*s  %s%s%u smaller", difference ? 36 : 32, "", line->indent, line->arm,
                  line->n_folded);
    if (!value_is_mean(value))
        writer_format(text->writer, ", %s together", units_format(amount, value, line->folded, text->units));
    writer_text(text->writer, "\n");
}

static const char *
indent_below(TreeText *text, const Pending *line)
{
    g_autofree char *indent = NULL;

    if (line->arm[0] == '\0')
        return line->indent;
    indent = g_strconcat(line->indent, g_str_has_prefix(line->arm, "└") ? "   " : "│  ", NULL);
    return g_string_chunk_insert_const(text->indents, indent);
}

/* Pushes the children above the threshold, and a line for the rest if their sum is above it, in reverse. */
static void
push_children(TreeText *text, const Pending *above)
{
    const char *indent = indent_below(text, above);
    Pending rest = {.index = PROFILE_NONE, .indent = indent, .arm = "└─ "};
    guint first = text->pending->len, n;
    guint32 child = calltree_node(text->tree, above->index)->first_child;

    for (; child != PROFILE_NONE; child = calltree_node(text->tree, child)->next_sibling) {
        gdouble extent = calltree_extent(text->tree, child);
        Pending line = {.index = child, .indent = indent, .arm = "├─ "};
        if (extent <= 0)
            continue;
        if (extent >= text->threshold) {
            g_array_append_val(text->pending, line);
        } else {
            rest.n_folded++;
            rest.folded += extent;
        }
    }
    if (rest.folded >= text->threshold && rest.n_folded)
        g_array_append_val(text->pending, rest);
    n = text->pending->len - first;
    if (n > 0)
        g_array_index(text->pending, Pending, first + n - 1).arm = n == 1 ? "" : "└─ ";
    for (guint i = 0; i < n / 2; i++) {
        Pending swap = g_array_index(text->pending, Pending, first + i);
        g_array_index(text->pending, Pending, first + i) = g_array_index(text->pending, Pending, first + n - 1 - i);
        g_array_index(text->pending, Pending, first + n - 1 - i) = swap;
    }
}

static void
write_lines(TreeText *text)
{
    Pending root = {.index = 0, .indent = "", .arm = ""};

    push_children(text, &root);
    while (text->pending->len) {
        Pending line = g_array_index(text->pending, Pending, text->pending->len - 1);
        g_array_set_size(text->pending, text->pending->len - 1);
        if (line.index == PROFILE_NONE) {
            write_folded(text, &line);
            continue;
        }
        const ViewNode *node = view_node(text->report->view, calltree_node(text->tree, line.index)->node);
        write_values(text, line.index);
        writer_format(text->writer, "  %s%s", line.indent, line.arm);
        writer_style(text->writer, node->origin == VIEW_PROGRAM ? STYLE_STRONG : STYLE_PLAIN);
        writer_text(text->writer, node->display);
        writer_style(text->writer, STYLE_PLAIN);
        writer_text(text->writer, "\n");
        push_children(text, &line);
    }
}

gboolean
tree_write(const Report *report, Writer *writer, GError **error)
{
    const ReportOptions *options = report->options;
    CallTreeOrder order = options->flags & REPORT_CALLERS ? CALLTREE_BOTTOM_UP : CALLTREE_TOP_DOWN;
    g_autoptr(CallTree) tree = calltree_new(report->view, order, options->value);
    gdouble fraction = options->min_fraction >= 0 ? options->min_fraction : TREE_DEFAULT_FRACTION;
    TreeText text = {.report = report, .tree = tree, .writer = writer};

    text.units = options->flags & REPORT_EXACT ? UNITS_EXACT : UNITS_PLAIN;
    text.threshold = fraction * calltree_extent(tree, 0);
    text.pending = g_array_new(FALSE, FALSE, sizeof(Pending));
    text.indents = g_string_chunk_new(4096);
    text_write_header(report, writer);
    writer_style(writer, STYLE_HEADING);
    if (view_n_sides(report->view) == 2)
        writer_format(writer, "%12s%12s%12s  %s", "change", "before", "after", "call");
    else
        writer_format(writer, "%12s%8s%12s  %s", "total", "total%", "self", "call");
    writer_style(writer, STYLE_PLAIN);
    writer_text(writer, "\n");
    write_lines(&text);
    g_array_unref(text.pending);
    g_string_chunk_free(text.indents);
    return TRUE;
}
