/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/culprit.h"

#include "profile/significance.h"
#include "report/function-name.h"
#include "report/wrappers.h"

#include <math.h>
#include <string.h>

static const gdouble MOST_OF_GROWTH = 0.8; /* that one callee must have to be blamed instead of its caller */
static const gdouble MOST_OF_HELD = 0.5;
static const gdouble NOTABLE_SHARE = 0.1;    /* of all growth: less does not make a finding */
static const gdouble LESS_SPECIFIC = 0.8;    /* than its caller's: a function that others use as well */
static const gdouble SHARED_STILL = 0.1;     /* of what stands still, for other callers */
static const gdouble HELD_FOR_OTHERS = 0.02; /* of what a function holds for one caller */
static const gdouble ALIKE = 1.2;            /* factor between mean sizes of objects of one kind */
static const gdouble SCATTER = 0.8;          /* of the size of one sample, where objects of many sizes are allocated */
static const gdouble TELLING = 3;            /* samples that would have moved */
static const gdouble ERRORS_OF_EXACT = 2;    /* by which the exact counter may differ from the samples */
static const gdouble FALSE_DISCOVERIES = 0.05;
static const gdouble STANDS_STILL = 0.25;   /* its growth, relative to what it holds, of that of all stacks */
static const gdouble ENOUGH_BY_CLASS = 0.5; /* of the exact growth that the stacks of growing classes explain */

/* One stack of the profile. */
typedef struct {
    gdouble grown; /* of the growth during the watch, as far as it is this stack's */
    gdouble held, variance;
    gdouble exact;          /* held, by the exact counter of its size class */
    gdouble births, deaths; /* samples, about */
    gdouble moved;          /* bytes that came or went between the dumps */
    gdouble spread;         /* standard deviation of grown, by how unevenly it has grown */
    guint64 block;
} Part;

/* A path of functions from the root on. */
typedef struct {
    guint32 parent; /* into Tree.nodes */
    guint32 view;   /* PROFILE_NONE for the root */
    guint32 first_child, next_sibling;
    guint32 next_of_view; /* another path that ends in the same function; PROFILE_NONE: none */
    gdouble grown, held, variance, exact, births, deaths, moved;
    gdouble sized; /* held times the logarithm of the size of its objects: the mean is neither that of the many small
                      ones nor that of one large block */
    gdouble pure, mixed; /* of what it holds: of stacks with objects of one size class, and of several */
    guint32 heaviest;    /* the stack below it with most growth, or with most memory */
    gdouble heaviest_weight;
} Node;

typedef struct {
    const CulpritInput *input;
    GArray *nodes;     /* Node; [0] is the root */
    GHashTable *index; /* parent << 32 | view -> node */
    gsize n_profiles;
    Part *parts;          /* one per stack */
    guint8 *flags;        /* one per stack: StackFlags */
    guint32 *leaves;      /* one per stack: the node of its innermost function; 0: filtered */
    gdouble *specific;    /* per view node: growth through it */
    gdouble growth_share; /* of what all stacks hold, what has grown */
    gdouble all_still;    /* memory that does not grow */
    gdouble *still;       /* per view node: memory through it that does not grow */
    guint32 *of_view;     /* per view node: the first path that ends in it */
    guint32 *seen;        /* per view node: the last stack it was counted for, plus 1 */
    GArray *all_values;   /* gdouble: n_profiles for each node */
} Tree;

typedef enum {
    STACK_UNLOADED = 1 << 0,
    STACK_CONTAINER = 1 << 1,
    STACK_BUCKETS = 1 << 2,
} StackFlags;

static Node *
node_at(const Tree *tree, guint32 index)
{
    return &g_array_index(tree->nodes, Node, index);
}

/* ---- how much of the growth is whose ---- */

static gsize
first_counted(const CulpritInput *input)
{
    return input->young ? growth_n_profiles(input->growth) / 2 : 0;
}

/* The mean size of an object of a stack, in the dump in which it held most; if it never held any, of what it has
 * allocated; 0: unknown. */
static guint64
block_of(const CulpritInput *input, guint32 stack)
{
    const gdouble *values = growth_stack_values(input->growth, stack);
    const gdouble *counts = input->objects ? growth_stack_values(input->objects, stack) : NULL;
    const ProfileWeight *weight = &profile_weights(growth_profile(input->growth))[stack];
    gdouble bytes = weight->estimate[PROFILE_INUSE_SPACE], objects = weight->estimate[PROFILE_INUSE_OBJECTS];

    for (gsize i = 0; counts && i < growth_n_profiles(input->growth); i++)
        if (counts[i] > 0 && (values[i] > bytes || objects <= 0)) {
            bytes = values[i];
            objects = counts[i];
        }
    if (objects <= 0) {
        bytes = weight->estimate[PROFILE_ALLOC_SPACE];
        objects = weight->estimate[PROFILE_ALLOC_OBJECTS];
    }
    return objects > 0 ? (guint64)MIN(bytes / objects + 0.5, (gdouble)G_MAXINT64 / 2) : 0;
}

