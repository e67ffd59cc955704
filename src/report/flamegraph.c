/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame graph as one SVG file: complete without scripts, interactive with them (flamegraph.js). The outermost frame
 * is on top; width is memory. A difference is as wide as the larger of before and after, so that freed memory remains
 * visible, and coloured by the change.
 */
#include "report/calltree.h"
#include "report/format.h"
#include "report/function-name.h"
#include "report/resources.h"
#include "report/table.h"
#include "report/units.h"
#include "text/printable.h"

#include <math.h>
#include <string.h>

#define FLAME_DEFAULT_FRACTION 0.0005

enum {
    FLAME_WIDTH = 1200,
    FLAME_MARGIN = 10,
    FLAME_ROW = 19,
    FLAME_HEADER = 92, /* with one line of notes */
    FLAME_NOTE_ROW = 16,
    FLAME_NOTE_COLUMNS = 170, /* of its proportional font, conservatively */
    FLAME_FOOTER = 34,
    FLAME_SHADES = 5,
};

/* Width in the monospaced 12px label font; scripts measure it, this is used without them. */
#define FLAME_LETTER_WIDTH 7.2

typedef struct {
    const Report *report;
    const CallTree *tree;
    Writer *writer;
    gdouble *extents; /* per tree node: its width in the unit of the value */
    gdouble *lefts;   /* per tree node: the sum of extents to its left */
    gdouble threshold;
    gdouble largest_change;
    gboolean difference;
    ProfileValue value;
    guint32 depth;
    guint header; /* its height */
    GStrv notes;  /* lines */
} Flame;

static void
measure(Flame *flame)
{
    const CallTree *tree = flame->tree;
    guint32 n = tree->n_nodes;

    flame->extents = calltree_sum(tree, calltree_larger_side, &flame->value);
    flame->lefts = g_new0(gdouble, n);
    for (guint32 i = 0; i < n; i++) {
        gdouble left = flame->lefts[i];
        guint32 child = calltree_node(tree, i)->first_child;
        for (; child != PROFILE_NONE; child = calltree_node(tree, child)->next_sibling) {
            flame->lefts[child] = left;
            left += flame->extents[child];
        }
    }
}

static void
node_weights(const Flame *flame, guint32 index, ProfileWeight weights[VIEW_N_SIDES])
{
    for (guint side = 0; side < VIEW_N_SIDES; side++)
        weights[side] = calltree_weight(flame->tree, index, side);
}

static void
survey(Flame *flame)
{
    for (guint32 i = 0; i < flame->tree->n_nodes; i++) {
        ProfileWeight weights[VIEW_N_SIDES];
        if (flame->extents[i] < flame->threshold)
            continue;
        node_weights(flame, i, weights);
        flame->depth = MAX(flame->depth, calltree_node(flame->tree, i)->depth + 1);
        if (i > 0)
            flame->largest_change = MAX(flame->largest_change, fabs(table_change(weights, flame->value)));
    }
}

static void
write_class(const Flame *flame, guint32 index)
{
    static const char families[] = {[VIEW_PROGRAM] = 'p', [VIEW_LIBRARY] = 'l', [VIEW_SYSTEM] = 's'};
    const ViewNode *node = index ? view_node(flame->report->view, calltree_node(flame->tree, index)->node) : NULL;

    if (!node || node->origin == VIEW_UNRESOLVED) {
        writer_text(flame->writer, node ? "u" : "root");
        return;
    }
    writer_format(flame->writer, "%c%u", families[node->origin], g_str_hash(node->name) % FLAME_SHADES);
}

/* g1..g5 grew, d1..d5 shrank, n noise; the square root keeps smaller changes visible beside a huge one. */
static void
write_change_class(const Flame *flame, guint32 index)
{
    ProfileWeight weights[VIEW_N_SIDES];
    gdouble change;
    guint shade;

    node_weights(flame, index, weights);
    change = table_change(weights, flame->value);
    if (flame->largest_change == 0 || table_is_noise(weights, flame->value)) {
        writer_text(flame->writer, "n");
        return;
    }
    shade = (guint)ceil(sqrt(fabs(change) / flame->largest_change) * FLAME_SHADES);
    writer_format(flame->writer, "%c%u", change > 0 ? 'g' : 'd', CLAMP(shade, 1, FLAME_SHADES));
}

