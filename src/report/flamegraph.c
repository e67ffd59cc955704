/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame graph as one SVG file: complete without scripts, interactive with them (flamegraph.js). The outermost frame
 * is on top; width is memory. A difference is as wide as the larger of before and after, so that what went away is
 * still there to see, and coloured by the change.
 */
#include "report/calltree.h"
#include "report/format.h"
#include "report/resources.h"
#include "report/table.h"
#include "report/units.h"

#include <math.h>
#include <string.h>

#define FLAME_DEFAULT_FRACTION 0.0005

enum {
    FLAME_WIDTH = 1200,
    FLAME_MARGIN = 10,
    FLAME_ROW = 19,
    FLAME_HEADER = 92,
    FLAME_FOOTER = 34,
    FLAME_SHADES = 5,
};

/* Of the monospaced 12px label font; scripts measure it, without them this has to do. */
#define FLAME_LETTER_WIDTH 7.2

typedef struct {
    const Report *report;
    const CallTree *tree;
    Writer *writer;
    gdouble *extents; /* per tree node: the width it takes, in the unit of the value */
    gdouble *lefts;   /* per tree node: the sum of extents left of it */
    gdouble threshold;
    gdouble largest_change;
    gboolean difference;
    ProfileValue value;
    guint32 depth;
} Flame;

/* Additive, unlike calltree_extent(): the larger side is chosen where a stack ends. */
static void
measure(Flame *flame)
{
    const CallTree *tree = flame->tree;
    guint32 n = tree->nodes->len;

    flame->extents = g_new0(gdouble, n);
    flame->lefts = g_new0(gdouble, n);
    for (guint32 i = n; i-- > 0;) {
        gdouble base = flame->difference ? tree->self[VIEW_BASE][i].estimate[flame->value] : 0;
        flame->extents[i] += MAX(tree->self[VIEW_NOW][i].estimate[flame->value], base);
        if (i > 0)
            flame->extents[calltree_node(tree, i)->parent] += flame->extents[i];
    }
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
    memset(weights, 0, VIEW_N_SIDES * sizeof(ProfileWeight));
    for (guint side = 0; side < view_n_sides(flame->report->view); side++)
        weights[side] = flame->tree->total[side][index];
}

static void
survey(Flame *flame)
{
    for (guint32 i = 0; i < flame->tree->nodes->len; i++) {
        ProfileWeight weights[VIEW_N_SIDES];
        if (flame->extents[i] < flame->threshold)
            continue;
        node_weights(flame, i, weights);
        flame->depth = MAX(flame->depth, calltree_node(flame->tree, i)->depth + 1);
        if (i > 0)
            flame->largest_change = MAX(flame->largest_change, fabs(table_change(weights, flame->value)));
    }
}

static const char *
frame_name(const Flame *flame, guint32 index)
{
    return index == 0 ? "all" : view_node(flame->report->view, calltree_node(flame->tree, index)->node)->name;
}

static gboolean
is_system_object(const char *path)
{
    static const char *const names[] = {"libc.so",  "libc-",   "libstdc++", "libpthread",
                                        "ld-linux", "libm.so", "libgcc_s"};
    const char *slash = strrchr(path, '/');

    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_str_has_prefix(slash ? slash + 1 : path, names[i]))
            return TRUE;
    return FALSE;
}

