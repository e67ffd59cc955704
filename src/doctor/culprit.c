/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/culprit.h"

#include "confine/keyed-hash.h"
#include "doctor/caller-tree.h"
#include "doctor/unfreed.h"
#include "profile/significance.h"

#include <math.h>

static const gdouble NOTABLE_SHARE = 0.1; /* minimum share of all growth for a finding */
static const gdouble ERRORS_OF_EXACT = 2; /* standard errors by which the exact counter may differ from the samples */
static const gdouble FALSE_DISCOVERIES = 0.05;

/* Of the functions that grow, and of those whose growth the counters hide: the largest. An answer has few; each is
 * searched for in all stacks. */
enum { MOST_FOUND = 32 };

/* ---- the description of a function ---- */

/* The name of a function without "(anonymous namespace)::" and without the object that tells it from its namesakes: a
 * finding has its callers beside it. */
static char *
name_of(const ViewNode *view)
{
    g_auto(GStrv) parts = g_strsplit(view->display, "(anonymous namespace)::", -1);
    char *name = g_strjoinv("", parts);
    char *object = view->known && g_str_has_suffix(name, "]") ? g_strrstr(name, " [") : NULL;

    if (object != NULL && object != name)
        *object = '\0';
    return name;
}

/* Whether a node without a name is code of another file than its innermost caller with a name: that caller, such as a
 * library's event loop or the start of the program, then says nothing about it. */
static gboolean
is_of_another_file(const CallerTree *tree, guint32 index)
{
    const ViewNode *view = view_node(tree->input->view, caller_tree_node(tree, index)->view);

    for (guint32 i = index; i != 0 && view->object != NULL; i = caller_tree_node(tree, i)->parent) {
        const ViewNode *caller = view_node(tree->input->view, caller_tree_node(tree, i)->view);
        if (caller->known)
            return g_strcmp0(caller->object, view->object) != 0;
    }
    return FALSE;
}

static void
add_name(const CallerTree *tree, guint32 index, GPtrArray *names)
{
    const ViewNode *view = view_node(tree->input->view, caller_tree_node(tree, index)->view);

    if (view->known || caller_tree_node(tree, index)->parent == 0 ||
        (names->len == 0 && is_of_another_file(tree, index)))
        g_ptr_array_add(names, name_of(view));
}

static void
add_path_to(const CallerTree *tree, guint32 index, CallerNode *sum, gdouble *values)
{
    const CallerNode *node = caller_tree_node(tree, index);

    sum->grown += node->grown;
    sum->held += node->held;
    sum->variance += node->variance;
    sum->exact += node->exact;
    sum->births += node->births;
    sum->deaths += node->deaths;
    sum->moved += node->moved;
    for (gsize i = 0; i < tree->n_profiles; i++)
        values[i] += caller_tree_values(tree, index)[i];
}

/* Whether both are called by the first function of a program or a thread: one fills at startup, and the other
 * continues. */
static gboolean
are_called_first(const CallerTree *tree, const CallerNode *a, const CallerNode *b)
{
    return caller_tree_is_first(tree, a->parent) && caller_tree_is_first(tree, b->parent);
}

/* Adds the paths to the same function by other callers, if they behave like this one. */
static void
add_other_paths(const CallerTree *tree, guint32 index, CallerNode *sum, gdouble *values)
{
    const CallerNode *node = caller_tree_node(tree, index);
    gdouble pace = node->held > 0 ? MAX(0, node->grown) / node->held : 0;

    for (guint32 i = tree->of_view[node->view]; i != PROFILE_NONE; i = caller_tree_node(tree, i)->next_of_view) {
        const CallerNode *other = caller_tree_node(tree, i);
        if (i != index && !caller_tree_is_inner(tree, i) && caller_tree_are_alike(tree, node, other) &&
            (other->grown >= STANDS_STILL * pace * other->held || are_called_first(tree, node, other)))
            add_path_to(tree, i, sum, values);
    }
}

static gboolean
agrees(gdouble exact, const CallerNode *node)
{
    return fabs(exact - node->held) <= ERRORS_OF_EXACT * sqrt(node->variance);
}

/* The exact counter of its size class, unless the samples show that it includes memory of others. Objects of many sizes
 * have no such counter: then, if the samples of all stacks agree with what the program holds, its share of that. */
static gdouble
bytes_of(const CallerTree *tree, const CallerNode *sum)
{
    const CallerNode *all = caller_tree_node(tree, 0);
    gdouble held = tree->input->classes ? tree->input->classes->held.last : 0;

    if (agrees(sum->exact, sum))
        return sum->exact;
    return held > 0 && all->held > 0 && agrees(held, all) ? sum->held * held / all->held : sum->held;
}

