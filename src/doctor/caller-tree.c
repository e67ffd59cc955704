/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/caller-tree.h"

#include "confine/keyed-hash.h"
#include "profile/significance.h"
#include "report/function-name.h"
#include "report/wrappers.h"

#include <math.h>
#include <string.h>

static const gdouble SHARED_STILL = 0.1;     /* with this share of all still memory, a function may serve others */
static const gdouble HELD_FOR_OTHERS = 0.02; /* maximum held for other callers, as a share of that for one caller */
static const gdouble SCATTER = 0.8; /* relative scatter of the size of one sample, if objects have many sizes */
static const gdouble TELLING = 3;   /* minimum number of samples for a conclusion */
static const gdouble FREED = 0.9;   /* minimum number of freed samples; leaked memory is never freed */

enum { MOST_COMPARISONS = 1 << 26 };

/* What the name of a function says. */
enum { KIND_KNOWN = 1 << 0, KIND_START = 1 << 1, KIND_WRAPPER = 1 << 2 };

CallerNode *
caller_tree_node(const CallerTree *tree, guint32 index)
{
    return &g_array_index(tree->nodes, CallerNode, index);
}

gboolean
caller_tree_compares(const CallerTree *tree)
{
    *tree->patience -= *tree->patience > 0;
    return *tree->patience > 0;
}

/* ---- what names say ---- */

/* Whether a function starts a program or a thread: code of the C library or of a language's runtime, or without a
 * name. */
static gboolean
names_start(const ViewNode *view)
{
    static const char *const names[] = {"__libc_start_call_main",
                                        "__libc_start_main",
                                        "__libc_start_main_impl",
                                        "_start",
                                        "clone",
                                        "clone3",
                                        "__clone",
                                        "__clone3",
                                        "start_thread"};

    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_str_equal(view->name, names[i]))
            return TRUE;
    return !view->known || wrapper_is_language(view->name);
}

static gboolean
names_wrapper(const ViewNode *view)
{
    g_autofree char *plain = function_name_plain(view->name);

    return wrapper_is_known(plain) || wrapper_is_generic(plain);
}

/* Each name is looked at once: it may be long. */
static guint8
kind_of(const CallerTree *tree, guint32 index)
{
    guint32 number = caller_tree_node(tree, index)->view;
    const ViewNode *view = view_node(tree->input->view, number);

    if (tree->kinds[number] == 0)
        tree->kinds[number] =
            (guint8)(KIND_KNOWN | (names_start(view) ? KIND_START : 0) | (names_wrapper(view) ? KIND_WRAPPER : 0));
    return tree->kinds[number];
}

static gboolean
is_wrapper(const CallerTree *tree, guint32 index)
{
    return (kind_of(tree, index) & KIND_WRAPPER) != 0;
}

static gboolean
is_start(const CallerTree *tree, guint32 index)
{
    return (kind_of(tree, index) & KIND_START) != 0;
}

gboolean
caller_tree_is_first(const CallerTree *tree, guint32 index)
{
    return caller_tree_node(tree, index)->first;
}

/* ---- the tree ---- */

/* INNER: whether VIEW is on the way to PARENT as well. */
static guint32
child_of(CallerTree *tree, guint32 parent, guint32 view, gboolean inner)
{
    guint64 key = (guint64)parent << 32 | view;
    gpointer found = g_hash_table_lookup(tree->index, &key);
    if (found)
        return GPOINTER_TO_UINT(found);
    CallerNode node = {.parent = parent,
                       .view = view,
                       .first_child = PROFILE_NONE,
                       .next_sibling = caller_tree_node(tree, parent)->first_child,
                       .next_of_view = tree->of_view[view],
                       .heaviest = PROFILE_NONE,
                       .inner = inner,
                       .first = parent == 0 || (caller_tree_is_first(tree, parent) && is_start(tree, parent))};
    g_array_append_val(tree->nodes, node);
    g_array_set_size(tree->all_values, tree->nodes->len * (guint)tree->n_profiles);
    caller_tree_node(tree, parent)->first_child = tree->of_view[view] = tree->nodes->len - 1;
    g_hash_table_insert(tree->index, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(tree->nodes->len - 1));
    return tree->nodes->len - 1;
}

/* If the mean size is that of a size class, all objects are of that class, unless there are too few samples to tell. */
static void
note_sizes(CallerNode *node, const StackShare *share)
{
    if (!share->class || share->block == 0)
        return;
    if (share->class->size != share->block)
        node->mixed += share->held;
    else if (share->held * share->held >= TELLING * share->variance)
        node->pure += share->held;
}