static void
read_part(const CulpritInput *input, guint32 stack, Part *part)
{
    gsize n = growth_n_profiles(input->growth);
    const gdouble *values = growth_stack_values(input->growth, stack);
    const gdouble *variances = growth_stack_variances(input->growth, stack);

    *part = (Part){.grown = values[n - 1] - values[first_counted(input)],
                   .held = values[n - 1],
                   .exact = values[n - 1],
                   .variance = variances[n - 1],
                   .block = block_of(input, stack)};
    for (gsize i = 1; i < n; i++)
        part->moved += fabs(values[i] - values[i - 1]);
    part->spread = significance_spread(values + first_counted(input), n - first_counted(input));
    if (input->births) {
        const gdouble *all = growth_stack_values(input->births, stack);
        const gdouble *errors = growth_stack_variances(input->births, stack);
        gdouble each = all[n - 1] > 0 ? MAX(errors[n - 1] / all[n - 1], 1) : 1;
        part->births = MAX(0, all[n - 1] - all[0]) / each;
        part->deaths = MAX(0, part->births - (values[n - 1] - values[0]) / each);
    }
}

/* ---- callers that hand over to each other ---- */

/* Of the stacks through one function with objects of one size: what grows, and what shrinks. */
typedef struct {
    gdouble up, down;
} Exchange;

typedef struct {
    GHashTable *exchanges; /* view << 32 | size -> Exchange */
    Part *parts;
    gdouble *kept; /* per stack: the part of its change that remains */
} HandOver;

/* Size classes are a quarter of a doubling apart. */
static guint64
exchange_key(guint32 view, const Part *part)
{
    return (guint64)view << 32 | (guint64)lrint(4 * log2((gdouble)MAX(part->block, 1)));
}

static void
note_exchange(const ViewPath *path, gpointer user)
{
    HandOver *over = user;
    const Part *part = &over->parts[path->stack];

    for (guint32 i = 0; i < path->n_nodes; i++) {
        guint64 key = exchange_key(path->nodes[i], part);
        Exchange *exchange = g_hash_table_lookup(over->exchanges, &key);
        if (!exchange) {
            exchange = g_new0(Exchange, 1);
            g_hash_table_insert(over->exchanges, g_memdup2(&key, sizeof(key)), exchange);
        }
        *(part->grown > 0 ? &exchange->up : &exchange->down) += fabs(part->grown);
    }
}

static void
find_kept(const ViewPath *path, gpointer user)
{
    HandOver *over = user;
    const Part *part = &over->parts[path->stack];

    for (guint32 i = 0; i < path->n_nodes; i++) {
        guint64 key = exchange_key(path->nodes[i], part);
        const Exchange *exchange = g_hash_table_lookup(over->exchanges, &key);
        gdouble own = part->grown > 0 ? exchange->up : exchange->down;
        gdouble other = part->grown > 0 ? exchange->down : exchange->up;
        if (own > 0)
            over->kept[path->stack] = MIN(over->kept[path->stack], MAX(0, own - other) / own);
    }
}

/* What one caller of a function allocates is freed of what another one did: the function does not grow by it. */
static void
cancel_hand_over(const CulpritInput *input, Part *parts, guint32 n)
{
    g_autofree gdouble *kept = g_new(gdouble, n + 1);
    g_autoptr(GHashTable) exchanges = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    HandOver over = {exchanges, parts, kept};

    for (guint32 i = 0; i < n; i++)
        kept[i] = 1;
    view_foreach(input->view, note_exchange, &over);
    view_foreach(input->view, find_kept, &over);
    for (guint32 i = 0; i < n; i++)
        parts[i].grown *= kept[i];
}

/* The place of a stack's size class, or the number of classes. */
static guint
class_index(const DoctorClasses *classes, guint64 block)
{
    const DoctorClass *class = doctor_class_of(classes, block);

    return class ? (guint)(class - (DoctorClass *)(void *)classes->classes->data) : classes->classes->len;
}

/* What turns over in a class seems to grow or shrink by the luck of its samples: the growth of a class is rather that
 * of its stacks that grow steadily, if there are some. */
static gdouble
weight_of(const Part *part)
{
    static const gdouble STEADY = 1.5; /* standard deviations */
    static const gdouble UNSTEADY = 0.01;

    return MAX(0, part->grown) * (part->grown >= STEADY * part->spread ? 1 : UNSTEADY);
}

/* If stacks that grow steadily have at least ENOUGH of the growth. */
static void
keep_steady(Part *parts, guint32 n, gdouble enough)
{
    gdouble steady = 0;

    for (guint32 i = 0; i < n; i++)
        steady += weight_of(&parts[i]);
    for (guint32 i = 0; i < n && steady >= enough; i++)
        parts[i].grown = parts[i].grown > 0 ? weight_of(&parts[i]) : parts[i].grown;
}

/* The exact growth of each class is shared out over its stacks: few large samples lose their error, and a profile that
 * fills is not taken for growth. */