/* For each node, whether it is INDEX, which is not the root, or below. */
static gboolean *
find_below(const CallerTree *tree, guint32 index)
{
    gboolean *below = g_new0(gboolean, tree->nodes->len);

    below[index] = TRUE;
    for (guint32 i = index + 1; i < tree->nodes->len; i++)
        below[i] = below[caller_tree_node(tree, i)->parent];
    return below;
}

/* Adds what was allocated below a node to MADE, dump by dump. */
static void
add_births(const CallerTree *tree, guint32 index, gdouble *made)
{
    g_autofree gboolean *below = find_below(tree, index);

    for (guint32 i = 0; i < profile_n_stacks(growth_profile(tree->input->growth)); i++) {
        const gdouble *born = growth_stack_values(tree->input->births, i);
        for (gsize j = 0; below[tree->leaves[i]] && j < tree->n_profiles; j++)
            made[j] += born[j];
    }
}

/* Sets the trend of a stack over all dumps, and the load that it follows. */
static void
watch_stack(const CallerTree *tree, guint32 index, const gdouble *values, DoctorStack *stack)
{
    const gdouble *times = growth_times(tree->input->growth);
    g_autofree gdouble *made = g_new0(gdouble, tree->n_profiles);

    stack->dumps = tree->n_profiles;
    doctor_trend(times, values, tree->n_profiles, &stack->trend);
    if (!tree->input->births || !stack->trend.grows)
        return;
    add_births(tree, index, made);
    stack->follows = doctor_follows(times, values, made, tree->n_profiles, &stack->load);
}

static DoctorStack *
describe(const CallerTree *tree, guint32 index)
{
    const Profile *profile = growth_profile(tree->input->growth);
    g_autofree gdouble *values = g_new0(gdouble, tree->n_profiles);
    DoctorStack *stack = g_new0(DoctorStack, 1);
    CallerNode sum = {.heaviest = caller_tree_node(tree, index)->heaviest};

    while (caller_tree_is_inner(tree, index) && caller_tree_node(tree, index)->parent != 0)
        index = caller_tree_node(tree, index)->parent;
    add_path_to(tree, index, &sum, values);
    add_other_paths(tree, index, &sum, values);
    stack->functions = g_ptr_array_new_with_free_func(g_free);
    for (guint32 i = index; i != 0; i = caller_tree_node(tree, i)->parent)
        add_name(tree, i, stack->functions);
    const StackShare *heaviest = &tree->shares[sum.heaviest];
    stack->bytes = bytes_of(tree, &sum);
    stack->error = sum.held > 0 ? sqrt(sum.variance) * stack->bytes / sum.held : sqrt(sum.variance);
    stack->grown = sum.grown;
    stack->moved = sum.moved;
    stack->samples = sum.grown / caller_tree_sample_bytes(tree, &sum);
    stack->p = caller_tree_p_of_values(tree, &sum, values);
    watch_stack(tree, index, values, stack);
    stack->block = heaviest->block;
    stack->unloaded = (heaviest->traits & STACK_UNLOADED) != 0 && profile_n_mappings(profile) > 0;
    stack->object = g_strdup(stack_shares_vanished(tree->input, sum.heaviest));
    stack->container = (heaviest->traits & STACK_CONTAINER) != 0;
    stack->buckets = (heaviest->traits & STACK_BUCKETS) != 0 && heaviest->held > MOST_OF_HELD * sum.held;
    return stack;
}

/* Takes ownership of STACK. A function that is found through two callers is added once. */
static void
add_found(DoctorStack *stack, GPtrArray *found)
{
    for (guint i = 0; i < found->len; i++) {
        const DoctorStack *other = found->pdata[i];
        if (stack->functions->len > 0 && other->functions->len > 0 &&
            g_str_equal(stack->functions->pdata[0], other->functions->pdata[0])) {
            doctor_stack_free(stack);
            return;
        }
    }
    g_ptr_array_add(found, stack);
}

/* ---- the searches ---- */

static gint
by_growth_of_nodes(gconstpointer a, gconstpointer b, gpointer user)
{
    const CallerTree *tree = user;
    guint32 left = *(const guint32 *)a, right = *(const guint32 *)b;
    gdouble one = caller_tree_node(tree, left)->grown, other = caller_tree_node(tree, right)->grown;

    if (one != other)
        return one > other ? -1 : 1;
    return left < right ? -1 : left > right;
}

