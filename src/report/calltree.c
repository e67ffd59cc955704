/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Built by sorting: in the order of frames from the root, adjacent stacks share their common part of the tree, so new
 * nodes are recognised without a look-up. Exactly the memory for these nodes is allocated.
 */
#include "report/calltree.h"

#include "profile/weight.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

/* One stack, root first. */
typedef struct {
    gsize first; /* into Paths.nodes */
    guint32 n;
    guint32 shared; /* number of leading frames in common with the preceding path; after sorting */
    guint32 number; /* keeps the order of equal paths, which determines the last digits of sums */
    ViewSide side;
    const ProfileWeight *weight;
} Path;

typedef struct {
    CallTreeOrder order;
    guint32 pivot; /* PROFILE_NONE: complete stacks */
    guint32 *nodes;
    gsize n_nodes, capacity;
    GArray *paths; /* Path */
} Paths;

static void
reserve_nodes(Paths *paths, gsize n)
{
    if (paths->n_nodes + n <= paths->capacity)
        return;
    paths->capacity = MAX(paths->capacity * 2, paths->n_nodes + n);
    paths->nodes = g_renew(guint32, paths->nodes, paths->capacity);
}

/* Bottom-up paths begin with their group as well. */
static guint32
collect_group(Paths *paths, const ViewPath *path, guint32 limit)
{
    if (path->group == PROFILE_NONE || paths->order == CALLTREE_TOP_DOWN || paths->pivot != PROFILE_NONE)
        return limit;
    paths->nodes[paths->n_nodes++] = path->group;
    return limit - 1;
}

/* The part of PATH to use, innermost first, as [*first, *limit). FALSE: it does not contain the pivot. */
static gboolean
find_part(const Paths *paths, const ViewPath *path, guint32 *first, guint32 *limit)
{
    guint32 at = path->n_nodes;

    *first = 0;
    *limit = path->n_nodes;
    if (paths->pivot == PROFILE_NONE)
        return TRUE;
    while (at > 0 && path->nodes[at - 1] != paths->pivot)
        at--;
    if (paths->order == CALLTREE_TOP_DOWN)
        *limit = at;
    else
        *first = at - 1;
    return at > 0;
}

static void
collect_path(const ViewPath *path, gpointer user)
{
    Paths *paths = user;
    guint32 first, limit;
    Path added = {paths->n_nodes, 0, 0, paths->paths->len, path->side, path->weight};

    if (!find_part(paths, path, &first, &limit))
        return;
    added.n = limit - first;
    reserve_nodes(paths, added.n);
    limit = collect_group(paths, path, limit);
    for (guint32 i = 0; i < limit - first; i++)
        paths->nodes[paths->n_nodes++] = path->nodes[paths->order == CALLTREE_TOP_DOWN ? limit - 1 - i : first + i];
    g_array_append_val(paths->paths, added);
}

static guint32
count_common(const Paths *paths, const Path *left, const Path *right)
{
    const guint32 *left_nodes = paths->nodes + left->first;
    const guint32 *right_nodes = paths->nodes + right->first;
    guint32 n = MIN(left->n, right->n), common = 0;

    while (common < n && left_nodes[common] == right_nodes[common])
        common++;
    return common;
}

