/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/stack-shares.h"

#include "confine/keyed-hash.h"
#include "profile/significance.h"

#include <math.h>
#include <string.h>

static const gdouble ENOUGH_BY_CLASS = 0.5; /* minimum share of the exact growth in stacks of growing classes */

gsize
stack_shares_first_counted(const CulpritInput *input)
{
    return input->young ? growth_n_profiles(input->growth) / 2 : 0;
}

/* The mean object size of a stack in the dump in which it held most; if it never held any, that of all its allocations;
 * 0: unknown. */
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

static gboolean
grows_container(const char *function)
{
    static const char *const parts[] = {"realloc",   "reserve",         "resize",         "rehash",
                                        "_M_insert", "_M_range_insert", "_M_fill_insert", "_M_default_append",
                                        "append",    "expand",          "ensure"};

    for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
        if (strstr(function, parts[i]))
            return TRUE;
    return FALSE;
}

/* For each object, whether its file was unmapped during the watch. */
static gboolean *
find_vanished(const CulpritInput *input)
{
    const Profile *profile = growth_profile(input->growth);
    guint32 n = profile_n_objects(profile);
    gboolean *vanished = g_new0(gboolean, (gsize)n + 1);
    g_autoptr(GHashTable) paths = g_hash_table_new(keyed_hash_string, g_str_equal);

    for (guint i = 0; input->vanished && i < input->vanished->len; i++)
        g_hash_table_add(paths, input->vanished->pdata[i]);
    for (guint32 i = 0; i < n && g_hash_table_size(paths) > 0; i++)
        vanished[i] = g_hash_table_contains(paths, profile_objects(profile)[i].path);
    return vanished;
}

const char *
stack_shares_vanished(const CulpritInput *input, guint32 stack)
{
    const Profile *profile = growth_profile(input->growth);
    const ProfileStack *frames = &profile_stacks(profile)[stack];
    g_autofree gboolean *vanished = find_vanished(input);

    for (guint32 i = 0; i < frames->depth; i++) {
        guint32 object = profile_locations(profile)[profile_frames(profile)[frames->first + i]].object;
        if (object != PROFILE_NONE && vanished[object])
            return profile_objects(profile)[object].path;
    }
    return NULL;
}

/* KNOWN: what was found in earlier functions. Names may be long, and in many locations. */
static StackTraits
traits_of_function(GHashTable *known, const char *function)
{
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(known, function));

    if (found)
        return found - 1;
    StackTraits traits =
        (grows_container(function) ? STACK_CONTAINER : 0) | (strstr(function, "allocate_buckets") ? STACK_BUCKETS : 0);
    g_hash_table_insert(known, (gpointer)(guintptr)function, GUINT_TO_POINTER((guint)traits + 1));
    return traits;
}

/* The traits of each location. Code without a mapping is unloaded; code of interpreters and run-time compilers has a
 * mapping of anonymous memory. */
static StackTraits *
find_traits(const CulpritInput *input)
{
    const Profile *profile = growth_profile(input->growth);
    guint32 n = profile_n_locations(profile);
    StackTraits *traits = g_new0(StackTraits, (gsize)n + 1);
    g_autofree gboolean *vanished = find_vanished(input);
    g_autoptr(GHashTable) known = g_hash_table_new(keyed_hash_pointer, NULL);

    for (guint32 i = 0; i < n; i++) {
        const ProfileLocation *location = &profile_locations(profile)[i];
        const Symbol *symbol = symbols_location(input->names, i);
        if (location->mapping == PROFILE_NONE || (location->object != PROFILE_NONE && vanished[location->object]))
            traits[i] |= STACK_UNLOADED;
        for (guint32 j = 0; j < symbol->n_frames; j++)
            traits[i] |= traits_of_function(known, symbol->frames[j].function);
    }
    return traits;
}