/* The significant children of a node with a notable share of all growth, the largest first. */
static GArray *
divided(const CallerTree *tree, guint32 index)
{
    GArray *chosen = g_array_new(FALSE, FALSE, sizeof(guint32));
    g_autoptr(GArray) p = g_array_new(FALSE, FALSE, sizeof(gdouble));
    g_autoptr(GArray) children = g_array_new(FALSE, FALSE, sizeof(guint32));

    for (guint32 i = caller_tree_node(tree, index)->first_child; i != PROFILE_NONE;
         i = caller_tree_node(tree, i)->next_sibling) {
        gdouble value = caller_tree_p(tree, i);
        g_array_append_val(children, i);
        g_array_append_val(p, value);
    }
    g_autofree gboolean *accepted = g_new0(gboolean, p->len + 1);
    significance_select((gdouble *)(void *)p->data, p->len, FALSE_DISCOVERIES, accepted);
    for (guint i = 0; i < children->len; i++) {
        guint32 child = g_array_index(children, guint32, i);
        if (accepted[i] && caller_tree_node(tree, child)->grown >= NOTABLE_SHARE * caller_tree_node(tree, 0)->grown)
            g_array_append_val(chosen, child);
    }
    g_array_sort_with_data(chosen, by_growth_of_nodes, (gpointer)(guintptr)tree);
    return chosen;
}

/* LEFT: how many functions may still be added. If some of the growth is outweighed by what shrinks, any number of
 * functions has a notable share of the rest. */
static void
search_growth(const CallerTree *tree, guint32 index, GPtrArray *found, guint *left)
{
    for (;;) {
        guint32 child = caller_tree_heaviest(tree, index, caller_tree_grown);
        if (child == PROFILE_NONE ||
            caller_tree_node(tree, child)->grown < MOST_OF_GROWTH * caller_tree_node(tree, index)->grown)
            break;
        index = child;
    }
    g_autoptr(GArray) parts = divided(tree, index);
    gdouble best = 0;
    for (guint i = 0; i < parts->len; i++)
        best = MAX(best, caller_tree_specificity(tree, g_array_index(parts, guint32, i)));
    /* A function that also holds much memory that does not grow only leads to those that grow. */
    if (parts->len > 0 && caller_tree_specificity(tree, index) < LESS_SPECIFIC * best)
        for (guint i = 0; i<parts->len && * left> 0; i++)
            search_growth(tree, g_array_index(parts, guint32, i), found, left);
    else if (index != 0) {
        guint32 deepest = caller_tree_gather(tree, index, caller_tree_grown, TRUE);
        add_found(describe(tree, caller_tree_without_wrappers(tree, deepest, TRUE)), found);
        --*left;
    }
}

static DoctorStack *
search_holder(const CallerTree *tree)
{
    guint32 index = 0;

    for (;;) {
        guint32 child = caller_tree_heaviest(tree, index, caller_tree_held);
        if (child == PROFILE_NONE ||
            caller_tree_node(tree, child)->held < MOST_OF_HELD * caller_tree_node(tree, index)->held)
            break;
        index = child;
    }
    index = caller_tree_gather(tree, index, caller_tree_held, FALSE);
    return index != 0 ? describe(tree, caller_tree_without_wrappers(tree, index, FALSE)) : NULL;
}

/* The path with the most memory in stacks whose mean object size is within FACTOR of SIZE. The mean is exact for
 * objects of a single class; for several classes it is approximate at best. */
static guint32
most_of_size(const CallerTree *tree, guint64 size, gdouble factor)
{
    g_autofree gdouble *held = g_new0(gdouble, tree->nodes->len);
    guint32 best = 0;

    for (guint32 i = 0; i < profile_n_stacks(growth_profile(tree->input->growth)); i++) {
        gdouble block = (gdouble)tree->shares[i].block;
        if (tree->leaves[i] == 0 || block > (gdouble)size * factor || block < (gdouble)size / factor)
            continue;
        held[tree->leaves[i]] += tree->shares[i].held;
        if (held[tree->leaves[i]] > held[best])
            best = tree->leaves[i];
    }
    return best;
}

/* The pinned bytes of a stack; 0 for objects of several classes, whose mean size says little about the class whose
 * holes are charged to them. */
static gdouble
pinned_by(const CallerTree *tree, guint32 stack)
{
    const DoctorClass *class = tree->input->slabs_known ? NULL : tree->shares[stack].class;

    if (class && class->size != tree->shares[stack].block)
        return 0;
    return growth_stack_values(tree->input->pinned, stack)[tree->n_profiles - 1];
}