static void
write_amount(const Flame *flame, const char *before, ProfileValue value, gdouble amount, UnitsFlags flags)
{
    char buffer[UNITS_BUFFER];

    writer_text(flame->writer, before);
    writer_text(flame->writer, units_format(buffer, value, amount, flags));
}

/* Space and objects of the pair to which the chosen value belongs. */
static void
write_about_now(const Flame *flame, guint32 index)
{
    const ProfileWeight total = calltree_weight(flame->tree, index, VIEW_NOW);
    const ProfileWeight *self = calltree_self(flame->tree, index, VIEW_NOW);
    ProfileValue space = value_space(flame->value);
    ProfileValue objects = value_objects(flame->value);
    char percent[UNITS_BUFFER];

    if (flame->value != space && flame->value != objects) {
        writer_format(flame->writer, "\n%s ", report_value_name(flame->value));
        write_amount(flame, "", flame->value, table_shown(&total, flame->value), UNITS_PLAIN);
        write_amount(flame, " ± ", flame->value, table_shown_error(&total, flame->value), UNITS_PLAIN);
    }
    write_amount(flame, "\n", space, total.estimate[space], UNITS_PLAIN);
    write_amount(flame, " ± ", space, sqrt(total.variance[space]), UNITS_PLAIN);
    write_amount(flame, ", ", objects, total.estimate[objects], UNITS_PLAIN);
    writer_format(flame->writer, " objects (%s)",
                  units_percent(percent, total.estimate[flame->value], flame->extents[0]));
    if (self->estimate[flame->value] > 0)
        write_amount(flame, "\nself ", flame->value, table_shown(self, flame->value), UNITS_PLAIN);
}

static void
write_about_change(const Flame *flame, guint32 index)
{
    ProfileWeight weights[VIEW_N_SIDES];

    node_weights(flame, index, weights);
    write_amount(flame, "\n", flame->value, table_shown_change(weights, flame->value), UNITS_SIGNED);
    write_amount(flame, " ± ", flame->value, sqrt(table_shown_variance(weights, flame->value)), UNITS_PLAIN);
    if (table_shown_change(weights, flame->value) != 0 && table_is_noise(weights, flame->value))
        writer_text(flame->writer, " (noise)");
    write_amount(flame, "\nbefore ", flame->value, table_shown(&weights[VIEW_BASE], flame->value), UNITS_PLAIN);
    write_amount(flame, ", after ", flame->value, table_shown(&weights[VIEW_NOW], flame->value), UNITS_PLAIN);
}

/* The part of a name that fits, for viewers without scripts: the last component of a path. */
static void
write_label(const Flame *flame, const char *name, gdouble pixels)
{
    glong room = (glong)((pixels - 8) / FLAME_LETTER_WIDTH);
    const char *last = function_name_last(name);
    g_autofree char *label = NULL;

    if (room < 3)
        return;
    if (last != name && text_columns(name) > (guint)room)
        label = text_columns(last) + 2 <= (guint)room ? g_strconcat("..", last, NULL) : text_cut(last, (guint)room);
    else
        label = text_cut(name, (guint)room);
    writer_xml(flame->writer, label);
}

/* The full name if the first line has a shorter one, and the function's location. */
static void
write_place(const Flame *flame, guint32 index)
{
    const ViewNode *node = view_node(flame->report->view, calltree_node(flame->tree, index)->node);
    guint32 line = node->line ? node->line : node->start_line;

    if (!g_str_equal(node->name, node->display)) {
        writer_text(flame->writer, "\n");
        writer_xml(flame->writer, node->name);
    }
    if (!node->file && !node->object)
        return;
    writer_text(flame->writer, "\n");
    if (node->file) {
        writer_xml(flame->writer, node->file);
        if (line)
            writer_format(flame->writer, ":%u", line);
    }
    if (node->object) {
        writer_text(flame->writer, node->file ? " in " : "in ");
        writer_xml(flame->writer, node->object);
    }
}