static void
share_out(const DoctorClasses *classes, Part *parts, guint32 n)
{
    g_autofree gdouble *sums = g_new0(gdouble, classes->classes->len + 1);
    g_autofree gdouble *shares = g_new0(gdouble, n + 1);
    gdouble all = classes->rate * classes->seconds, attributed = 0;

    for (guint32 i = 0; i < n; i++)
        sums[class_index(classes, parts[i].block)] += weight_of(&parts[i]);
    for (guint32 i = 0; i < n; i++) {
        guint at = class_index(classes, parts[i].block);
        if (at < classes->classes->len && parts[i].grown > 0)
            shares[i] = g_array_index(classes->classes, DoctorClass, at).grown * weight_of(&parts[i]) / sums[at];
        attributed += shares[i];
    }
    /* Stacks of objects of many sizes are in no class; what swings does not grow then either. */
    if (attributed < ENOUGH_BY_CLASS * all) {
        keep_steady(parts, n, ENOUGH_BY_CLASS * all);
        return;
    }
    for (guint32 i = 0; i < n; i++)
        parts[i].grown = shares[i];
}

/* What a class holds, likewise. */
static void
share_out_held(const DoctorClasses *classes, Part *parts, guint32 n)
{
    g_autofree gdouble *sums = g_new0(gdouble, classes->classes->len + 1);

    for (guint32 i = 0; i < n; i++)
        sums[class_index(classes, parts[i].block)] += parts[i].held;
    for (guint32 i = 0; i < n; i++) {
        guint at = class_index(classes, parts[i].block);
        parts[i].exact = at < classes->classes->len && sums[at] > 0
                             ? g_array_index(classes->classes, DoctorClass, at).bytes * parts[i].held / sums[at]
                             : parts[i].held;
    }
}

/* ---- the tree ---- */

static guint32
child_of(Tree *tree, guint32 parent, guint32 view)
{
    guint64 key = (guint64)parent << 32 | view;
    gpointer found = g_hash_table_lookup(tree->index, &key);
    if (found)
        return GPOINTER_TO_UINT(found);
    Node node = {.parent = parent,
                 .view = view,
                 .first_child = PROFILE_NONE,
                 .next_sibling = node_at(tree, parent)->first_child,
                 .next_of_view = tree->of_view[view],
                 .heaviest = PROFILE_NONE};
    g_array_append_val(tree->nodes, node);
    g_array_set_size(tree->all_values, tree->nodes->len * (guint)tree->n_profiles);
    node_at(tree, parent)->first_child = tree->of_view[view] = tree->nodes->len - 1;
    g_hash_table_insert(tree->index, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(tree->nodes->len - 1));
    return tree->nodes->len - 1;
}

/* The mean size of objects of one class is that of the class; a single sample tells nothing. */
static void
note_sizes(const Tree *tree, Node *node, const Part *part)
{
    const DoctorClass *class = tree->input->classes ? doctor_class_of(tree->input->classes, part->block) : NULL;

    if (!class || part->block == 0)
        return;
    if (class->size != part->block)
        node->mixed += part->held;
    else if (part->held * part->held >= TELLING * part->variance)
        node->pure += part->held;
}

static void
add_to_node(Tree *tree, guint32 index, guint32 stack)
{
    Node *node = node_at(tree, index);
    const Part *part = &tree->parts[stack];
    const gdouble *values = growth_stack_values(tree->input->growth, stack);
    gdouble weight = MAX(part->grown, 0) + part->held * 1e-6;

    node->grown += part->grown;
    node->held += part->held;
    node->sized += part->held * log((gdouble)MAX(part->block, 1));
    node->exact += part->exact;
    note_sizes(tree, node, part);
    node->variance += part->variance;
    node->births += part->births;
    node->deaths += part->deaths;
    node->moved += part->moved;
    if (node->heaviest == PROFILE_NONE || weight > node->heaviest_weight) {
        node->heaviest = stack;
        node->heaviest_weight = weight;
    }
    for (gsize i = 0; i < tree->n_profiles; i++)
        g_array_index(tree->all_values, gdouble, index * tree->n_profiles + i) += values[i];
}

static gboolean
asks_for_more(const char *function)
{
    static const char *const parts[] = {"realloc",   "reserve",         "resize",         "rehash",
                                        "_M_insert", "_M_range_insert", "_M_fill_insert", "_M_default_append",
                                        "append",    "expand",          "ensure"};

    for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
        if (strstr(function, parts[i]))
            return TRUE;
    return FALSE;
}

/* Whether LOCATION is in a file that was mapped during the watch, and is not any more. */
static const char *
vanished_object(const CulpritInput *input, guint32 location)
{
    const Profile *profile = growth_profile(input->growth);
    guint32 object = profile_locations(profile)[location].object;
    const char *path = object != PROFILE_NONE ? profile_objects(profile)[object].path : NULL;

    for (guint i = 0; path && input->vanished && i < input->vanished->len; i++)
        if (g_str_equal(input->vanished->pdata[i], path))
            return path;
    return NULL;
}