static gint
compare_paths(gconstpointer a, gconstpointer b, gpointer user)
{
    const Paths *paths = user;
    const Path *left = a;
    const Path *right = b;
    guint32 common = count_common(paths, left, right);

    if (common < left->n && common < right->n)
        return paths->nodes[left->first + common] < paths->nodes[right->first + common] ? -1 : 1;
    if (left->n != right->n)
        return left->n < right->n ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static const Path *
path_at(const Paths *paths, guint i)
{
    return &g_array_index(paths->paths, Path, i);
}

static void
find_shared(Paths *paths)
{
    for (guint i = 1; i < paths->paths->len; i++)
        g_array_index(paths->paths, Path, i).shared = count_common(paths, path_at(paths, i - 1), path_at(paths, i));
}

/* Allocates exactly the nodes and ends of the sorted paths. */
static void
allocate(CallTree *tree, const Paths *paths)
{
    gsize n_nodes = 1;
    guint32 n_ends = 0;

    for (guint i = 0; i < paths->paths->len; i++) {
        const Path *path = path_at(paths, i);
        n_nodes += path->n - path->shared;
        n_ends += i == 0 || path->shared < path->n || path->shared < path_at(paths, i - 1)->n;
    }
    tree->nodes = g_new(CallNode, n_nodes);
    tree->ends = g_new(guint32, n_ends);
    for (guint side = 0; side < view_n_sides(tree->view); side++) {
        tree->weights[side] = g_new0(ProfileWeight, n_ends);
        tree->totals[side] = g_new0(gdouble, n_nodes);
    }
}

static guint32
add_child(CallTree *tree, guint32 parent, guint32 node)
{
    CallNode *above = &tree->nodes[parent];

    tree->nodes[tree->n_nodes] =
        (CallNode){node, parent, PROFILE_NONE, above->first_child, above->depth + 1, tree->n_ends, 0};
    above->first_child = tree->n_nodes;
    return tree->n_nodes++;
}

static void
add_end(CallTree *tree, guint32 at, const Path *path)
{
    if (tree->n_ends == 0 || tree->ends[tree->n_ends - 1] != at)
        tree->ends[tree->n_ends++] = at;
    weight_add(&tree->weights[path->side][tree->n_ends - 1], path->weight);
}

/* Returns to depth; the nodes that are left are complete. */
static guint32
leave(CallTree *tree, guint32 at, guint32 depth)
{
    for (; tree->nodes[at].depth > depth; at = tree->nodes[at].parent)
        tree->nodes[at].ends_limit = tree->n_ends;
    return at;
}

static void
add_paths(CallTree *tree, const Paths *paths)
{
    guint32 at = 0;

    tree->nodes[0] = (CallNode){PROFILE_NONE, PROFILE_NONE, PROFILE_NONE, PROFILE_NONE, 0, 0, 0};
    tree->n_nodes = 1;
    for (guint i = 0; i < paths->paths->len; i++) {
        const Path *path = path_at(paths, i);
        at = leave(tree, at, path->shared);
        for (guint32 j = path->shared; j < path->n; j++)
            at = add_child(tree, at, paths->nodes[path->first + j]);
        add_end(tree, at, path);
    }
    at = leave(tree, at, 0);
    tree->nodes[at].ends_limit = tree->n_ends;
}

static void
sum_totals(CallTree *tree, ProfileValue value)
{
    for (guint side = 0; side < view_n_sides(tree->view); side++) {
        gdouble *totals = tree->totals[side];
        for (guint32 i = 0; i < tree->n_ends; i++)
            totals[tree->ends[i]] = tree->weights[side][i].estimate[value];
        for (guint32 i = tree->n_nodes; i-- > 1;)
            totals[tree->nodes[i].parent] += totals[i];
    }
}

/* Orders siblings: the heaviest first, ties by name. */
typedef struct {
    const CallTree *tree;
    const guint32 *ranks; /* per node of the view, see rank_names() */
} SiblingOrder;

static gint
compare_names(gconstpointer a, gconstpointer b, gpointer user)
{
    const View *view = user;

    return strcmp(view_node(view, *(const guint32 *)a)->name, view_node(view, *(const guint32 *)b)->name);
}

/* The place of each node's name in the order of all names; equal names have the same. A function may be below very many
 * callers, and names may be long and begin alike: each pair of siblings must not compare them again. */
static guint32 *
rank_names(const View *view)
{
    guint32 n = view_n_nodes(view), rank = 0;
    guint32 *ranks = g_new(guint32, (gsize)n + 1);
    g_autofree guint32 *order = g_new(guint32, (gsize)n + 1);

    for (guint32 i = 0; i < n; i++)
        order[i] = i;
    g_qsort_with_data(order, (gint)n, sizeof(*order), compare_names, (gpointer)(guintptr)view);
    for (guint32 i = 0; i < n; i++) {
        rank += i > 0 && compare_names(&order[i - 1], &order[i], (gpointer)(guintptr)view) != 0;
        ranks[order[i]] = rank;
    }
    return ranks;
}

static gint
compare_children(gconstpointer a, gconstpointer b, gpointer user)
{
    const SiblingOrder *order = user;
    guint32 left = *(const guint32 *)a;
    guint32 right = *(const guint32 *)b;
    gdouble left_extent = calltree_extent(order->tree, left);
    gdouble right_extent = calltree_extent(order->tree, right);
    guint32 left_rank = order->ranks[order->tree->nodes[left].node];
    guint32 right_rank = order->ranks[order->tree->nodes[right].node];

    if (left_extent != right_extent)
        return left_extent > right_extent ? -1 : 1;
    return left_rank < right_rank ? -1 : left_rank > right_rank;
}

static void
sort_siblings(CallTree *tree, guint32 parent, SiblingOrder *order, GArray *scratch)
{
    CallNode *nodes = tree->nodes;
    guint32 *link = &nodes[parent].first_child;

    if (*link == PROFILE_NONE || nodes[*link].next_sibling == PROFILE_NONE)
        return;
    g_array_set_size(scratch, 0);
    for (guint32 child = *link; child != PROFILE_NONE; child = nodes[child].next_sibling)
        g_array_append_val(scratch, child);
    g_array_sort_with_data(scratch, compare_children, order);
    for (guint i = 0; i < scratch->len; i++) {
        *link = g_array_index(scratch, guint32, i);
        link = &nodes[*link].next_sibling;
    }
    *link = PROFILE_NONE;
}

static void
sort_children(CallTree *tree)
{
    g_autofree guint32 *ranks = rank_names(tree->view);
    g_autoptr(GArray) scratch = g_array_new(FALSE, FALSE, sizeof(guint32));
    SiblingOrder order = {tree, ranks};

    for (guint32 i = 0; i < tree->n_nodes; i++)
        sort_siblings(tree, i, &order, scratch);
}

CallTree *
calltree_new_around(const View *view, CallTreeOrder order, ProfileValue value, guint32 pivot)
{
    CallTree *tree = g_new0(CallTree, 1);
    Paths paths = {.order = order, .pivot = pivot, .paths = g_array_new(FALSE, FALSE, sizeof(Path))};

    tree->view = view;
    view_foreach(view, collect_path, &paths);
    g_array_sort_with_data(paths.paths, compare_paths, &paths);
    find_shared(&paths);
    allocate(tree, &paths);
    add_paths(tree, &paths);
    g_free(paths.nodes);
    g_array_unref(paths.paths);
    sum_totals(tree, value);
    sort_children(tree);
    return tree;
}

CallTree *
calltree_new(const View *view, CallTreeOrder order, ProfileValue value)
{
    return calltree_new_around(view, order, value, PROFILE_NONE);
}

void
calltree_free(CallTree *tree)
{
    g_free(tree->nodes);
    g_free(tree->ends);
    for (guint side = 0; side < VIEW_N_SIDES; side++) {
        g_free(tree->weights[side]);
        g_free(tree->totals[side]);
    }
    g_free(tree);
}

const CallNode *
calltree_node(const CallTree *tree, guint32 index)
{
    return &tree->nodes[index];
}

guint32
calltree_after(const CallTree *tree, guint32 index)
{
    while (index != 0 && calltree_node(tree, index)->next_sibling == PROFILE_NONE)
        index = calltree_node(tree, index)->parent;
    return index == 0 ? PROFILE_NONE : calltree_node(tree, index)->next_sibling;
}

guint32
calltree_next(const CallTree *tree, guint32 index)
{
    guint32 child = calltree_node(tree, index)->first_child;

    return child != PROFILE_NONE ? child : calltree_after(tree, index);
}

gdouble
calltree_total(const CallTree *tree, guint32 index, ViewSide side)
{
    return tree->totals[side] ? tree->totals[side][index] : 0;
}

gdouble
calltree_extent(const CallTree *tree, guint32 index)
{
    return MAX(calltree_total(tree, index, VIEW_NOW), calltree_total(tree, index, VIEW_BASE));
}

const ProfileWeight *
calltree_self(const CallTree *tree, guint32 index, ViewSide side)
{
    static const ProfileWeight none;
    const CallNode *node = calltree_node(tree, index);
    gboolean ends = node->first_end < node->ends_limit && tree->ends[node->first_end] == index;

    return ends && tree->weights[side] ? &tree->weights[side][node->first_end] : &none;
}

ProfileWeight
calltree_weight(const CallTree *tree, guint32 index, ViewSide side)
{
    const CallNode *node = calltree_node(tree, index);
    ProfileWeight sum = {0};

    for (guint32 i = node->first_end; tree->weights[side] && i < node->ends_limit; i++)
        weight_add(&sum, &tree->weights[side][i]);
    return sum;
}

gdouble *
calltree_sum(const CallTree *tree, CallTreeMeasure measure, gconstpointer user)
{
    gdouble *sums = g_new0(gdouble, tree->n_nodes);

    for (guint32 i = 0; i < tree->n_ends; i++)
        sums[tree->ends[i]] = measure(tree, i, user);
    for (guint32 i = tree->n_nodes; i-- > 1;)
        sums[tree->nodes[i].parent] += sums[i];
    return sums;
}

gdouble
calltree_larger_side(const CallTree *tree, guint32 end, gconstpointer user)
{
    ProfileValue value = *(const ProfileValue *)user;
    const ProfileWeight *base = tree->weights[VIEW_BASE];

    return MAX(tree->weights[VIEW_NOW][end].estimate[value], base ? base[end].estimate[value] : 0);
}

/* ---- the heaviest stacks ---- */

typedef struct {
    const CallTree *tree;
    ProfileValue value;
} Heaviest;

static gdouble
change_of(const Heaviest *heaviest, guint32 index)
{
    return calltree_self(heaviest->tree, index, VIEW_NOW)->estimate[heaviest->value] -
           calltree_self(heaviest->tree, index, VIEW_BASE)->estimate[heaviest->value];
}

/* The sort is stable: of two equal stacks, the first one in the tree comes first. */
static gint
compare_changes(gconstpointer a, gconstpointer b, gpointer user)
{
    gdouble left = fabs(change_of(user, *(const guint32 *)a));
    gdouble right = fabs(change_of(user, *(const guint32 *)b));

    return left == right ? 0 : left > right ? -1 : 1;
}

GArray *
calltree_heaviest(const CallTree *tree, ProfileValue value)
{
    Heaviest heaviest = {tree, value};
    GArray *found = g_array_new(FALSE, FALSE, sizeof(guint32));

    for (guint32 at = calltree_next(tree, 0); at != PROFILE_NONE; at = calltree_next(tree, at))
        if (change_of(&heaviest, at) != 0)
            g_array_append_val(found, at);
    g_array_sort_with_data(found, compare_changes, &heaviest);
    return found;
}