static void
write_class(const Flame *flame, guint32 index)
{
    const ViewNode *node = index ? view_node(flame->report->view, calltree_node(flame->tree, index)->node) : NULL;
    char family = 'p';

    if (!node || !node->known) {
        writer_text(flame->writer, node ? "u" : "root");
        return;
    }
    if (node->object && is_system_object(node->object))
        family = 's';
    else if (node->object && strstr(node->object, ".so"))
        family = 'l';
    writer_format(flame->writer, "%c%u", family, g_str_hash(node->name) % FLAME_SHADES);
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

/* Space and objects of the pair that the chosen value belongs to. */
static void
write_about_now(const Flame *flame, guint32 index)
{
    const ProfileWeight *total = &flame->tree->total[VIEW_NOW][index];
    const ProfileWeight *self = &flame->tree->self[VIEW_NOW][index];
    ProfileValue space = flame->value | 1;
    ProfileValue objects = space - 1;
    char percent[UNITS_BUFFER];

    write_amount(flame, "\n", space, total->estimate[space], UNITS_PLAIN);
    write_amount(flame, " ± ", space, sqrt(total->variance[space]), UNITS_PLAIN);
    write_amount(flame, ", ", objects, total->estimate[objects], UNITS_PLAIN);
    writer_format(flame->writer, " objects (%s)",
                  units_percent(percent, total->estimate[flame->value], flame->extents[0]));
    if (self->estimate[flame->value] > 0)
        write_amount(flame, "\nself ", flame->value, self->estimate[flame->value], UNITS_PLAIN);
}

static void
write_about_change(const Flame *flame, guint32 index)
{
    ProfileWeight weights[VIEW_N_SIDES];

    node_weights(flame, index, weights);
    write_amount(flame, "\n", flame->value, table_change(weights, flame->value), UNITS_SIGNED);
    write_amount(flame, " ± ", flame->value, sqrt(table_variance(weights, flame->value)), UNITS_PLAIN);
    if (table_change(weights, flame->value) != 0 && table_is_noise(weights, flame->value))
        writer_text(flame->writer, " (noise)");
    write_amount(flame, "\nbefore ", flame->value, weights[VIEW_BASE].estimate[flame->value], UNITS_PLAIN);
    write_amount(flame, ", after ", flame->value, weights[VIEW_NOW].estimate[flame->value], UNITS_PLAIN);
}

/* As much of a name as fits, for viewers without scripts. */
static void
write_label(const Flame *flame, const char *name, gdouble pixels)
{
    glong room = (glong)((pixels - 8) / FLAME_LETTER_WIDTH);
    g_autofree char *cut = NULL;

    if (room < 3)
        return;
    if (g_utf8_strlen(name, -1) > room) {
        cut = g_utf8_substring(name, 0, room - 2);
        writer_xml(flame->writer, cut);
        writer_text(flame->writer, "..");
    } else {
        writer_xml(flame->writer, name);
    }
}

static void
write_frame(const Flame *flame, guint32 index)
{
    Writer *writer = flame->writer;
    guint32 depth = calltree_node(flame->tree, index)->depth;
    gdouble left = flame->lefts[index] / flame->extents[0];
    gdouble width = flame->extents[index] / flame->extents[0];
    const char *name = frame_name(flame, index);

    writer_text(writer, "<g class=\"f ");
    if (flame->difference)
        write_change_class(flame, index);
    else
        write_class(flame, index);
    writer_format(writer, "\" data-d=\"%u\"><title>", depth);
    writer_xml(writer, name);
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

/* Depth first; the script finds parents by that order. What is below the threshold has nothing above it below itself.
 */
static void
write_frames(const Flame *flame)
{
    for (guint32 at = 0; at != PROFILE_NONE; at = calltree_next(flame->tree, at))
        if (flame->extents[at] >= flame->threshold)
            write_frame(flame, at);
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

    units_format(amount, flame->value, now->estimate[flame->value], UNITS_PLAIN);
    if (!flame->difference)
        return g_strdup_printf("%s %s ± %s", name, amount,
                               units_format(error, flame->value, sqrt(now->variance[flame->value]), UNITS_PLAIN));
    node_weights(flame, 0, weights);
    return g_strdup_printf("%s %s, change %s ± %s against %s", name, amount,
                           units_format(change, flame->value, table_change(weights, flame->value), UNITS_SIGNED),
                           units_format(error, flame->value, sqrt(table_variance(weights, flame->value)), UNITS_PLAIN),
                           view_input(flame->report->view, VIEW_BASE)->name);
}

static void
write_heading(const Flame *flame)
{
    g_autofree char *total = describe_total(flame);
    g_autoptr(GString) line = g_string_new(total);

    for (const char *const *note = flame->report->options->notes; note && *note; note++)
        g_string_append_printf(line, " · %s", *note);
    write_text_at(flame->writer, "title", 28, view_input(flame->report->view, VIEW_NOW)->name);
    write_text_at(flame->writer, "note", 50, line->str);
    write_text_at(flame->writer, "detail", 78, "");
}

static void
write_controls(Writer *writer)
{
    gint right = FLAME_WIDTH - FLAME_MARGIN;

    writer_format(writer,
                  "<text class=\"button reset hidden\" x=\"%d\" y=\"29\" text-anchor=\"end\">Reset zoom</text>\n",
                  right - 232);
    writer_format(
        writer,
        "<foreignObject class=\"hidden\" x=\"%d\" y=\"10\" width=\"220\" height=\"30\">"
        "<input xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\" placeholder=\"Search: regular expression "
        "( / )\" aria-label=\"Search\"/></foreignObject>\n",
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
        {"p0", "program"}, {"l0", "libraries"}, {"s0", "system libraries"}, {"u", "no name"}, {NULL, NULL}};
    static const LegendEntry changes[] = {{"g4", "grew"}, {"d4", "shrank"}, {"n", "no more than noise"}, {NULL, NULL}};
    gint x = FLAME_MARGIN;

    for (const LegendEntry *entry = flame->difference ? changes : kinds; entry->class; entry++) {
        writer_format(flame->writer,
                      "<g class=\"legend %s\"><rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" rx=\"2\"/>"
                      "<text x=\"%d\" y=\"%d\">%s</text></g>\n",
                      entry->class, x, y, x + 18, y + 10, entry->text);
        x += 18 + 7 * (gint)strlen(entry->text) + 14;
    }
}

static void
write_svg(const Flame *flame)
{
    Writer *writer = flame->writer;
    guint height = FLAME_HEADER + flame->depth * FLAME_ROW + FLAME_FOOTER;

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
                  FLAME_HEADER, FLAME_WIDTH - 2 * FLAME_MARGIN, flame->depth * FLAME_ROW + 2);
    if (flame->extents[0] > 0)
        write_frames(flame);
    writer_text(writer, "</svg>\n");
    write_legend(flame, (gint)(height - 22));
    if (flame->extents[0] > 0) {
        writer_text(writer, "<script><![CDATA[\n");
        report_resource_write(writer, "flamegraph.js");
        writer_text(writer, "]]></script>\n");
    } else {
        write_text_at(writer, "note", FLAME_HEADER + 14, "nothing was sampled");
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
    write_svg(&flame);
    g_free(flame.extents);
    g_free(flame.lefts);
    return TRUE;
}