/* The file of the first such location of a stack, or NULL. */
static const char *
vanished_of(const CulpritInput *input, guint32 stack)
{
    const Profile *profile = growth_profile(input->growth);
    const ProfileStack *frames = &profile_stacks(profile)[stack];

    for (guint32 i = 0; i < frames->depth; i++) {
        const char *path = vanished_object(input, profile_frames(profile)[frames->first + i]);
        if (path)
            return path;
    }
    return NULL;
}

/* Frames of containers are next to the allocation. Code without a file is unloaded if the frames of an interpreter's or
 * a run-time compiler's code, anonymous memory with a mapping, are not it. */
static StackFlags
look_at_stack(const Tree *tree, guint32 stack)
{
    enum { NEAR = 8 };
    const Profile *profile = growth_profile(tree->input->growth);
    const ProfileStack *frames = &profile_stacks(profile)[stack];
    StackFlags flags = 0;

    for (guint32 i = 0; i < frames->depth; i++) {
        guint32 location = profile_frames(profile)[frames->first + i];
        const Symbol *symbol = symbols_location(tree->input->names, location);
        if (profile_locations(profile)[location].mapping == PROFILE_NONE || vanished_object(tree->input, location))
            flags |= STACK_UNLOADED;
        for (guint32 j = 0; j < symbol->n_frames && i < NEAR; j++) {
            flags |= asks_for_more(symbol->frames[j].function) ? STACK_CONTAINER : 0;
            flags |= strstr(symbol->frames[j].function, "allocate_buckets") ? STACK_BUCKETS : 0;
        }
    }
    return flags;
}

static void
add_path(const ViewPath *path, gpointer user)
{
    Tree *tree = user;
    const Part *part = &tree->parts[path->stack];
    gboolean still = part->grown <= 0 || part->grown < STANDS_STILL * tree->growth_share * part->held;
    guint32 at = 0;

    tree->flags[path->stack] = look_at_stack(tree, path->stack);
    add_to_node(tree, 0, path->stack);
    tree->all_still += still ? part->held : 0;
    for (guint32 i = path->n_nodes; i-- > 0;) {
        guint32 view = path->nodes[i];
        at = child_of(tree, at, view);
        add_to_node(tree, at, path->stack);
        if (tree->seen[view] == path->stack + 1)
            continue;
        tree->seen[view] = path->stack + 1;
        *(still ? &tree->still[view] : &tree->specific[view]) += still ? part->held : MAX(part->grown, 0);
    }
    tree->leaves[path->stack] = at;
}

/* Of a function, wherever it is called from: which part of the memory through it is of the growth. */
static gdouble
specificity(const Tree *tree, guint32 index)
{
    guint32 view = node_at(tree, index)->view;

    if (view == PROFILE_NONE)
        return 0;
    gdouble sum = tree->specific[view] + tree->still[view];
    return sum > 0 ? tree->specific[view] / sum : 0;
}

/* ---- the search ---- */

static gdouble
grown_of(const Node *node)
{
    return node->grown;
}

static gdouble
held_of(const Node *node)
{
    return node->held;
}

static guint32
heaviest_child(const Tree *tree, guint32 index, gdouble (*weight)(const Node *node))
{
    guint32 best = PROFILE_NONE;

    for (guint32 i = node_at(tree, index)->first_child; i != PROFILE_NONE; i = node_at(tree, i)->next_sibling)
        if (best == PROFILE_NONE || weight(node_at(tree, i)) > weight(node_at(tree, best)))
            best = i;
    return best;
}

/* The bytes that one sample stands for. */
static gdouble
sample_bytes(const Tree *tree, const Node *node)
{
    gdouble by_error = node->held > 0 ? node->variance / node->held : 0;
    gdouble block = node->heaviest != PROFILE_NONE ? (gdouble)tree->parts[node->heaviest].block : 1;

    return MAX(MAX(by_error, block), 1);
}

/* Of samples; a hostile dump may name any number. */
static guint64
whole(gdouble samples)
{
    return (guint64)CLAMP(samples + 0.5, 0, (gdouble)G_MAXUINT32);
}

/* NODE with its VALUES, one for each dump. */
static gdouble
p_of_values(const Tree *tree, const Node *node, const gdouble *values)
{
    gsize first = first_counted(tree->input);

    if (tree->input->births)
        return significance_binomial(whole(node->births), whole(node->deaths));
    return significance_increments(values + first, tree->n_profiles - first, sample_bytes(tree, node));
}

static const gdouble *
values_of(const Tree *tree, guint32 index)
{
    return (const gdouble *)(const void *)tree->all_values->data + index * tree->n_profiles;
}

static gdouble
p_of(const Tree *tree, guint32 index)
{
    return p_of_values(tree, node_at(tree, index), values_of(tree, index));
}

static gboolean
is_wrapper(const Tree *tree, guint32 index)
{
    g_autofree char *plain = function_name_plain(view_node(tree->input->view, node_at(tree, index)->view)->name);

    return wrapper_is_known(plain) || wrapper_is_generic(plain);
}