/* Frames of containers are near the allocation. TRAITS are those of the locations. */
static StackTraits
traits_of(const CulpritInput *input, const StackTraits *traits, guint32 stack)
{
    enum { NEAR = 8 };
    const Profile *profile = growth_profile(input->growth);
    const ProfileStack *frames = &profile_stacks(profile)[stack];
    StackTraits all = 0;

    for (guint32 i = 0; i < frames->depth; i++) {
        StackTraits here = traits[profile_frames(profile)[frames->first + i]];
        all |= i < NEAR ? here : here & STACK_UNLOADED;
    }
    return all;
}

static void
read_share(const CulpritInput *input, const StackTraits *traits, guint32 stack, StackShare *share)
{
    gsize n = growth_n_profiles(input->growth);
    const gdouble *values = growth_stack_values(input->growth, stack);
    const gdouble *variances = growth_stack_variances(input->growth, stack);

    *share = (StackShare){.grown = values[n - 1] - values[stack_shares_first_counted(input)],
                          .held = values[n - 1],
                          .exact = values[n - 1],
                          .variance = variances[n - 1],
                          .block = block_of(input, stack),
                          .traits = traits_of(input, traits, stack)};
    share->class = input->classes ? doctor_class_of(input->classes, share->block) : NULL;
    share->sized = share->held * log((gdouble)MAX(share->block, 1));
    for (gsize i = 1; i < n; i++) {
        share->moved += fabs(values[i] - values[i - 1]);
        share->fallen += MAX(0, values[i - 1] - values[i]);
    }
    share->spread =
        significance_spread(values + stack_shares_first_counted(input), n - stack_shares_first_counted(input));
    if (input->births) {
        const gdouble *all = growth_stack_values(input->births, stack);
        const gdouble *errors = growth_stack_variances(input->births, stack);
        gdouble each = all[n - 1] > 0 ? MAX(errors[n - 1] / all[n - 1], 1) : 1;
        share->births = MAX(0, all[n - 1] - all[0]) / each;
        share->deaths = MAX(0, share->births - (values[n - 1] - values[0]) / each);
    }
}

/* ---- callers that take over memory from each other ---- */

/* The growth and the shrinkage of the stacks through one function with objects of one size. */
typedef struct {
    gdouble up, down;
} Exchange;

typedef struct {
    GHashTable *exchanges; /* view << 32 | size -> Exchange */
    StackShare *shares;
    gdouble *kept; /* per stack: the part of its change that remains */
} HandOver;

/* Sizes are rounded to a quarter of a doubling, the distance between size classes. */
static guint64
exchange_key(guint32 view, const StackShare *share)
{
    return (guint64)view << 32 | (guint64)lrint(4 * log2((gdouble)MAX(share->block, 1)));
}

static void
note_exchange(const ViewPath *path, gpointer user)
{
    HandOver *over = user;
    const StackShare *share = &over->shares[path->stack];

    for (guint32 i = 0; i < path->n_nodes && share->grown != 0; i++) {
        guint64 key = exchange_key(path->nodes[i], share);
        Exchange *exchange = g_hash_table_lookup(over->exchanges, &key);
        if (!exchange) {
            exchange = g_new0(Exchange, 1);
            g_hash_table_insert(over->exchanges, g_memdup2(&key, sizeof(key)), exchange);
        }
        *(share->grown > 0 ? &exchange->up : &exchange->down) += fabs(share->grown);
    }
}

static void
find_kept(const ViewPath *path, gpointer user)
{
    HandOver *over = user;
    const StackShare *share = &over->shares[path->stack];

    for (guint32 i = 0; i < path->n_nodes && share->grown != 0; i++) {
        guint64 key = exchange_key(path->nodes[i], share);
        const Exchange *exchange = g_hash_table_lookup(over->exchanges, &key);
        gdouble own = share->grown > 0 ? exchange->up : exchange->down;
        gdouble other = share->grown > 0 ? exchange->down : exchange->up;
        if (own > 0)
            over->kept[path->stack] = MIN(over->kept[path->stack], MAX(0, own - other) / own);
    }
}

