/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page-graph.h"

#include "report/table.h"

#include <math.h>

#define KEY_PRIME G_GUINT64_CONSTANT(0x100000001b3)

/* A run that is smaller than the one above by this factor was too narrow to be clicked there. */
static const gdouble NARROWER = 8192;

/* A frame of the tree: the one at OFFSET of a run. The root, which has no frame, is at offset 0 of run 0. */
typedef struct {
    guint32 run, offset;
} Place;

typedef struct {
    Place place;
    guint32 parent;       /* row; PROFILE_NONE: none */
    guint32 n_hidden;     /* omitted non-empty children */
    gdouble hidden_total; /* their extents */
} Row;

struct PageGraph {
    const PageTree *tree;
    const PageNames *names;
    PageGraphOptions options;
    gboolean found;    /* the frame to zoom into */
    Place top;         /* that frame, or the root */
    guint32 n_below;   /* non-empty frames below it */
    gdouble narrowest; /* the smallest extent shown; 0 if all are empty */
    GArray *rows;      /* Row: from the root to the top, then below it, depth first */
    guint32 n_path;    /* rows above the top */
};

static const PageRun *
run_of(const PageGraph *graph, Place place)
{
    return &graph->tree->runs[place.run];
}

static gdouble
extent_of(const PageGraph *graph, Place place)
{
    return page_tree_extent(graph->tree, place.run);
}

static gboolean
is_last(const PageGraph *graph, Place place)
{
    return place.run == 0 || place.offset + 1 == run_of(graph, place)->n;
}

static guint32
level_of(const PageGraph *graph, Place place)
{
    const PageRun *run = run_of(graph, place);

    return place.run == 0 ? 0 : run->depth - (run->n - 1 - place.offset);
}

static Place
caller_of(const PageGraph *graph, Place place)
{
    const PageRun *run = run_of(graph, place);

    if (place.offset > 0)
        return (Place){place.run, place.offset - 1};
    guint32 above = graph->tree->runs[run->parent].n;
    return (Place){run->parent, above > 0 ? above - 1 : 0};
}

/* ---- zoom ---- */

guint64
page_graph_key(guint64 caller, guint64 hash)
{
    return (caller ^ hash) * KEY_PRIME;
}

/* TRUE: the key of a frame of RUN is the requested one; else *KEY becomes that of the last frame. */
static gboolean
find_in_run(const PageGraph *graph, Place *place, guint64 *key)
{
    const PageRun *run = run_of(graph, *place);
    const guint32 *labels = graph->tree->labels + run->first;

    for (guint32 i = 0; i < run->n; i++) {
        *key = page_graph_key(*key, graph->names->names[labels[i]].hash);
        if (*key == graph->options.zoom) {
            place->offset = i;
            return TRUE;
        }
    }
    return FALSE;
}

/* Searches the runs that are at least LEAST wide. KEYS: room for one per run. */
static gboolean
find_wide(const PageGraph *graph, gdouble least, guint64 *keys, Place *found)
{
    const PageTree *tree = graph->tree;

    keys[0] = PAGE_GRAPH_ROOT;
    for (guint32 at = 1; at < tree->n_runs;) {
        if (page_tree_extent(tree, at) < least) {
            at = tree->runs[at].after;
            continue;
        }
        *found = (Place){at, 0};
        keys[at] = keys[tree->runs[at].parent];
        if (find_in_run(graph, found, &keys[at]))
            return TRUE;
        at++;
    }
    return FALSE;
}

/* The frame was displayed before, so it is probably wide: most of the tree need not be searched. */
static gboolean
find_key(const PageGraph *graph, Place *found)
{
    g_autofree guint64 *keys = g_new(guint64, graph->tree->n_runs);
    gdouble whole = page_tree_extent(graph->tree, 0);

    return find_wide(graph, whole / NARROWER, keys, found) ||
           find_wide(graph, whole / NARROWER / NARROWER, keys, found) || find_wide(graph, -G_MAXDOUBLE, keys, found);
}

static void
find_top(PageGraph *graph)
{
    Place found = {0, 0};

    graph->found = graph->options.zoom == 0 || find_key(graph, &found);
    graph->top = graph->found ? found : (Place){0, 0};
    const PageRun *run = run_of(graph, graph->top);
    graph->n_below = run->below;
    if (run->n > 0 && extent_of(graph, graph->top) > 0)
        graph->n_below += run->n - 1 - graph->top.offset;
}

/* ---- rows ---- */