static void
add_to_node(CallerTree *tree, guint32 index, guint32 stack)
{
    CallerNode *node = caller_tree_node(tree, index);
    const StackShare *share = &tree->shares[stack];
    const gdouble *values = growth_stack_values(tree->input->growth, stack);
    gdouble weight = MAX(share->grown, 0) + share->held * 1e-6;

    node->grown += share->grown;
    node->held += share->held;
    node->sized += share->sized;
    node->exact += share->exact;
    note_sizes(node, share);
    node->variance += share->variance;
    node->births += share->births;
    node->deaths += share->deaths;
    node->moved += share->moved;
    if (node->heaviest == PROFILE_NONE || weight > node->heaviest_weight) {
        node->heaviest = stack;
        node->heaviest_weight = weight;
    }
    for (gsize i = 0; i < tree->n_profiles; i++)
        g_array_index(tree->all_values, gdouble, index * tree->n_profiles + i) += values[i];
}

static void
add_path(const ViewPath *path, gpointer user)
{
    CallerTree *tree = user;
    const StackShare *share = &tree->shares[path->stack];
    gboolean still = share->grown <= 0 || share->grown < STANDS_STILL * tree->growth_share * share->held;
    guint32 at = 0;

    add_to_node(tree, 0, path->stack);
    tree->all_still += still ? share->held : 0;
    for (guint32 i = path->n_nodes; i-- > 0;) {
        guint32 view = path->nodes[i];
        gboolean inner = tree->seen[view] == path->stack + 1;
        at = child_of(tree, at, view, inner);
        add_to_node(tree, at, path->stack);
        if (inner)
            continue;
        tree->seen[view] = path->stack + 1;
        tree->fallen[view] += share->fallen;
        *(still ? &tree->still[view] : &tree->specific[view]) += still ? share->held : MAX(share->grown, 0);
    }
    tree->leaves[path->stack] = at;
}

void
caller_tree_init(CallerTree *tree, const CulpritInput *input)
{
    const CallerNode root = {.parent = PROFILE_NONE,
                             .view = PROFILE_NONE,
                             .first_child = PROFILE_NONE,
                             .next_sibling = PROFILE_NONE,
                             .heaviest = PROFILE_NONE,
                             .first = TRUE};
    guint32 n = profile_n_stacks(growth_profile(input->growth));
    gsize n_nodes = (gsize)view_n_nodes(input->view) + 1;

    *tree = (CallerTree){.input = input,
                         .nodes = g_array_new(FALSE, FALSE, sizeof(CallerNode)),
                         .index = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, g_free, NULL),
                         .n_profiles = growth_n_profiles(input->growth),
                         .shares = stack_shares_new(input),
                         .leaves = g_new0(guint32, n + 1),
                         .specific = g_new0(gdouble, n_nodes),
                         .still = g_new0(gdouble, n_nodes),
                         .fallen = g_new0(gdouble, n_nodes),
                         .of_view = g_new(guint32, n_nodes),
                         .seen = g_new0(guint32, n_nodes),
                         .all_values = g_array_new(FALSE, TRUE, sizeof(gdouble)),
                         .kinds = g_new0(guint8, n_nodes),
                         .patience = g_new(guint64, 1)};
    *tree->patience = MOST_COMPARISONS;
    memset(tree->of_view, 0xff, n_nodes * sizeof(guint32));
    g_array_append_val(tree->nodes, root);
    g_array_set_size(tree->all_values, (guint)tree->n_profiles);
    gdouble grown = 0, held = 0;
    for (guint32 i = 0; i < n; i++) {
        grown += MAX(0, tree->shares[i].grown);
        held += tree->shares[i].held;
    }
    tree->growth_share = held > 0 ? grown / held : 0;
    view_foreach(input->view, add_path, tree);
}

void
caller_tree_clear(CallerTree *tree)
{
    g_array_unref(tree->nodes);
    g_hash_table_unref(tree->index);
    g_array_unref(tree->all_values);
    g_free(tree->shares);
    g_free(tree->leaves);
    g_free(tree->specific);
    g_free(tree->still);
    g_free(tree->fallen);
    g_free(tree->of_view);
    g_free(tree->seen);
    g_free(tree->kinds);
    g_free(tree->patience);
}

/* ---- properties of a node ---- */

gdouble
caller_tree_specificity(const CallerTree *tree, guint32 index)
{
    guint32 view = caller_tree_node(tree, index)->view;

    if (view == PROFILE_NONE)
        return 0;
    gdouble sum = tree->specific[view] + tree->still[view];
    return sum > 0 ? tree->specific[view] / sum : 0;
}