/* Whether much of what stands still is allocated through a function, but not through the one ABOVE that leads to it:
 * then the function allocates for others as well. */
static gboolean
serves_others(const Tree *tree, guint32 index, guint32 above)
{
    gdouble still = tree->still[node_at(tree, index)->view];

    return specificity(tree, index) < LESS_SPECIFIC * specificity(tree, above) ||
           (still >= SHARED_STILL * tree->all_still && tree->still[node_at(tree, above)->view] < still / 2);
}

/* Samples that a node's memory rests on, about. */
static gdouble
samples_of(const Tree *tree, const Node *node)
{
    return node->held / sample_bytes(tree, node);
}

/* Whether what lies below A would have moved as well, if it came and went like what is below B. */
static gboolean
would_have_moved(const Tree *tree, const Node *a, const Node *b)
{
    return a->moved <= 0 && b->held > 0 && samples_of(tree, a) * MIN(1, b->moved / b->held) >= TELLING;
}

/* Objects of one size for A, of many sizes for B. */
static gboolean
is_purer(const Node *a, const Node *b)
{
    return a->mixed <= 0 && a->pure > MOST_OF_HELD * a->held && b->mixed > MOST_OF_HELD * b->held;
}

/* Callers for which a function allocates the same have objects of about one size, which come and go or stay. Of few
 * samples, neither can be told. */
static gboolean
are_alike(const Tree *tree, const Node *a, const Node *b)
{
    gdouble fewest = MAX(1, MIN(samples_of(tree, a), samples_of(tree, b)));

    if (a->held <= 0 || b->held <= 0)
        return a->held <= 0 && b->held <= 0;
    return fabs(a->sized / a->held - b->sized / b->held) <= log(ALIKE + SCATTER / sqrt(fewest)) && !is_purer(a, b) &&
           !is_purer(b, a) && !would_have_moved(tree, a, b) && !would_have_moved(tree, b, a);
}

static gboolean
serves_any_others(const Tree *tree, guint32 index)
{
    for (guint32 above = node_at(tree, index)->parent; above != 0; above = node_at(tree, above)->parent)
        if (serves_others(tree, index, above))
            return TRUE;
    return FALSE;
}

/* The same by what is held: other callers hold other memory through the function. */
static gboolean
holds_for_others(const Tree *tree, guint32 index)
{
    const Node *node = node_at(tree, index);
    guint32 caller = node_at(tree, node->parent)->view;
    gdouble others = 0;

    for (guint32 i = tree->of_view[node->view]; i != PROFILE_NONE; i = node_at(tree, i)->next_of_view) {
        const Node *other = node_at(tree, i);
        guint32 its = node_at(tree, other->parent)->view;
        if (its != caller && its != node->view && !are_alike(tree, node, other))
            others += other->held;
    }
    return others > HELD_FOR_OTHERS * node->held;
}

static gboolean
is_to_blame(const Tree *tree, guint32 index, gboolean by_growth)
{
    return !is_wrapper(tree, index) && !(by_growth ? serves_any_others(tree, index) : holds_for_others(tree, index));
}

/* From a function to the one to be blamed: not one that only allocates for others. */
static guint32
without_wrappers(const Tree *tree, guint32 index, gboolean by_growth)
{
    while (node_at(tree, index)->parent != 0 && !is_to_blame(tree, index, by_growth))
        index = node_at(tree, index)->parent;
    return index;
}

/* ---- a function by all of its callers ---- */

/* What lies below one node, function by function. */
typedef struct {
    const Tree *tree;
    gdouble (*weight)(const Node *node);
    gdouble *sums, *depths; /* per view node; depths are weighted */
    guint32 *heaviest;      /* per view node: the path with most of it */
    guint8 *open;           /* per view node: on the path to here */
} Below;

static void
add_below(Below *below, guint32 index, guint depth)
{
    for (guint32 i = node_at(below->tree, index)->first_child; i != PROFILE_NONE;
         i = node_at(below->tree, i)->next_sibling) {
        const Node *node = node_at(below->tree, i);
        guint8 open = below->open[node->view];
        gdouble weight = MAX(0, below->weight(node));
        if (!open) {
            guint32 best = below->heaviest[node->view];
            below->sums[node->view] += weight;
            below->depths[node->view] += weight * depth;
            if (best == 0 || weight > below->weight(node_at(below->tree, best)))
                below->heaviest[node->view] = i;
        }
        below->open[node->view] = TRUE;
        add_below(below, i, depth + 1);
        below->open[node->view] = open;
    }
}

/* Where no callee of a function has most of its weight, one that several of them call may have it: the deepest such
 * function that is to be blamed, by its heaviest path. Otherwise INDEX. */
static guint32
gather(const Tree *tree, guint32 index, gdouble (*weight)(const Node *node), gboolean by_growth)
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
        if (sums[i] >= (by_growth ? MOST_OF_GROWTH : MOST_OF_HELD) * weight(node_at(tree, index)) && depth > deepest &&
            is_to_blame(tree, heaviest[i], by_growth)) {
            deepest = depth;
            best = heaviest[i];
        }
    }
    return best;
}