static void
add_path(PageGraph *graph)
{
    guint32 depth = level_of(graph, graph->top);
    Place at = graph->top;

    g_array_set_size(graph->rows, depth + 1);
    for (guint32 i = depth + 1; i-- > 0; at = i > 0 ? caller_of(graph, at) : at)
        g_array_index(graph->rows, Row, i) = (Row){.place = at, .parent = i > 0 ? i - 1 : PROFILE_NONE};
    graph->n_path = depth;
}

static void
hide(PageGraph *graph, guint32 parent, Place place)
{
    Row *row = &g_array_index(graph->rows, Row, parent);
    gdouble extent = extent_of(graph, place);

    row->n_hidden += extent > 0;
    row->hidden_total += extent;
}

/* Adds a row for PLACE; PROFILE_NONE: it is hidden. */
static guint32
show(PageGraph *graph, guint32 parent, Place place)
{
    gdouble extent = extent_of(graph, place);

    if (extent <= 0 || extent < graph->narrowest || level_of(graph, place) - graph->n_path > graph->options.depth) {
        hide(graph, parent, place);
        return PROFILE_NONE;
    }
    const Row row = {.place = place, .parent = parent};
    g_array_append_val(graph->rows, row);
    return graph->rows->len - 1;
}

/* Adds the rest of a run from OFFSET on below the row ABOVE; returns its last row, PROFILE_NONE: hidden. */
static guint32
show_run(PageGraph *graph, guint32 run, guint32 offset, guint32 above)
{
    for (; above != PROFILE_NONE && offset < graph->tree->runs[run].n; offset++)
        above = show(graph, above, (Place){run, offset});
    return above;
}

/* Depth first, so that the row of a parent is found by going up. FALSE: there would be more than rows_max. */
static gboolean
add_rows(PageGraph *graph)
{
    const PageTree *tree = graph->tree;
    const PageRun *top = run_of(graph, graph->top);
    guint32 limit = MAX(graph->options.rows_max, graph->n_path + 1);
    guint32 last = graph->n_path; /* row */

    if (!is_last(graph, graph->top))
        last = show_run(graph, graph->top.run, graph->top.offset + 1, last);
    for (guint32 at = last == PROFILE_NONE ? top->after : graph->top.run + 1; at < top->after;) {
        while (g_array_index(graph->rows, Row, last).place.run != tree->runs[at].parent)
            last = g_array_index(graph->rows, Row, last).parent;
        guint32 shown = show_run(graph, at, 0, last);
        if (graph->rows->len > limit)
            return FALSE;
        last = shown != PROFILE_NONE ? shown : last;
        at = shown != PROFILE_NONE ? at + 1 : tree->runs[at].after;
    }
    return graph->rows->len <= limit;
}

PageGraph *
page_graph_new(const PageTree *tree, const PageNames *names, const PageGraphOptions *options)
{
    enum { DOUBLED_MOST = 32 };
    PageGraph *graph = g_new0(PageGraph, 1);
    gdouble factor = 2;

    graph->tree = tree;
    graph->names = names;
    graph->options = *options;
    graph->rows = g_array_new(FALSE, TRUE, sizeof(Row));
    find_top(graph);
    graph->narrowest = extent_of(graph, graph->top) / options->width;
    add_path(graph);
    for (guint doubled = 0; !add_rows(graph); doubled++) {
        /* A damaged tree may need more than a thousand doublings, each of which takes as long as the file is. */
        factor *= doubled < DOUBLED_MOST ? 1 : factor;
        graph->narrowest = graph->narrowest > 0 ? graph->narrowest * factor : 1;
        add_path(graph);
    }
    return graph;
}

void
page_graph_free(PageGraph *graph)
{
    g_array_unref(graph->rows);
    g_free(graph);
}

/* ---- columns ---- */

static void
write_parent(const PageGraph *graph, const Row *row, Writer *writer)
{
    writer_integer(writer, row->parent == PROFILE_NONE ? -1 : (gint64)row->parent);
}

static void
write_level(const PageGraph *graph, const Row *row, Writer *writer)
{
    writer_integer(writer, level_of(graph, row->place));
}

static const PageWeight *
weight_of(const PageGraph *graph, const Row *row, ViewSide side)
{
    return &graph->tree->sides[side][row->place.run];
}

static void
write_total(const PageGraph *graph, const Row *row, Writer *writer)
{
    writer_amount(writer, weight_of(graph, row, VIEW_NOW)->total);
}

static void
write_self(const PageGraph *graph, const Row *row, Writer *writer)
{
    gboolean ends = is_last(graph, row->place);

    writer_amount(writer, ends ? page_tree_self(graph->tree, row->place.run, VIEW_NOW).total : 0);
}

static void
write_error(const PageGraph *graph, const Row *row, Writer *writer)
{
    writer_amount(writer, sqrt(weight_of(graph, row, VIEW_NOW)->variance));
}

