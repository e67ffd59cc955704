/* SPDX-License-Identifier: Apache-2.0 */
/* The call graph in DOT (https://graphviz.org/doc/info/lang.html). */
#include "report/callgraph.h"
#include "report/format.h"
#include "report/layout.h"
#include "report/units.h"
#include "text/printable.h"

#include <math.h>
#include <string.h>

enum {
    DOT_SHADES = 5,
    DOT_LINE_WIDTH = 32, /* characters of a name before it is broken */
    DOT_NOTE_COLUMNS = 110,
};

typedef struct {
    const Report *report;
    const CallGraph *graph;
    Writer *writer;
    ProfileValue value;
    gboolean difference;
    gdouble total;
} Dot;

/* Light to strong; growth and shrinking as in flame graphs. dot-dark.css has the same classes for dark screens. */
static const char *const fills[] = {"#fff7ec", "#fee8c8", "#fdd49e", "#fdbb84", "#fc8d59"};
static const char *const shrink_fills[] = {"#eff6ff", "#d3e4fb", "#afcff7", "#86b4f0", "#5b95e5"};

static guint
shade_of(const Dot *dot, gdouble amount)
{
    guint shade = dot->total > 0 ? (guint)(sqrt(fabs(amount) / dot->total) * DOT_SHADES) : 0;

    return MIN(shade, DOT_SHADES - 1);
}

/* A name split into lines short enough for a box, after "::" if possible. */
static void
write_name(Writer *writer, const char *name)
{
    guint column = 0;

    for (const char *c = name; *c; c++) {
        gboolean joint = c - name >= 2 && c[-1] == ':' && c[-2] == ':';
        gboolean starts = ((guchar)*c & 0xc0) != 0x80;
        if (starts && ((joint && column > DOT_LINE_WIDTH / 2) || column >= DOT_LINE_WIDTH)) {
            writer_text(writer, "\\n");
            column = 0;
        }
        if (*c == '"' || *c == '\\')
            writer_text(writer, "\\");
        writer_data(writer, c, 1);
        column += starts;
    }
}

static void
write_quoted(Writer *writer, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            writer_text(writer, "\\");
        writer_data(writer, text, 1);
    }
}

static void
write_amount(const Dot *dot, const ProfileWeight weights[VIEW_N_SIDES])
{
    UnitsFlags flags = dot->difference ? UNITS_SIGNED : UNITS_PLAIN;
    char buffer[UNITS_BUFFER];

    writer_text(dot->writer, units_format(buffer, dot->value, table_shown_change(weights, dot->value), flags));
}

static void
write_share(const Dot *dot, const ProfileWeight weights[VIEW_N_SIDES])
{
    char buffer[UNITS_BUFFER];

    write_amount(dot, weights);
    writer_format(dot->writer, " (%s)", units_percent(buffer, table_change(weights, dot->value), dot->total));
}

static void
write_node(const Dot *dot, const TableRow *row)
{
    const ViewNode *node = view_node(dot->report->view, row->node);
    gdouble flat = table_change(row->flat, dot->value);
    gdouble cumulative = table_change(row->cumulative, dot->value);
    guint shade = shade_of(dot, cumulative);
    gdouble size = 9 + (dot->total > 0 ? 22 * sqrt(fabs(flat) / dot->total) : 0);

    writer_format(dot->writer, "  n%u [label=\"", row->node);
    write_name(dot->writer, node->display);
    writer_text(dot->writer, "\\n");
    if (flat != 0)
        write_share(dot, row->flat);
    else
        writer_text(dot->writer, "0");
    if (flat != cumulative) {
        writer_text(dot->writer, "\\nof ");
        write_share(dot, row->cumulative);
    }
    writer_text(dot->writer, "\", tooltip=\"");
    write_quoted(dot->writer, node->name);
    writer_text(dot->writer, "\", fontsize=");
    writer_number(dot->writer, MIN(size, 31), 1);
    writer_format(dot->writer, ", fillcolor=\"%s\", class=\"%c%u\"];\n",
                  cumulative < 0 ? shrink_fills[shade] : fills[shade], cumulative < 0 ? 'd' : 'g', shade + 1);
}

static void
write_edge(const Dot *dot, const CallEdge *edge)
{
    gdouble amount = table_change(edge->weight, dot->value);
    gdouble share = dot->total > 0 ? MIN(fabs(amount) / dot->total, 1) : 0;

    writer_format(dot->writer, "  n%u -> n%u [label=\" ", edge->caller, edge->callee);
    write_amount(dot, edge->weight);
    writer_text(dot->writer, "\", penwidth=");
    writer_number(dot->writer, 0.8 + 5 * share, 2);
    writer_format(dot->writer, ", weight=%u%s, tooltip=\"", (guint)(1 + 100 * share),
                  edge->indirect ? ", style=dashed" : "");
    write_quoted(dot->writer, view_node(dot->report->view, edge->caller)->name);
    writer_text(dot->writer, " -> ");
    write_quoted(dot->writer, view_node(dot->report->view, edge->callee)->name);
    writer_text(dot->writer, "\"];\n");
}

static void
write_title(const Dot *dot)
{
    const ReportInput *now = view_input(dot->report->view, VIEW_NOW);
    char amount[UNITS_BUFFER];

    writer_text(dot->writer, "  graph [label=\"");
    write_quoted(dot->writer, now->name);
    if (dot->difference) {
        writer_text(dot->writer, " against ");
        write_quoted(dot->writer, view_input(dot->report->view, VIEW_BASE)->name);
    }
    writer_format(dot->writer, "\\l%s %s\\l", report_value_name(dot->value),
                  units_format(amount, dot->value, table_shown(view_total(dot->report->view, VIEW_NOW), dot->value),
                               UNITS_PLAIN));
    for (const char *const *note = dot->report->options->notes; note && *note; note++) {
        g_auto(GStrv) lines = text_wrap(*note, DOT_NOTE_COLUMNS);
        for (char **line = lines; *line; line++) {
            write_quoted(dot->writer, *line);
            writer_text(dot->writer, "\\l");
        }
    }
    if (dot->graph->rows->len == 0)
        writer_text(dot->writer, "nothing was sampled\\l");
    writer_text(dot->writer, "\", labelloc=t, labeljust=l, fontname=\"" LAYOUT_FONT
                             "\", fontsize=13, nodesep=0.25, ranksep=0.45, bgcolor=\"#ffffff\"];\n");
}

gboolean
dot_write(const Report *report, Writer *writer, GError **error)
{
    g_autoptr(CallGraph) graph = callgraph_new(report->view, report->options);
    Dot dot = {.report = report, .graph = graph, .writer = writer, .value = report->options->value};

    dot.difference = view_n_sides(report->view) == 2;
    dot.total = view_total(report->view, VIEW_NOW)->estimate[dot.value];
    writer_text(writer, "digraph jescope {\n");
    write_title(&dot);
    writer_text(
        writer,
        "  node [shape=box, style=\"filled,rounded\", color=\"#9aa4b2\", fontcolor=\"#1d2129\", fontname=\"" LAYOUT_FONT
        "\", margin=\"0.12,0.06\"];\n"
        "  edge [color=\"#667085\", fontcolor=\"#475467\", fontname=\"" LAYOUT_FONT
        "\", fontsize=9, arrowsize=0.7];\n");
    for (guint i = 0; i < graph->rows->len; i++)
        write_node(&dot, &g_array_index(graph->rows, TableRow, i));
    for (guint i = 0; i < graph->edges->len; i++)
        write_edge(&dot, &g_array_index(graph->edges, CallEdge, i));
    writer_text(writer, "}\n");
    return TRUE;
}
