/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page-tree.h"

#include "report/units.h"

#include <math.h>

enum { DEPTH_MAX = 1 << 20 }; /* limit for files; frames with all that is inlined in them */

/* Its arrays while they grow. */
typedef struct {
    const CallTree *tree;
    ProfileValue value;
    GArray *labels;
    GArray *runs; /* PageRun */
    GArray *sides[VIEW_N_SIDES], *ends[VIEW_N_SIDES];
    GArray *others, *end_others, *extents;
    guint32 last; /* the current run of the walk */
} Build;

static PageRun *
run_at(const Build *build, guint32 run)
{
    return &g_array_index(build->runs, PageRun, run);
}

static void
add_end(Build *build, PageRun *run, guint32 node)
{
    const CallNode *from = calltree_node(build->tree, node);
    guint32 end = from->first_end;

    if (end >= from->ends_limit || build->tree->ends[end] != node)
        return;
    run->end = build->end_others->len;
    for (guint side = 0; side < view_n_sides(build->tree->view); side++) {
        const ProfileWeight *weight = &build->tree->weights[side][end];
        const PageWeight own = {weight->estimate[build->value], weight->variance[build->value]};
        g_array_append_val(build->ends[side], own);
        g_array_index(build->sides[side], PageWeight, run - run_at(build, 0)) = own;
    }
    gdouble other = build->tree->weights[VIEW_NOW][end].estimate[value_other(build->value)];
    gdouble extent = calltree_larger_side(build->tree, end, &build->value);
    g_array_append_val(build->end_others, other);
    g_array_index(build->others, gdouble, run - run_at(build, 0)) = other;
    if (build->extents)
        g_array_index(build->extents, gdouble, run - run_at(build, 0)) = extent;
}

static void
add_run(Build *build, guint32 parent, guint32 depth)
{
    const PageRun run = {.first = build->labels->len, .parent = parent, .depth = depth, .end = PROFILE_NONE};

    build->last = build->runs->len;
    g_array_append_val(build->runs, run);
    for (guint side = 0; side < view_n_sides(build->tree->view); side++)
        g_array_set_size(build->sides[side], build->runs->len);
    g_array_set_size(build->others, build->runs->len);
    if (build->extents)
        g_array_set_size(build->extents, build->runs->len);
}

/* Whether the only child of NODE has the same width. */
static gboolean
extends_run(const Build *build, guint32 node)
{
    const CallNode *from = calltree_node(build->tree, node);

    return node != 0 && run_at(build, build->last)->end == PROFILE_NONE && from->first_child != PROFILE_NONE &&
           calltree_node(build->tree, from->first_child)->next_sibling == PROFILE_NONE;
}

/* Returns to the run whose last frame is at DEPTH. */
static void
leave(Build *build, guint32 depth)
{
    for (; run_at(build, build->last)->depth > depth; build->last = run_at(build, build->last)->parent)
        run_at(build, build->last)->after = build->runs->len;
}

static void
add_nodes(Build *build)
{
    const CallTree *tree = build->tree;

    add_run(build, PROFILE_NONE, 0);
    add_end(build, run_at(build, 0), 0);
    for (guint32 at = calltree_next(tree, 0); at != PROFILE_NONE; at = calltree_next(tree, at)) {
        const CallNode *node = calltree_node(tree, at);
        leave(build, node->depth - 1);
        if (!extends_run(build, node->parent))
            add_run(build, build->last, node->depth);
        PageRun *run = run_at(build, build->last);
        run->n++;
        run->depth = node->depth;
        g_array_append_val(build->labels, node->node);
        add_end(build, run, at);
    }
    leave(build, 0);
    run_at(build, 0)->after = build->runs->len;
}

/* Later runs are never above earlier ones. */
static void
sum_up(const Build *build)
{
    for (guint32 i = build->runs->len; i-- > 1;) {
        const PageRun *run = run_at(build, i);
        for (guint side = 0; side < view_n_sides(build->tree->view); side++) {
            const PageWeight *from = &g_array_index(build->sides[side], PageWeight, i);
            PageWeight *to = &g_array_index(build->sides[side], PageWeight, run->parent);
            to->total += from->total;
            to->variance += from->variance;
        }
        g_array_index(build->others, gdouble, run->parent) += g_array_index(build->others, gdouble, i);
        if (build->extents)
            g_array_index(build->extents, gdouble, run->parent) += g_array_index(build->extents, gdouble, i);
    }
}

static void
count_below(const Build *build, const PageTree *tree)
{
    for (guint32 i = build->runs->len; i-- > 1;) {
        const PageRun *run = run_at(build, i);
        run_at(build, run->parent)->below += run->below + (page_tree_extent(tree, i) > 0 ? run->n : 0);
    }
}

/* Steals the elements of *ARRAY, which is freed. */
static gpointer
take(GArray *array, guint32 *n)
{
    if (n)
        *n = array->len;
    return array ? g_array_free(array, FALSE) : NULL;
}