static void
write_other(const PageGraph *graph, const Row *row, Writer *writer)
{
    writer_amount(writer, graph->tree->others[row->place.run]);
}

static void
write_extent(const PageGraph *graph, const Row *row, Writer *writer)
{
    writer_amount(writer, extent_of(graph, row->place));
}

static void
write_base(const PageGraph *graph, const Row *row, Writer *writer)
{
    writer_amount(writer, weight_of(graph, row, VIEW_BASE)->total);
}

static void
write_base_error(const PageGraph *graph, const Row *row, Writer *writer)
{
    writer_amount(writer, sqrt(weight_of(graph, row, VIEW_BASE)->variance));
}

static void
write_significance(const PageGraph *graph, const Row *row, Writer *writer)
{
    const PageWeight *now = weight_of(graph, row, VIEW_NOW);
    const PageWeight *base = weight_of(graph, row, VIEW_BASE);

    table_write_significance(writer, now->total - base->total, now->variance + base->variance);
}

static const struct {
    const char *name;
    void (*write)(const PageGraph *graph, const Row *row, Writer *writer);
    gboolean of_difference;
} columns[] = {
    {"parent", write_parent, FALSE},        {"level", write_level, FALSE},
    {"total", write_total, FALSE},          {"self", write_self, FALSE},
    {"error", write_error, FALSE},          {"other", write_other, FALSE},
    {"extent", write_extent, TRUE},         {"base", write_base, TRUE},
    {"base_error", write_base_error, TRUE}, {"significance", write_significance, TRUE},
};

static const Row *
row_at(const PageGraph *graph, guint i)
{
    return &g_array_index(graph->rows, Row, i);
}

static void
write_columns(const PageGraph *graph, Writer *writer)
{
    for (guint column = 0; column < G_N_ELEMENTS(columns); column++) {
        if (columns[column].of_difference && graph->tree->n_sides < 2)
            continue;
        writer_format(writer, ",\n\"%s\":[", columns[column].name);
        for (guint i = 0; i < graph->rows->len; i++) {
            writer_text(writer, i ? "," : "");
            columns[column].write(graph, row_at(graph, i), writer);
        }
        writer_text(writer, "]");
    }
}

static void
write_frames(const PageGraph *graph, PageFrames *frames, Writer *writer)
{
    writer_text(writer, ",\n\"frame\":[");
    for (guint i = 0; i < graph->rows->len; i++) {
        Place place = row_at(graph, i)->place;
        gint64 number =
            place.run == 0
                ? -1
                : (gint64)page_frames_number(frames, graph->tree->labels[run_of(graph, place)->first + place.offset]);
        writer_text(writer, i ? "," : "");
        writer_integer(writer, number);
    }
    writer_text(writer, "]");
}

static void
write_hidden_row(const Row *row, guint i, Writer *writer)
{
    writer_integer(writer, i);
}

static void
write_hidden_count(const Row *row, guint i, Writer *writer)
{
    writer_integer(writer, row->n_hidden);
}

static void
write_hidden_total(const Row *row, guint i, Writer *writer)
{
    writer_amount(writer, row->hidden_total);
}

static void
write_hidden(const PageGraph *graph, Writer *writer)
{
    static const struct {
        const char *begin;
        void (*write)(const Row *row, guint i, Writer *writer);
    } parts[] = {{",\n\"hidden\":{\"row\":[", write_hidden_row},
                 {"],\"count\":[", write_hidden_count},
                 {"],\"total\":[", write_hidden_total}};

    for (guint part = 0; part < G_N_ELEMENTS(parts); part++) {
        const char *separator = "";
        writer_text(writer, parts[part].begin);
        for (guint i = 0; i < graph->rows->len; i++) {
            if (row_at(graph, i)->n_hidden == 0)
                continue;
            writer_text(writer, separator);
            parts[part].write(row_at(graph, i), i, writer);
            separator = ",";
        }
    }
    writer_text(writer, "]}");
}

void
page_graph_write(const PageGraph *graph, const char *name, PageFrames *frames, Writer *writer)
{
    guint32 n_shown = graph->rows->len - graph->n_path - 1;

    writer_format(writer, "\"%s\":{\"found\":%s,\"width\":%u,\"depth\":%u,\"path\":%u,\"nodes\":%u,\"hidden_nodes\":%u",
                  name, graph->found ? "true" : "false", graph->options.width, graph->options.depth, graph->n_path,
                  graph->n_below, graph->n_below - n_shown);
    writer_text(writer, ",\"narrowest\":");
    writer_amount(writer, graph->narrowest);
    write_columns(graph, writer);
    write_frames(graph, frames, writer);
    write_hidden(graph, writer);
    writer_text(writer, "}");
}