gdouble
caller_tree_grown(const CallerNode *node)
{
    return node->grown;
}

gdouble
caller_tree_held(const CallerNode *node)
{
    return node->held;
}

guint32
caller_tree_heaviest(const CallerTree *tree, guint32 index, CallerWeight weight)
{
    guint32 best = PROFILE_NONE;

    for (guint32 i = caller_tree_node(tree, index)->first_child; i != PROFILE_NONE;
         i = caller_tree_node(tree, i)->next_sibling)
        if (best == PROFILE_NONE || weight(caller_tree_node(tree, i)) > weight(caller_tree_node(tree, best)))
            best = i;
    return best;
}

gdouble
caller_tree_sample_bytes(const CallerTree *tree, const CallerNode *node)
{
    gdouble by_error = node->held > 0 ? node->variance / node->held : 0;
    gdouble block = node->heaviest != PROFILE_NONE ? (gdouble)tree->shares[node->heaviest].block : 1;

    return MAX(MAX(by_error, block), 1);
}

/* Rounds a number of samples; clamped, since a hostile dump may contain any number. */
static guint64
whole(gdouble samples)
{
    return (guint64)CLAMP(samples + 0.5, 0, (gdouble)G_MAXUINT32);
}

gdouble
caller_tree_p_of_values(const CallerTree *tree, const CallerNode *sum, const gdouble *values)
{
    gsize first = stack_shares_first_counted(tree->input);

    if (tree->input->births)
        return significance_binomial(whole(sum->births), whole(sum->deaths));
    return significance_increments(values + first, tree->n_profiles - first, caller_tree_sample_bytes(tree, sum));
}

const gdouble *
caller_tree_values(const CallerTree *tree, guint32 index)
{
    return (const gdouble *)(const void *)tree->all_values->data + index * tree->n_profiles;
}

gdouble
caller_tree_p(const CallerTree *tree, guint32 index)
{
    return caller_tree_p_of_values(tree, caller_tree_node(tree, index), caller_tree_values(tree, index));
}

gboolean
caller_tree_is_inner(const CallerTree *tree, guint32 index)
{
    return caller_tree_node(tree, index)->inner;
}

/* ---- which function is named ---- */

/* Whether memory that callers other than ABOVE allocate through a function is freed, and ABOVE's is kept: then the
 * caller that does not free leaks, not the function. */
static gboolean
is_freed_by_others(const CallerTree *tree, guint32 index, guint32 above)
{
    const CallerNode *node = caller_tree_node(tree, index);
    gdouble gone = tree->fallen[caller_tree_node(tree, above)->view];

    return tree->fallen[node->view] - gone >= FREED * caller_tree_sample_bytes(tree, node) &&
           gone <= STANDS_STILL * tree->specific[caller_tree_node(tree, above)->view];
}

/* Whether a function also allocates for callers other than ABOVE: they free their memory, or much memory that does not
 * grow is allocated through the function but not through ABOVE. */
static gboolean
serves_others(const CallerTree *tree, guint32 index, guint32 above)
{
    gdouble still = tree->still[caller_tree_node(tree, index)->view];

    return is_freed_by_others(tree, index, above) ||
           caller_tree_specificity(tree, index) < LESS_SPECIFIC * caller_tree_specificity(tree, above) ||
           (still >= SHARED_STILL * tree->all_still && tree->still[caller_tree_node(tree, above)->view] < still / 2);
}

/* The approximate number of samples of a node. */
static gdouble
samples_of(const CallerTree *tree, const CallerNode *node)
{
    return node->held / caller_tree_sample_bytes(tree, node);
}

/* Whether memory below A would have changed as well if it came and went like that below B. */
static gboolean
would_have_moved(const CallerTree *tree, const CallerNode *a, const CallerNode *b)
{
    return a->moved <= 0 && b->held > 0 && samples_of(tree, a) * MIN(1, b->moved / b->held) >= TELLING;
}

/* Whether A has objects of one size class, and B of several. */
static gboolean
is_purer(const CallerNode *a, const CallerNode *b)
{
    return a->mixed <= 0 && a->pure > MOST_OF_HELD * a->held && b->mixed > MOST_OF_HELD * b->held;
}