/* Finds the function whose objects cause the most holes, and their BYTES. */
static DoctorStack *
search_pinner(const CallerTree *tree, gdouble *bytes)
{
    g_autofree gdouble *sums = g_new0(gdouble, tree->nodes->len);
    guint32 n = profile_n_stacks(growth_profile(tree->input->growth));
    guint32 best = 0;

    for (guint32 i = 0; i < n; i++) {
        guint32 leaf = tree->leaves[i];
        sums[leaf] += leaf != 0 ? pinned_by(tree, i) : 0;
        best = sums[leaf] > sums[best] ? leaf : best;
    }
    if (best == 0)
        return NULL;
    best = caller_tree_without_wrappers(tree, best, FALSE);
    g_autofree gboolean *below = find_below(tree, best);
    for (guint32 i = 0; i < n; i++)
        *bytes += tree->leaves[i] != 0 && below[tree->leaves[i]] ? pinned_by(tree, i) : 0;
    return describe(tree, best);
}

static DoctorStack *
search_class_holder(const CallerTree *tree, guint64 size)
{
    static const gdouble factors[] = {1.005, 1.07, 1.5, 3};

    for (gsize i = 0; i < G_N_ELEMENTS(factors) && size > 0; i++) {
        guint32 best = most_of_size(tree, size, factors[i]);
        if (best != 0)
            return describe(tree, caller_tree_without_wrappers(tree, best, FALSE));
    }
    return NULL;
}

/* Used if no sample shows what grows: finds the function with most objects of the class that grows most. */
static void
search_growing_class(const CallerTree *tree, const DoctorClasses *classes, GPtrArray *found)
{
    const DoctorClass *most = NULL;

    for (guint i = 0; i < classes->classes->len; i++) {
        const DoctorClass *class = &g_array_index(classes->classes, DoctorClass, i);
        if (class->grown > 0 && (!most || class->grown > most->grown))
            most = class;
    }
    DoctorStack *stack = most ? search_class_holder(tree, most->size) : NULL;
    if (stack) {
        stack->grown = most->grown;
        stack->samples = 0;
        g_ptr_array_add(found, stack);
    }
}

static gint
by_growth_of_unfreed(gconstpointer a, gconstpointer b)
{
    const Unfreed *left = a;
    const Unfreed *right = b;

    if (left->grown != right->grown)
        return left->grown > right->grown ? -1 : 1;
    return left->node < right->node ? -1 : left->node > right->node;
}

static void
search_unfreed(const CallerTree *tree, GPtrArray *found)
{
    g_autoptr(GArray) all = unfreed_find(tree);

    g_array_sort(all, by_growth_of_unfreed);
    for (guint i = 0; i < all->len && i < MOST_FOUND; i++) {
        const Unfreed *unfreed = &g_array_index(all, Unfreed, i);
        DoctorStack *stack = describe(tree, caller_tree_without_wrappers(tree, unfreed->node, TRUE));
        stack->p = unfreed->p;
        stack->grown = unfreed->grown;
        stack->samples = unfreed->grown / caller_tree_sample_bytes(tree, caller_tree_node(tree, unfreed->node));
        add_found(stack, found);
    }
}

/* Uses births if the dumps have them, otherwise the differences between dumps. */
static DoctorStack *
search_mover(const CallerTree *tree)
{
    guint32 best = 0;
    gdouble most = 0;

    for (guint32 i = 1; i < tree->nodes->len; i++) {
        const CallerNode *node = caller_tree_node(tree, i);
        gdouble moved = tree->input->births ? node->births : node->moved;
        if (node->first_child == PROFILE_NONE && moved > most) {
            most = moved;
            best = i;
        }
    }
    return best != 0 ? describe(tree, caller_tree_without_wrappers(tree, best, FALSE)) : NULL;
}

/* The names of name_of(), by which functions of another profile are found. */
typedef struct {
    char **of_view;    /* per view node */
    guint32 *next;     /* per view node: another one of that name; PROFILE_NONE: none */
    GHashTable *first; /* name -> view node + 1 */
} Names;

static void
names_init(Names *names, const CallerTree *tree)
{
    guint32 n = view_n_nodes(tree->input->view);

    *names = (Names){.of_view = g_new0(char *, (gsize)n + 1),
                     .next = g_new(guint32, (gsize)n + 1),
                     .first = g_hash_table_new(keyed_hash_string, g_str_equal)};
    for (guint32 i = 0; i < n; i++) {
        names->of_view[i] = name_of(view_node(tree->input->view, i));
        guint found = GPOINTER_TO_UINT(g_hash_table_lookup(names->first, names->of_view[i]));
        names->next[i] = found ? found - 1 : PROFILE_NONE;
        g_hash_table_insert(names->first, names->of_view[i], GUINT_TO_POINTER(i + 1));
    }
}