/* If one caller of a function allocates what another has freed, the function does not grow by it. */
static void
cancel_hand_over(const CulpritInput *input, StackShare *shares, guint32 n)
{
    g_autofree gdouble *kept = g_new(gdouble, n + 1);
    g_autoptr(GHashTable) exchanges = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, g_free, g_free);
    HandOver over = {exchanges, shares, kept};

    for (guint32 i = 0; i < n; i++)
        kept[i] = 1;
    view_foreach(input->view, note_exchange, &over);
    view_foreach(input->view, find_kept, &over);
    for (guint32 i = 0; i < n; i++)
        shares[i].grown *= kept[i];
}

/* The index of a stack's size class, or the number of classes. */
static guint
class_index(const DoctorClasses *classes, const StackShare *share)
{
    return share->class ? (guint)(share->class - (DoctorClass *)(void *)classes->classes->data) : classes->classes->len;
}

/* By sampling, stacks that turn over in a class seem to grow or shrink: the growth of the class is attributed to its
 * stacks that grow steadily, if any. */
static gdouble
weight_of(const StackShare *share)
{
    static const gdouble STEADY = 1.5; /* standard deviations */
    static const gdouble UNSTEADY = 0.01;

    return MAX(0, share->grown) * (share->grown >= STEADY * share->spread ? 1 : UNSTEADY);
}

/* Reduces growth that is not steady to almost nothing, if steady growth is at least ENOUGH. */
static void
keep_steady(StackShare *shares, guint32 n, gdouble enough)
{
    gdouble steady = 0;

    for (guint32 i = 0; i < n; i++)
        steady += weight_of(&shares[i]);
    for (guint32 i = 0; i < n && steady >= enough; i++)
        shares[i].grown = shares[i].grown > 0 ? weight_of(&shares[i]) : shares[i].grown;
}

/* Distributes the exact growth of each class over its stacks: this removes the error of few large samples, and does not
 * mistake a profile that fills for growth. */
static void
share_out(const DoctorClasses *classes, StackShare *shares, guint32 n)
{
    g_autofree gdouble *sums = g_new0(gdouble, classes->classes->len + 1);
    g_autofree gdouble *given = g_new0(gdouble, n + 1);
    gdouble all = classes->rate * classes->seconds, attributed = 0;

    for (guint32 i = 0; i < n; i++)
        sums[class_index(classes, &shares[i])] += weight_of(&shares[i]);
    for (guint32 i = 0; i < n; i++) {
        guint at = class_index(classes, &shares[i]);
        if (at < classes->classes->len && shares[i].grown > 0)
            given[i] = g_array_index(classes->classes, DoctorClass, at).grown * weight_of(&shares[i]) / sums[at];
        attributed += given[i];
    }
    /* Stacks with objects of many sizes have no class; those that fluctuate do not count as growing then either. */
    if (attributed < ENOUGH_BY_CLASS * all) {
        keep_steady(shares, n, ENOUGH_BY_CLASS * all);
        return;
    }
    for (guint32 i = 0; i < n; i++)
        shares[i].grown = given[i];
}

/* Distributes what each class holds likewise. */
static void
share_out_held(const DoctorClasses *classes, StackShare *shares, guint32 n)
{
    g_autofree gdouble *sums = g_new0(gdouble, classes->classes->len + 1);

    for (guint32 i = 0; i < n; i++)
        sums[class_index(classes, &shares[i])] += shares[i].held;
    for (guint32 i = 0; i < n; i++) {
        guint at = class_index(classes, &shares[i]);
        shares[i].exact = at < classes->classes->len && sums[at] > 0
                              ? g_array_index(classes->classes, DoctorClass, at).bytes * shares[i].held / sums[at]
                              : shares[i].held;
    }
}

StackShare *
stack_shares_new(const CulpritInput *input)
{
    guint32 n = profile_n_stacks(growth_profile(input->growth));
    StackShare *shares = g_new0(StackShare, n + 1);
    g_autofree StackTraits *traits = find_traits(input);

    for (guint32 i = 0; i < n; i++)
        read_share(input, traits, i, &shares[i]);
    cancel_hand_over(input, shares, n);
    if (input->classes && input->classes->classes->len > 0) {
        share_out(input->classes, shares, n);
        share_out_held(input->classes, shares, n);
    }
    return shares;
}
