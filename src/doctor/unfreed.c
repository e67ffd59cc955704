/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/unfreed.h"

#include "profile/significance.h"

#include <math.h>

static const gdouble FREED_LEAST = 0.5; /* minimum share freed of what is allocated in the class */
static const gdouble FALSE_DISCOVERIES = 0.05;
static const gdouble ONE_SAMPLE = 0.5; /* rounds estimates of their number, which are fractional */
static const gdouble SLOWING = 0.2;    /* maximum probability of accepting a fill as steady */

/* How the live bytes of a function change from dump to dump. */
typedef struct {
    guint64 rises, falls; /* numbers of changes */
    gdouble early, late;  /* bytes by which it rises in the first two thirds, and in the last third */
} Changes;

static Changes
changes_of(const gdouble *values, gsize n)
{
    Changes changes = {0};

    for (gsize i = 1; i < n; i++) {
        gdouble change = values[i] - values[i - 1];
        changes.rises += change > 0;
        changes.falls += change < 0;
        *(i < n - n / 3 ? &changes.early : &changes.late) += MAX(change, 0);
    }
    return changes;
}

/* Whether the samples of the last third, SAMPLE bytes each, are too many for a cache that fills, whose pace has fallen
 * to TREND_SLOWER of its mean. */
static gboolean
is_steady(const Changes *changes, gdouble sample)
{
    guint64 late = (guint64)(changes->late / sample + ONE_SAMPLE);
    guint64 early = (guint64)(changes->early / sample + ONE_SAMPLE);

    return significance_share(late, early, TREND_SLOWER / 3) < SLOWING;
}

/* Whether all its objects are of one size class, whose counters show no growth while much is freed. */
static gboolean
is_hidden(const CallerTree *tree, const CallerNode *node)
{
    guint64 block = node->heaviest != PROFILE_NONE ? tree->shares[node->heaviest].block : 0;
    const DoctorClass *class = block > 0 ? tree->shares[node->heaviest].class : NULL;

    return class && class->size == block && node->mixed <= 0 && class->grown <= 0 && class->allocated > 0 &&
           class->allocated - class->risen >= FREED_LEAST * class->allocated;
}

static Unfreed
look_at(const CallerTree *tree, guint32 index)
{
    const CallerNode *node = caller_tree_node(tree, index);
    const gdouble *values = caller_tree_values(tree, index);
    Changes changes = changes_of(values, tree->n_profiles);
    Unfreed unfreed = {.node = index, .p = 1, .grown = values[tree->n_profiles - 1] - values[0]};
    /* Frees that are outweighed by births between two dumps are only visible in dumps with births. */
    gboolean freed = tree->input->births ? node->deaths >= ONE_SAMPLE : changes.falls > 0;

    if (!freed && is_hidden(tree, node) && is_steady(&changes, caller_tree_sample_bytes(tree, node)))
        unfreed.p = significance_binomial(changes.rises, 0);
    return unfreed;
}

GArray *
unfreed_find(const CallerTree *tree)
{
    enum { FEWEST_DUMPS = 12 };
    GArray *found = g_array_new(FALSE, FALSE, sizeof(Unfreed));
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Unfreed));
    g_autoptr(GArray) p = g_array_new(FALSE, FALSE, sizeof(gdouble));

    if (!tree->input->classes || tree->input->young || tree->n_profiles < FEWEST_DUMPS)
        return found;
    for (guint32 i = 1; i < tree->nodes->len; i++) {
        if (caller_tree_node(tree, i)->first_child != PROFILE_NONE)
            continue;
        Unfreed unfreed = look_at(tree, i);
        g_array_append_val(all, unfreed);
        g_array_append_val(p, unfreed.p);
    }
    g_autofree gboolean *accepted = g_new0(gboolean, p->len + 1);
    significance_select((gdouble *)(void *)p->data, p->len, FALSE_DISCOVERIES, accepted);
    for (guint i = 0; i < all->len; i++)
        if (accepted[i])
            g_array_append_val(found, g_array_index(all, Unfreed, i));
    return found;
}