gboolean
caller_tree_are_alike(const CallerTree *tree, const CallerNode *a, const CallerNode *b)
{
    gdouble fewest = MAX(1, MIN(samples_of(tree, a), samples_of(tree, b)));

    if (a->held <= 0 || b->held <= 0)
        return a->held <= 0 && b->held <= 0;
    return fabs(a->sized / a->held - b->sized / b->held) <= log(ALIKE + SCATTER / sqrt(fewest)) && !is_purer(a, b) &&
           !is_purer(b, a) && !would_have_moved(tree, a, b) && !would_have_moved(tree, b, a);
}

/* Whether a function also allocates for others than one of its callers, up to the first function of a program or a
 * thread: that threads do different things says nothing about the functions that they share. */
static gboolean
serves_any_others(const CallerTree *tree, guint32 index)
{
    for (guint32 above = caller_tree_node(tree, index)->parent;
         above != 0 && !caller_tree_is_first(tree, above) && caller_tree_compares(tree);
         above = caller_tree_node(tree, above)->parent)
        if (serves_others(tree, index, above))
            return TRUE;
    return FALSE;
}

/* The same test by held memory: whether other callers hold different memory through the function. */
static gboolean
holds_for_others(const CallerTree *tree, guint32 index)
{
    const CallerNode *node = caller_tree_node(tree, index);
    guint32 caller = caller_tree_node(tree, node->parent)->view;
    gdouble others = 0, most = HELD_FOR_OTHERS * node->held;

    for (guint32 i = tree->of_view[node->view]; i != PROFILE_NONE && others <= most && caller_tree_compares(tree);
         i = caller_tree_node(tree, i)->next_of_view) {
        const CallerNode *other = caller_tree_node(tree, i);
        guint32 its = caller_tree_node(tree, other->parent)->view;
        if (its != caller && its != node->view && !caller_tree_are_alike(tree, node, other))
            others += other->held;
    }
    return others > most;
}

static gboolean
is_to_blame(const CallerTree *tree, guint32 index, gboolean by_growth)
{
    return !is_wrapper(tree, index) && !(by_growth ? serves_any_others(tree, index) : holds_for_others(tree, index));
}

guint32
caller_tree_without_wrappers(const CallerTree *tree, guint32 index, gboolean by_growth)
{
    while (caller_tree_node(tree, index)->parent != 0 && !is_to_blame(tree, index, by_growth))
        index = caller_tree_node(tree, index)->parent;
    return index;
}

/* ---- a function over all of its callers ---- */

/* Sums over the paths below a node, by function. */
typedef struct {
    const CallerTree *tree;
    CallerWeight weight;
    gdouble *sums, *depths; /* per view node; depths are weighted */
    guint32 *heaviest;      /* per view node: the path with the largest weight */
    guint8 *open;           /* per view node: whether it is on the current path */
} Below;

static void
add_below(Below *below, guint32 index, guint depth)
{
    for (guint32 i = caller_tree_node(below->tree, index)->first_child; i != PROFILE_NONE;
         i = caller_tree_node(below->tree, i)->next_sibling) {
        const CallerNode *node = caller_tree_node(below->tree, i);
        guint8 open = below->open[node->view];
        gdouble weight = MAX(0, below->weight(node));
        if (!open) {
            guint32 best = below->heaviest[node->view];
            below->sums[node->view] += weight;
            below->depths[node->view] += weight * depth;
            if (best == 0 || weight > below->weight(caller_tree_node(below->tree, best)))
                below->heaviest[node->view] = i;
        }
        below->open[node->view] = TRUE;
        add_below(below, i, depth + 1);
        below->open[node->view] = open;
    }
}

guint32
caller_tree_gather(const CallerTree *tree, guint32 index, CallerWeight weight, gboolean by_growth)
{
    gsize n = (gsize)view_n_nodes(tree->input->view) + 1;
    g_autofree gdouble *sums = g_new0(gdouble, n), *depths = g_new0(gdouble, n);
    g_autofree guint32 *heaviest = g_new0(guint32, n);
    g_autofree guint8 *open = g_new0(guint8, n);
    Below below = {tree, weight, sums, depths, heaviest, open};
    gdouble deepest = 0;
    guint32 best = index;

    add_below(&below, index, 1);
    for (gsize i = 0; i < n; i++) {
        gdouble depth = sums[i] > 0 ? depths[i] / sums[i] : 0;
        if (sums[i] >= (by_growth ? MOST_OF_GROWTH : MOST_OF_HELD) * weight(caller_tree_node(tree, index)) &&
            depth > deepest && is_to_blame(tree, heaviest[i], by_growth)) {
            deepest = depth;
            best = heaviest[i];
        }
    }
    return best;
}