/* Without the anonymous namespace, which says nothing to a reader; a frame without a name is passed over until there is
 * one. */
static char *
name_of(const ViewNode *view)
{
    g_auto(GStrv) parts = g_strsplit(view->display, "(anonymous namespace)::", -1);

    return g_strjoinv("", parts);
}

static void
add_name(const Tree *tree, guint32 index, GPtrArray *names)
{
    const ViewNode *view = view_node(tree->input->view, node_at(tree, index)->view);

    if (view->known || node_at(tree, index)->parent == 0)
        g_ptr_array_add(names, name_of(view));
}

/* Whether a path below another of the same function counts twice. */
static gboolean
is_inner(const Tree *tree, guint32 index)
{
    for (guint32 i = node_at(tree, index)->parent; i != 0; i = node_at(tree, i)->parent)
        if (node_at(tree, i)->view == node_at(tree, index)->view)
            return TRUE;
    return FALSE;
}

static void
add_path_to(const Tree *tree, guint32 index, Node *sum, gdouble *values)
{
    const Node *node = node_at(tree, index);

    sum->grown += node->grown;
    sum->held += node->held;
    sum->variance += node->variance;
    sum->exact += node->exact;
    sum->births += node->births;
    sum->deaths += node->deaths;
    sum->moved += node->moved;
    for (gsize i = 0; i < tree->n_profiles; i++)
        values[i] += values_of(tree, index)[i];
}

/* Paths to the same function by other callers, if they behave like this one. */
static void
add_other_paths(const Tree *tree, guint32 index, Node *sum, gdouble *values)
{
    const Node *node = node_at(tree, index);
    gdouble pace = node->held > 0 ? MAX(0, node->grown) / node->held : 0;

    for (guint32 i = tree->of_view[node->view]; i != PROFILE_NONE; i = node_at(tree, i)->next_of_view) {
        const Node *other = node_at(tree, i);
        if (i != index && !is_inner(tree, i) && are_alike(tree, node, other) &&
            other->grown >= STANDS_STILL * pace * other->held)
            add_path_to(tree, i, sum, values);
    }
}

/* The exact counter, unless the samples tell that it is another one's as well. */
static gdouble
bytes_of(const Node *sum)
{
    return fabs(sum->exact - sum->held) <= ERRORS_OF_EXACT * sqrt(sum->variance) ? sum->exact : sum->held;
}

static DoctorStack *
describe(const Tree *tree, guint32 index)
{
    const Profile *profile = growth_profile(tree->input->growth);
    g_autofree gdouble *values = g_new0(gdouble, tree->n_profiles);
    DoctorStack *stack = g_new0(DoctorStack, 1);
    Node sum = {.heaviest = node_at(tree, index)->heaviest};

    while (is_inner(tree, index) && node_at(tree, index)->parent != 0)
        index = node_at(tree, index)->parent;
    add_path_to(tree, index, &sum, values);
    add_other_paths(tree, index, &sum, values);
    stack->functions = g_ptr_array_new_with_free_func(g_free);
    for (guint32 i = index; i != 0; i = node_at(tree, i)->parent)
        add_name(tree, i, stack->functions);
    stack->bytes = bytes_of(&sum);
    stack->error = sqrt(sum.variance);
    stack->grown = sum.grown;
    stack->moved = sum.moved;
    stack->samples = sum.grown / sample_bytes(tree, &sum);
    stack->p = p_of_values(tree, &sum, values);
    stack->block = tree->parts[sum.heaviest].block;
    stack->unloaded = (tree->flags[sum.heaviest] & STACK_UNLOADED) != 0 && profile_n_mappings(profile) > 0;
    stack->object = g_strdup(vanished_of(tree->input, sum.heaviest));
    stack->container = (tree->flags[sum.heaviest] & STACK_CONTAINER) != 0;
    stack->buckets =
        (tree->flags[sum.heaviest] & STACK_BUCKETS) != 0 && tree->parts[sum.heaviest].held > MOST_OF_HELD * sum.held;
    return stack;
}

/* Found by two of its callers, a function is named once. */
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

/* The significant children of a node with a notable share of all growth. */
static GArray *
divided(const Tree *tree, guint32 index)
{
    GArray *chosen = g_array_new(FALSE, FALSE, sizeof(guint32));
    g_autoptr(GArray) p = g_array_new(FALSE, FALSE, sizeof(gdouble));
    g_autoptr(GArray) children = g_array_new(FALSE, FALSE, sizeof(guint32));

    for (guint32 i = node_at(tree, index)->first_child; i != PROFILE_NONE; i = node_at(tree, i)->next_sibling) {
        gdouble value = p_of(tree, i);
        g_array_append_val(children, i);
        g_array_append_val(p, value);
    }
    g_autofree gboolean *accepted = g_new0(gboolean, p->len + 1);
    significance_select((gdouble *)(void *)p->data, p->len, FALSE_DISCOVERIES, accepted);
    for (guint i = 0; i < children->len; i++) {
        guint32 child = g_array_index(children, guint32, i);
        if (accepted[i] && node_at(tree, child)->grown >= NOTABLE_SHARE * node_at(tree, 0)->grown)
            g_array_append_val(chosen, child);
    }
    return chosen;
}