static void
write_frame(const Flame *flame, guint32 index)
{
    Writer *writer = flame->writer;
    guint32 depth = calltree_node(flame->tree, index)->depth;
    gdouble left = flame->lefts[index] / flame->extents[0];
    gdouble width = flame->extents[index] / flame->extents[0];
    const char *name =
        index == 0 ? "all" : view_node(flame->report->view, calltree_node(flame->tree, index)->node)->display;

    writer_text(writer, "<g class=\"f ");
    if (flame->difference)
        write_change_class(flame, index);
    else
        write_class(flame, index);
    writer_format(writer, "\" data-d=\"%u\"><title>", depth);
    writer_xml(writer, name);
    if (index > 0)
        write_place(flame, index);
    if (flame->difference)
        write_about_change(flame, index);
    else
        write_about_now(flame, index);
    writer_text(writer, "</title><rect x=\"");
    writer_number(writer, left * 100, 5);
    writer_text(writer, "%\" width=\"");
    writer_number(writer, width * 100, 5);
    writer_format(writer, "%%\" y=\"%u\" height=\"%u\" rx=\"2\"/><text x=\"", depth * FLAME_ROW, FLAME_ROW);
    writer_number(writer, left * 100, 5);
    writer_format(writer, "%%\" dx=\"4\" y=\"%u\">", depth * FLAME_ROW + 13);
    write_label(flame, name, width * (FLAME_WIDTH - 2 * FLAME_MARGIN));
    writer_text(writer, "</text></g>\n");
}

static void
write_text_at(Writer *writer, const char *class, gint y, const char *text)
{
    writer_format(writer, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, FLAME_MARGIN, y);
    writer_xml(writer, text);
    writer_text(writer, "</text>\n");
}

static char *
describe_total(const Flame *flame)
{
    const ProfileWeight *now = view_total(flame->report->view, VIEW_NOW);
    char amount[UNITS_BUFFER], error[UNITS_BUFFER], change[UNITS_BUFFER];
    const char *name = report_value_name(flame->value);
    ProfileWeight weights[VIEW_N_SIDES];

    units_format(amount, flame->value, table_shown(now, flame->value), UNITS_PLAIN);
    if (!flame->difference)
        return g_strdup_printf("%s %s ± %s", name, amount,
                               units_format(error, flame->value, table_shown_error(now, flame->value), UNITS_PLAIN));
    node_weights(flame, 0, weights);
    return g_strdup_printf(
        "%s %s, change %s ± %s against %s", name, amount,
        units_format(change, flame->value, table_shown_change(weights, flame->value), UNITS_SIGNED),
        units_format(error, flame->value, sqrt(table_shown_variance(weights, flame->value)), UNITS_PLAIN),
        view_input(flame->report->view, VIEW_BASE)->name);
}

/* The total, then the notes, as lines that fit the image. */
static GStrv
note_lines(const Flame *flame)
{
    g_autoptr(GStrvBuilder) lines = g_strv_builder_new();
    g_autofree char *total = describe_total(flame);

    g_strv_builder_add(lines, total);
    for (const char *const *note = flame->report->options->notes; note && *note; note++) {
        g_auto(GStrv) wrapped = text_wrap(*note, FLAME_NOTE_COLUMNS);
        for (char **line = wrapped; *line; line++)
            g_strv_builder_add(lines, *line);
    }
    return g_strv_builder_end(lines);
}

static void
write_heading(const Flame *flame)
{
    gint y = 50;

    write_text_at(flame->writer, "title", 28, view_input(flame->report->view, VIEW_NOW)->name);
    for (char **line = flame->notes; *line; line++, y += FLAME_NOTE_ROW)
        write_text_at(flame->writer, "note", y, *line);
    write_text_at(flame->writer, "detail", (gint)flame->header - 14, "");
}

static void
write_controls(Writer *writer)
{
    gint right = FLAME_WIDTH - FLAME_MARGIN;

    writer_format(writer,
                  "<text class=\"button reset hidden\" x=\"%d\" y=\"29\" text-anchor=\"end\">Reset zoom</text>\n",
                  right - 232);
    writer_format(writer,
                  "<foreignObject class=\"hidden\" x=\"%d\" y=\"10\" width=\"220\" height=\"30\"><input "
                  "xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\" placeholder=\"Search: regular expression ( / "
                  ")\" aria-label=\"Search\"/></foreignObject>\n",
                  right - 220);
    writer_format(writer, "<text class=\"note matched\" x=\"%d\" y=\"56\" text-anchor=\"end\"></text>\n", right);
}