PageTree *
page_tree_new(const CallTree *from, ProfileValue value)
{
    guint n_sides = view_n_sides(from->view);
    PageTree *tree = g_new0(PageTree, 1);
    Build build = {.tree = from, .value = value, .labels = g_array_new(FALSE, FALSE, sizeof(guint32))};

    build.runs = g_array_new(FALSE, FALSE, sizeof(PageRun));
    build.others = g_array_new(FALSE, TRUE, sizeof(gdouble));
    build.end_others = g_array_new(FALSE, FALSE, sizeof(gdouble));
    build.extents = n_sides == 2 ? g_array_new(FALSE, TRUE, sizeof(gdouble)) : NULL;
    for (guint side = 0; side < n_sides; side++) {
        build.sides[side] = g_array_new(FALSE, TRUE, sizeof(PageWeight));
        build.ends[side] = g_array_new(FALSE, FALSE, sizeof(PageWeight));
    }
    add_nodes(&build);
    sum_up(&build);
    tree->n_sides = n_sides;
    for (guint side = 0; side < n_sides; side++) {
        tree->sides[side] = take(build.sides[side], NULL);
        tree->ends[side] = take(build.ends[side], NULL);
    }
    tree->others = take(build.others, NULL);
    tree->end_others = take(build.end_others, &tree->n_ends);
    tree->extents = take(build.extents, NULL);
    count_below(&build, tree);
    tree->labels = take(build.labels, &tree->n_labels);
    tree->runs = take(build.runs, &tree->n_runs);
    return tree;
}

void
page_tree_free(PageTree *tree)
{
    gconstpointer const arrays[] = {tree->labels,           tree->runs,       tree->sides[VIEW_NOW],
                                    tree->sides[VIEW_BASE], tree->others,     tree->ends[VIEW_NOW],
                                    tree->ends[VIEW_BASE],  tree->end_others, tree->extents};

    for (guint i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_free((gpointer)(guintptr)arrays[i]);
    g_free(tree);
}

gdouble
page_tree_extent(const PageTree *tree, guint32 run)
{
    return tree->extents ? tree->extents[run] : tree->sides[VIEW_NOW][run].total;
}

PageWeight
page_tree_self(const PageTree *tree, guint32 run, ViewSide side)
{
    guint32 end = tree->runs[run].end;

    return end != PROFILE_NONE && tree->ends[side] ? tree->ends[side][end] : (PageWeight){0, 0};
}

/* ---- of a file ---- */

/* FIRST: the labels of the runs before it. No two runs share one, so that reading all runs takes as long as the file.
 */
static gboolean
is_sound_run(const PageTree *tree, guint32 i, guint32 parent, guint32 first)
{
    const PageRun *run = &tree->runs[i];
    const PageRun *above = &tree->runs[parent];

    return run->parent == parent && run->n > 0 && run->first == first && run->first <= tree->n_labels &&
           run->n <= tree->n_labels - run->first && run->after > i && run->after <= above->after &&
           run->depth == above->depth + run->n && run->depth <= DEPTH_MAX &&
           (run->end == PROFILE_NONE || run->end < tree->n_ends);
}

static gboolean
are_finite(const gdouble *numbers, gsize n)
{
    for (gsize i = 0; i < n; i++)
        if (!isfinite(numbers[i]))
            return FALSE;
    return TRUE;
}

static gboolean
are_numbers_sound(const PageTree *tree)
{
    for (guint side = 0; side < tree->n_sides; side++)
        if (!are_finite(&tree->sides[side]->total, (gsize)tree->n_runs * 2) ||
            !are_finite(&tree->ends[side]->total, (gsize)tree->n_ends * 2))
            return FALSE;
    return are_finite(tree->others, tree->n_runs) && are_finite(tree->end_others, tree->n_ends) &&
           (!tree->extents || are_finite(tree->extents, tree->n_runs));
}

gboolean
page_tree_is_sound(const PageTree *tree, guint32 n_names)
{
    const PageRun *root = tree->runs;
    guint32 above = 0, labels = 0;

    if (tree->n_runs == 0 || root->n != 0 || root->parent != PROFILE_NONE || root->depth != 0 ||
        root->after != tree->n_runs || (root->end != PROFILE_NONE && root->end >= tree->n_ends))
        return FALSE;
    for (guint32 i = 1; i < tree->n_runs; above = i++) {
        while (tree->runs[above].after <= i)
            above = tree->runs[above].parent;
        if (!is_sound_run(tree, i, above, labels))
            return FALSE;
        labels += tree->runs[i].n;
    }
    for (guint32 i = 0; i < tree->n_labels; i++)
        if (tree->labels[i] >= n_names)
            return FALSE;
    return are_numbers_sound(tree);
}

/* ---- the heaviest stacks ---- */

typedef struct {
    gdouble change; /* absolute */
    guint32 run;
} Heaviest;

/* Of two equal stacks, the first one in the tree comes first. */
static gint
compare_changes(gconstpointer a, gconstpointer b)
{
    const Heaviest *left = a;
    const Heaviest *right = b;

    if (left->change != right->change)
        return left->change > right->change ? -1 : 1;
    return left->run < right->run ? -1 : left->run > right->run;
}

GArray *
page_tree_heaviest(const PageTree *tree)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(Heaviest));

    for (guint32 run = 0; run < tree->n_runs; run++) {
        gdouble change = page_tree_self(tree, run, VIEW_NOW).total - page_tree_self(tree, run, VIEW_BASE).total;
        const Heaviest one = {fabs(change), run};
        if (change != 0)
            g_array_append_val(found, one);
    }
    g_array_sort(found, compare_changes);
    GArray *runs = g_array_sized_new(FALSE, FALSE, sizeof(guint32), found->len);
    for (guint i = 0; i < found->len; i++)
        g_array_append_val(runs, g_array_index(found, Heaviest, i).run);
    return runs;
}