static void
search_growth(const Tree *tree, guint32 index, GPtrArray *found)
{
    for (;;) {
        guint32 child = heaviest_child(tree, index, grown_of);
        if (child == PROFILE_NONE || node_at(tree, child)->grown < MOST_OF_GROWTH * node_at(tree, index)->grown)
            break;
        index = child;
    }
    g_autoptr(GArray) parts = divided(tree, index);
    gdouble best = 0;
    for (guint i = 0; i < parts->len; i++)
        best = MAX(best, specificity(tree, g_array_index(parts, guint32, i)));
    /* What also holds much that does not grow only leads to those that grow. */
    if (parts->len > 0 && specificity(tree, index) < LESS_SPECIFIC * best)
        for (guint i = 0; i < parts->len; i++)
            search_growth(tree, g_array_index(parts, guint32, i), found);
    else if (index != 0)
        add_found(describe(tree, without_wrappers(tree, gather(tree, index, grown_of, TRUE), TRUE)), found);
}

static DoctorStack *
search_holder(const Tree *tree)
{
    guint32 index = 0;

    for (;;) {
        guint32 child = heaviest_child(tree, index, held_of);
        if (child == PROFILE_NONE || node_at(tree, child)->held < MOST_OF_HELD * node_at(tree, index)->held)
            break;
        index = child;
    }
    index = gather(tree, index, held_of, FALSE);
    return index != 0 ? describe(tree, without_wrappers(tree, index, FALSE)) : NULL;
}

/* The function with most objects of about this size: the mean of a stack whose objects are all of one class is that of
 * the class, that of several is somewhere near at best. */
static guint32
most_of_size(const Tree *tree, guint64 size, gdouble factor)
{
    g_autofree gdouble *held = g_new0(gdouble, tree->nodes->len);
    guint32 best = 0;

    for (guint32 i = 0; i < profile_n_stacks(growth_profile(tree->input->growth)); i++) {
        gdouble block = (gdouble)tree->parts[i].block;
        if (tree->leaves[i] == 0 || block > (gdouble)size * factor || block < (gdouble)size / factor)
            continue;
        held[tree->leaves[i]] += tree->parts[i].held;
        if (held[tree->leaves[i]] > held[best])
            best = tree->leaves[i];
    }
    return best;
}

/* Objects of several classes share a mean that says little of the class whose holes are charged to them. */
static gdouble
pinned_by(const Tree *tree, guint32 stack)
{
    const DoctorClasses *classes = tree->input->slabs_known ? NULL : tree->input->classes;
    const DoctorClass *class = classes ? doctor_class_of(classes, tree->parts[stack].block) : NULL;

    if (class && class->size != tree->parts[stack].block)
        return 0;
    return growth_stack_values(tree->input->pinned, stack)[tree->n_profiles - 1];
}

static gboolean
is_below(const Tree *tree, guint32 node, guint32 above)
{
    while (node != 0 && node != above)
        node = node_at(tree, node)->parent;
    return node == above;
}

/* The function whose objects keep most holes. */
static DoctorStack *
search_pinner(const Tree *tree, gdouble *bytes)
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
    best = without_wrappers(tree, best, FALSE);
    for (guint32 i = 0; i < n; i++)
        *bytes += tree->leaves[i] != 0 && is_below(tree, tree->leaves[i], best) ? pinned_by(tree, i) : 0;
    return describe(tree, best);
}

static DoctorStack *
search_class_holder(const Tree *tree, guint64 size)
{
    static const gdouble factors[] = {1.005, 1.07, 1.5, 3};

    for (gsize i = 0; i < G_N_ELEMENTS(factors) && size > 0; i++) {
        guint32 best = most_of_size(tree, size, factors[i]);
        if (best != 0)
            return describe(tree, without_wrappers(tree, best, FALSE));
    }
    return NULL;
}

/* Where no sample tells whose growth it is: by the objects of the class that grows most. */
static void
search_growing_class(const Tree *tree, const DoctorClasses *classes, GPtrArray *found)
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

/* By births where the dumps have them, else by what differs between them. */
static DoctorStack *
search_mover(const Tree *tree)
{
    guint32 best = 0;
    gdouble most = 0;

    for (guint32 i = 1; i < tree->nodes->len; i++) {
        const Node *node = node_at(tree, i);
        gdouble moved = tree->input->births ? node->births : node->moved;
        if (node->first_child == PROFILE_NONE && moved > most) {
            most = moved;
            best = i;
        }
    }
    return best != 0 ? describe(tree, without_wrappers(tree, best, FALSE)) : NULL;
}