static void
names_clear(Names *names)
{
    g_strfreev(names->of_view);
    g_free(names->next);
    g_clear_pointer(&names->first, g_hash_table_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Names, names_clear)

/* Whether one of the paths to the function VIEW holds objects of a size other than BLOCK for callers other than
 * CALLER. */
static gboolean
holds_beside(const CallerTree *tree, const Names *names, guint32 view, const char *caller, guint64 block)
{
    for (guint32 i = tree->of_view[view]; i != PROFILE_NONE && caller_tree_compares(tree);
         i = caller_tree_node(tree, i)->next_of_view) {
        const CallerNode *node = caller_tree_node(tree, i);
        guint32 above = caller_tree_node(tree, node->parent)->view;
        if (node->held > 0 && block > 0 && above != PROFILE_NONE && !g_str_equal(names->of_view[above], caller) &&
            fabs(node->sized / node->held - log((gdouble)block)) > log(ALIKE))
            return TRUE;
    }
    return FALSE;
}

/* The same for the functions of the name CALLEE. */
static gboolean
helps_others(const CallerTree *tree, const Names *names, const char *callee, const char *caller, guint64 block)
{
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(names->first, callee));

    for (guint32 view = found ? found - 1 : PROFILE_NONE; view != PROFILE_NONE && caller_tree_compares(tree);
         view = names->next[view])
        if (holds_beside(tree, names, view, caller, block))
            return TRUE;
    return FALSE;
}

/* STACK is from samples of a short time: removes its innermost functions that serve other callers according to the
 * whole profile. */
static void
blame_caller(const CallerTree *tree, const Names *names, DoctorStack *stack)
{
    guint n = 0;

    while (stack->functions->len > n + 1 &&
           helps_others(tree, names, stack->functions->pdata[n], stack->functions->pdata[n + 1], stack->block))
        n++;
    if (n > 0)
        g_ptr_array_remove_range(stack->functions, 0, n);
}

static gint
by_growth(gconstpointer a, gconstpointer b)
{
    const DoctorStack *left = *(DoctorStack *const *)a;
    const DoctorStack *right = *(DoctorStack *const *)b;

    return left->grown != right->grown ? (left->grown > right->grown ? -1 : 1) : 0;
}

void
culprit_find(const CulpritInput *input, DoctorEvidence *evidence)
{
    g_auto(CallerTree) tree = {0};
    g_autoptr(GPtrArray) others = g_steal_pointer(&evidence->growing);
    g_auto(Names) names = {0};
    guint left = MOST_FOUND;

    evidence->growing = g_ptr_array_new_with_free_func((GDestroyNotify)doctor_stack_free);
    caller_tree_init(&tree, input);
    if (caller_tree_node(&tree, 0)->grown > 0)
        search_growth(&tree, 0, evidence->growing, &left);
    if (evidence->growing->len == 0 && input->classes && input->classes->grows)
        search_growing_class(&tree, input->classes, evidence->growing);
    g_ptr_array_sort(evidence->growing, by_growth);
    if (others->len > 0 || evidence->mover)
        names_init(&names, &tree);
    if (others->len > 0 && !doctor_growth_is_sampled(evidence->growing)) {
        g_ptr_array_unref(evidence->growing);
        evidence->growing = g_steal_pointer(&others);
        for (guint i = 0; i < evidence->growing->len; i++)
            blame_caller(&tree, &names, evidence->growing->pdata[i]);
    }
    search_unfreed(&tree, evidence->unfreed);
    evidence->holder = search_holder(&tree);
    if (evidence->mover)
        blame_caller(&tree, &names, evidence->mover);
    else
        evidence->mover = search_mover(&tree);
    evidence->class_holder = input->pinned ? search_pinner(&tree, &evidence->pinned) : NULL;
    evidence->slabs_known = input->slabs_known;
    if (!evidence->class_holder)
        evidence->class_holder = search_class_holder(&tree, input->class_size);
    doctor_trend(growth_times(input->growth), caller_tree_values(&tree, 0), growth_n_profiles(input->growth),
                 &evidence->profile_trend);
    evidence->profiled = caller_tree_node(&tree, 0)->held;
}