typedef struct {
    const char *class, *text;
} LegendEntry;

static void
write_legend(const Flame *flame, gint y)
{
    static const LegendEntry kinds[] = {
        {"p0", "program"}, {"l0", "libraries"}, {"s0", "system libraries"}, {"u", "unresolved"}, {NULL, NULL}};
    static const LegendEntry changes[] = {
        {"g4", "grew"}, {"d4", "shrank"}, {"n", "within sampling noise"}, {NULL, NULL}};
    gint x = FLAME_MARGIN;

    for (const LegendEntry *entry = flame->difference ? changes : kinds; entry->class; entry++) {
        writer_format(flame->writer,
                      "<g class=\"legend %s\"><rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" rx=\"2\"/><text "
                      "x=\"%d\" y=\"%d\">%s</text></g>\n",
                      entry->class, x, y, x + 18, y + 10, entry->text);
        x += 18 + 7 * (gint)strlen(entry->text) + 14;
    }
}

static void
write_svg(const Flame *flame)
{
    Writer *writer = flame->writer;
    guint height = flame->header + flame->depth * FLAME_ROW + FLAME_FOOTER;

    writer_format(writer,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
                  "<svg class=\"jescope\" version=\"1.1\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" "
                  "xmlns=\"http://www.w3.org/2000/svg\" data-unit=\"%s\" data-total=\"",
                  FLAME_WIDTH, height, FLAME_WIDTH, height, value_is_space(flame->value) ? "bytes" : "objects");
    writer_number(writer, flame->extents[0], 0);
    writer_text(writer, "\">\n<style><![CDATA[\n");
    report_resource_write(writer, "flamegraph.css");
    writer_text(writer, "]]></style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n");
    write_heading(flame);
    write_controls(writer);
    writer_format(writer, "<svg class=\"pane\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%u\">\n", FLAME_MARGIN,
                  (gint)flame->header, FLAME_WIDTH - 2 * FLAME_MARGIN, flame->depth * FLAME_ROW + 2);
    if (flame->extents[0] > 0)
        /* Depth first; the script finds parents by this order. Descendants of a node below the threshold are below it
         * too. */
        for (guint32 at = 0; at != PROFILE_NONE; at = calltree_next(flame->tree, at))
            if (flame->extents[at] >= flame->threshold)
                write_frame(flame, at);
    writer_text(writer, "</svg>\n");
    write_legend(flame, (gint)(height - 22));
    if (flame->extents[0] > 0) {
        writer_text(writer, "<script><![CDATA[\n");
        report_resource_write(writer, "flamegraph.js");
        writer_text(writer, "]]></script>\n");
    } else {
        write_text_at(writer, "note", (gint)flame->header + 14, "nothing to show");
    }
    writer_text(writer, "</svg>\n");
}

gboolean
flamegraph_write(const Report *report, Writer *writer, GError **error)
{
    const ReportOptions *options = report->options;
    CallTreeOrder order = options->flags & REPORT_CALLERS ? CALLTREE_BOTTOM_UP : CALLTREE_TOP_DOWN;
    g_autoptr(CallTree) tree = calltree_new(report->view, order, options->value);
    Flame flame = {.report = report, .tree = tree, .writer = writer, .value = options->value, .depth = 1};

    flame.difference = view_n_sides(report->view) == 2;
    measure(&flame);
    flame.threshold = (options->min_fraction >= 0 ? options->min_fraction : FLAME_DEFAULT_FRACTION) * flame.extents[0];
    survey(&flame);
    flame.notes = note_lines(&flame);
    flame.header = FLAME_HEADER + (g_strv_length(flame.notes) - 1) * FLAME_NOTE_ROW;
    write_svg(&flame);
    g_strfreev(flame.notes);
    g_free(flame.extents);
    g_free(flame.lefts);
    return TRUE;
}
