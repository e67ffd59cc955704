/* SPDX-License-Identifier: Apache-2.0 */
#include "report/callgraph.h"
#include "confine/keyed-hash.h"
#include "profile/weight.h"

#include <math.h>

#define DEFAULT_NODE_FRACTION 0.005
#define DEFAULT_EDGE_FRACTION 0.001

enum { DEFAULT_NODES = 80 };

typedef struct {
    GArray *edges;
    GArray *last_seen; /* guint64 per edge: the last stack it was counted for */
    GHashTable *index; /* caller << 32 | callee -> edge + 1 */
    gboolean *kept;
    guint64 stacks;
} Build;

/* The significance of a weight for the selection of nodes: the change, or the value itself. */
static gdouble
magnitude(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value)
{
    return fabs(table_change(weights, value));
}

static gdouble
magnitude_of_total(const View *view, ProfileValue value)
{
    gdouble now = view_total(view, VIEW_NOW)->estimate[value];

    return view_n_sides(view) == 2 ? MAX(now, view_total(view, VIEW_BASE)->estimate[value]) : now;
}

static void
keep_rows(CallGraph *graph, const View *view, const ReportOptions *options, gdouble total)
{
    gdouble fraction = options->min_fraction >= 0 ? options->min_fraction : DEFAULT_NODE_FRACTION;
    guint32 limit = options->limit ? options->limit : DEFAULT_NODES;
    ReportOptions by_weight = *options;
    guint kept = 0;

    by_weight.sort = REPORT_SORT_CUMULATIVE;
    graph->rows = table_new(view, &by_weight);
    for (guint i = 0; i < graph->rows->len && kept < limit; i++) {
        TableRow *row = &g_array_index(graph->rows, TableRow, i);
        gdouble weight = magnitude(row->cumulative, options->value);
        if (weight > 0 && weight >= fraction * total)
            g_array_index(graph->rows, TableRow, kept++) = *row;
    }
    g_array_set_size(graph->rows, kept);
}

static CallEdge *
get_edge(Build *build, guint32 caller, guint32 callee, guint64 **last_seen)
{
    gint64 key = (gint64)((guint64)caller << 32 | callee);
    guint index = GPOINTER_TO_UINT(g_hash_table_lookup(build->index, &key));

    if (index == 0) {
        CallEdge edge = {.caller = caller, .callee = callee, .indirect = TRUE};
        guint64 never = 0;
        g_array_append_val(build->edges, edge);
        g_array_append_val(build->last_seen, never);
        index = build->edges->len;
        g_hash_table_insert(build->index, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(index));
    }
    *last_seen = &g_array_index(build->last_seen, guint64, index - 1);
    return &g_array_index(build->edges, CallEdge, index - 1);
}

static void
add_path(const ViewPath *path, gpointer user)
{
    Build *build = user;
    guint32 below = PROFILE_NONE;
    gboolean skipped = FALSE;

    build->stacks++;
    for (guint32 i = 0; i < path->n_nodes; i++) {
        guint32 node = path->nodes[i];
        if (!build->kept[node]) {
            skipped = TRUE;
            continue;
        }
        if (below != PROFILE_NONE && !(skipped && below == node)) {
            guint64 *last_seen;
            CallEdge *edge = get_edge(build, node, below, &last_seen);
            edge->indirect = edge->indirect && skipped;
            if (*last_seen != build->stacks)
                weight_add(&edge->weight[path->side], path->weight);
            *last_seen = build->stacks;
        }
        below = node;
        skipped = FALSE;
    }
}

static gint
compare_edges(gconstpointer a, gconstpointer b, gpointer user)
{
    const CallEdge *left = a;
    const CallEdge *right = b;
    ProfileValue value = *(const ProfileValue *)user;
    gdouble left_weight = magnitude(left->weight, value);
    gdouble right_weight = magnitude(right->weight, value);

    if (left_weight != right_weight)
        return left_weight > right_weight ? -1 : 1;
    if (left->caller != right->caller)
        return left->caller < right->caller ? -1 : 1;
    return left->callee < right->callee ? -1 : left->callee > right->callee;
}

static void
keep_edges(CallGraph *graph, const ReportOptions *options, gdouble total)
{
    gdouble fraction = options->edge_fraction >= 0 ? options->edge_fraction : DEFAULT_EDGE_FRACTION;
    ProfileValue value = options->value;
    guint kept = 0;

    g_array_sort_with_data(graph->edges, compare_edges, &value);
    while (kept < graph->edges->len) {
        gdouble weight = magnitude(g_array_index(graph->edges, CallEdge, kept).weight, value);
        if (weight <= 0 || weight < fraction * total)
            break;
        kept++;
    }
    g_array_set_size(graph->edges, kept);
}

CallGraph *
callgraph_new(const View *view, const ReportOptions *options)
{
    CallGraph *graph = g_new0(CallGraph, 1);
    gdouble total = magnitude_of_total(view, options->value);
    Build build = {
        .edges = g_array_new(FALSE, FALSE, sizeof(CallEdge)),
        .last_seen = g_array_new(FALSE, FALSE, sizeof(guint64)),
        .index = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, g_free, NULL),
        .kept = g_new0(gboolean, (gsize)view_n_nodes(view) + 1),
    };

    keep_rows(graph, view, options, total);
    for (guint i = 0; i < graph->rows->len; i++)
        build.kept[g_array_index(graph->rows, TableRow, i).node] = TRUE;
    view_foreach(view, add_path, &build);
    graph->edges = build.edges;
    keep_edges(graph, options, total);
    g_array_unref(build.last_seen);
    g_hash_table_unref(build.index);
    g_free(build.kept);
    return graph;
}

void
callgraph_free(CallGraph *graph)
{
    g_array_unref(graph->rows);
    g_array_unref(graph->edges);
    g_free(graph);
}