static gboolean
is_named(const Tree *tree, guint32 view, const char *name)
{
    g_autofree char *shown = name_of(view_node(tree->input->view, view));

    return g_str_equal(shown, name);
}

/* Whether CALLEE allocates objects of another size for others than CALLER, of all that is held. */
static gboolean
helps_others(const Tree *tree, const char *callee, const char *caller, guint64 block)
{
    for (guint32 view = 0; view < view_n_nodes(tree->input->view); view++) {
        if (tree->of_view[view] == PROFILE_NONE || !is_named(tree, view, callee))
            continue;
        for (guint32 i = tree->of_view[view]; i != PROFILE_NONE; i = node_at(tree, i)->next_of_view) {
            const Node *node = node_at(tree, i);
            guint32 above = node_at(tree, node->parent)->view;
            if (node->held > 0 && block > 0 && above != PROFILE_NONE && !is_named(tree, above, caller) &&
                fabs(node->sized / node->held - log((gdouble)block)) > log(ALIKE))
                return TRUE;
        }
    }
    return FALSE;
}

/* A function found in samples of a short time is not one that helps others, as far as the profile of all shows. */
static void
blame_caller(const Tree *tree, DoctorStack *stack)
{
    while (stack->functions->len > 1 &&
           helps_others(tree, stack->functions->pdata[0], stack->functions->pdata[1], stack->block))
        g_ptr_array_remove_index(stack->functions, 0);
}

static gint
by_growth(gconstpointer a, gconstpointer b)
{
    const DoctorStack *left = *(DoctorStack *const *)a;
    const DoctorStack *right = *(DoctorStack *const *)b;

    return left->grown != right->grown ? (left->grown > right->grown ? -1 : 1) : 0;
}

static void
tree_init(Tree *tree, const CulpritInput *input)
{
    const Node root = {.parent = PROFILE_NONE,
                       .view = PROFILE_NONE,
                       .first_child = PROFILE_NONE,
                       .next_sibling = PROFILE_NONE,
                       .heaviest = PROFILE_NONE};
    guint32 n = profile_n_stacks(growth_profile(input->growth));
    gsize n_nodes = (gsize)view_n_nodes(input->view) + 1;

    *tree = (Tree){.input = input,
                   .nodes = g_array_new(FALSE, FALSE, sizeof(Node)),
                   .index = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
                   .n_profiles = growth_n_profiles(input->growth),
                   .parts = g_new0(Part, n + 1),
                   .flags = g_new0(guint8, n + 1),
                   .leaves = g_new0(guint32, n + 1),
                   .specific = g_new0(gdouble, n_nodes),
                   .still = g_new0(gdouble, n_nodes),
                   .of_view = g_new(guint32, n_nodes),
                   .seen = g_new0(guint32, n_nodes),
                   .all_values = g_array_new(FALSE, TRUE, sizeof(gdouble))};
    memset(tree->of_view, 0xff, n_nodes * sizeof(guint32));
    g_array_append_val(tree->nodes, root);
    g_array_set_size(tree->all_values, (guint)tree->n_profiles);
    for (guint32 i = 0; i < n; i++)
        read_part(input, i, &tree->parts[i]);
    cancel_hand_over(input, tree->parts, n);
    if (input->classes && input->classes->classes->len > 0) {
        share_out(input->classes, tree->parts, n);
        share_out_held(input->classes, tree->parts, n);
    }
    gdouble grown = 0, held = 0;
    for (guint32 i = 0; i < n; i++) {
        grown += MAX(0, tree->parts[i].grown);
        held += tree->parts[i].held;
    }
    tree->growth_share = held > 0 ? grown / held : 0;
}

static void
tree_clear(Tree *tree)
{
    g_array_unref(tree->nodes);
    g_hash_table_unref(tree->index);
    g_array_unref(tree->all_values);
    g_free(tree->parts);
    g_free(tree->flags);
    g_free(tree->leaves);
    g_free(tree->specific);
    g_free(tree->still);
    g_free(tree->of_view);
    g_free(tree->seen);
}

void
culprit_find(const CulpritInput *input, DoctorEvidence *evidence)
{
    Tree tree;

    tree_init(&tree, input);
    view_foreach(input->view, add_path, &tree);
    if (node_at(&tree, 0)->grown > 0)
        search_growth(&tree, 0, evidence->growing);
    if (evidence->growing->len == 0 && input->classes && input->classes->grows)
        search_growing_class(&tree, input->classes, evidence->growing);
    g_ptr_array_sort(evidence->growing, by_growth);
    evidence->holder = search_holder(&tree);
    if (evidence->mover)
        blame_caller(&tree, evidence->mover);
    else
        evidence->mover = search_mover(&tree);
    evidence->class_holder = input->pinned ? search_pinner(&tree, &evidence->pinned) : NULL;
    evidence->slabs_known = input->slabs_known;
    if (!evidence->class_holder)
        evidence->class_holder = search_class_holder(&tree, input->class_size);
    evidence->profiled = node_at(&tree, 0)->held;
    tree_clear(&tree);
}
