/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/holes.h"

#include "profile/model.h"

#include <math.h>
#include <string.h>

enum {
    FEWEST_SAMPLES = 20, /* of a class: the minimum for a statement about it */
    FEWEST_PAIRS = 20,   /* of samples in one slab: the minimum for a statement about the mixture of slabs */
    MOST_REGIONS = 4096, /* of a slab; jemalloc's have 512 at most */
    OLD_SECONDS = 60,    /* or half of the recording if that is shorter */
    MOST_STRATA = 13,    /* powers of two of the occupancy */
};
static const gdouble Z95 = 1.959963984540054;
static const gdouble COMPLETE = 3;    /* standard errors by which the objects of a class may be incomplete */
static const gdouble ONE_SIZE = 0.02; /* relative distance of a mean from a class of which all objects then are */
static const gdouble MOST_TOGETHER = 0.999;
static const gdouble MIXED = 0.02;    /* chance of two owners: with less, a stratum says nothing about mixture */
static const gdouble ADDRESSED = 0.8; /* share of the samples of a class that have the occupancy of their slab */

/* Objects of one class and stack: a whole row of a dump, or one sample. */
typedef struct {
    guint32 class, stack, group;
    guint32 occupied; /* allocated regions of the slab; 0: unknown */
    guint32 unused;
    gboolean old;
    guint64 address;
    gdouble objects, variance; /* estimates, of those in slabs */
    gdouble samples;
} Piece;

typedef struct {
    gdouble low, middle, high;
} Range;

/* One size class. */
typedef struct {
    const ProfileClass *of;
    const Piece *pieces; /* by group */
    guint n_pieces;
    gdouble objects, variance, samples, old_samples;
    gdouble unused; /* bytes */
    Range covered;  /* the fraction of the live regions that the pieces represent */
    gboolean addressed;
    Range together; /* correlation of the owners of two regions of a slab: 0 mixed at random, 1 slabs have one owner */
    gdouble *slabs; /* of k live regions: [1..regions] */
    gdouble stratum_objects[MOST_STRATA], stratum_samples[MOST_STRATA];
    GHashTable *known_back; /* results of go_back_stratum() */
} Class;

typedef struct {
    const Profile *profile;
    const guint32 *groups;
    ProfileValue value;
    ProfileWeight *weights;
    GArray *pieces; /* Piece */
} Holes;

/* ---- pieces ---- */

static gboolean
is_usable(const ProfileClass *class)
{
    return class->regions > 1 && class->regions <= MOST_REGIONS && class->size > 0 && class->slabs > 0 &&
           class->live > 0 && class->slabs <= G_MAXUINT64 / class->regions &&
           class->live <= class->slabs * class->regions;
}

/* The first class of at least SIZE bytes. */
static guint
class_from(const Profile *profile, gdouble size)
{
    guint low = 0, high = profile->n_classes;

    while (low < high) {
        guint middle = (low + high) / 2;
        if ((gdouble)profile->classes[middle].size < size)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void
add_piece(Holes *holes, const Piece *piece)
{
    const Profile *profile = holes->profile;

    if (piece->class < profile->n_classes && is_usable(&profile->classes[piece->class]))
        g_array_append_val(holes->pieces, *piece);
}

static guint32
group_of(const Holes *holes, guint32 stack)
{
    return holes->groups != NULL ? holes->groups[stack] : stack;
}

/* jemalloc places sampled objects outside slabs. Rows of several sizes say nothing about a class. */
static void
add_rows(Holes *holes)
{
    const Profile *profile = holes->profile;

    for (guint32 i = 0; i < profile->n_stacks; i++) {
        const ProfileWeight *weight = &profile->weights[i];
        gdouble objects = weight->estimate[PROFILE_INUSE_OBJECTS];
        gdouble mean = objects > 0 ? weight->estimate[PROFILE_INUSE_SPACE] / objects : 0;
        guint class = class_from(profile, mean * (1 - ONE_SIZE));
        if (!(mean > 0) || class >= profile->n_classes || (gdouble)profile->classes[class].size > mean * (1 + ONE_SIZE))
            continue;
        gdouble missed = profile->period > 1 ? exp(-mean / (gdouble)profile->period) : 0;
        add_piece(holes, &(Piece){.class = class,
                                  .stack = i,
                                  .group = group_of(holes, i),
                                  .old = TRUE,
                                  .objects = objects * missed,
                                  .variance = weight->variance[PROFILE_INUSE_OBJECTS] * missed * missed,
                                  .samples = objects * (1 - missed)});
    }
}

static gboolean
is_old(const ProfileSampler *sampler, const ProfileSample *sample)
{
    guint64 least = MIN((guint64)OLD_SECONDS * G_USEC_PER_SEC, sampler->window / 2);

    return sample->born <= sampler->window && sampler->window - sample->born >= least;
}

static void
add_samples(Holes *holes)
{
    const Profile *profile = holes->profile;

    for (guint32 i = 0; i < profile->n_samples; i++) {
        const ProfileSample *sample = &profile->samples[i];
        gdouble p = profile->period > 1 ? -expm1(-(gdouble)sample->size / (gdouble)profile->period) : 1;
        guint class = class_from(profile, (gdouble)sample->size);
        if (class >= profile->n_classes || profile->classes[class].size != sample->size)
            continue;
        gboolean known = sample->regions == profile->classes[class].regions && sample->unused < sample->regions;
        add_piece(holes, &(Piece){.class = class,
                                  .stack = sample->stack,
                                  .group = group_of(holes, sample->stack),
                                  .occupied = known ? sample->regions - sample->unused : 0,
                                  .unused = known ? sample->unused : 0,
                                  .old = is_old(&profile->sampler, sample),
                                  .address = sample->address,
                                  .objects = 1 / p,
                                  .variance = (1 - p) / (p * p),
                                  .samples = 1});
    }
}

static gint
by_class_and_group(gconstpointer a, gconstpointer b)
{
    const Piece *left = a;
    const Piece *right = b;

    if (left->class != right->class)
        return left->class < right->class ? -1 : 1;
    return left->group < right->group ? -1 : left->group > right->group;
}

static gint
by_address(gconstpointer a, gconstpointer b)
{
    const Piece *left = *(const Piece *const *)a;
    const Piece *right = *(const Piece *const *)b;

    return left->address < right->address ? -1 : left->address > right->address;
}

/* ---- a class ---- */

/* Wilson's interval of a share, from a number of samples that need not be whole. */
static Range
share_range(gdouble share, gdouble samples)
{
    gdouble zz = Z95 * Z95;

    if (!(samples > 0))
        return (Range){0, share, 1};
    gdouble middle = (share + zz / (2 * samples)) / (1 + zz / samples);
    gdouble half = Z95 / (1 + zz / samples) * sqrt(share * (1 - share) / samples + zz / (4 * samples * samples));
    return (Range){MAX(0, MIN(share, middle - half)), share, MIN(1, MAX(share, middle + half))};
}

/* A profile that lacks no more than sampling explains is complete. */
static void
find_coverage(Class *class)
{
    gdouble live = (gdouble) class->of->live;
    gdouble error = COMPLETE * sqrt(class->variance) / live;
    gdouble part = class->objects / live;
    gboolean complete = part + error >= 1;

    class->covered = (Range){MAX(0, MIN(1, part - error)), complete ? 1 : part, complete ? 1 : part + error};
}

static guint
stratum_of(guint occupied)
{
    return MIN(g_bit_storage(occupied) - 1, MOST_STRATA - 1);
}

static void
scale_slabs(Class *class)
{
    gdouble sum = 0;

    for (guint k = 1; k <= class->of->regions; k++)
        sum += class->slabs[k];
    for (guint k = 1; k <= class->of->regions && sum > 0; k++)
        class->slabs[k] *= (gdouble) class->of->slabs / sum;
}

/* A slab with k live regions is found by each of them. */
static void
count_slabs(Class *class)
{
    for (guint i = 0; i < class->n_pieces; i++) {
        const Piece *piece = &class->pieces[i];
        if (piece->occupied == 0)
            continue;
        class->slabs[piece->occupied] += piece->objects / piece->occupied;
        class->stratum_objects[stratum_of(piece->occupied)] += piece->objects;
        class->stratum_samples[stratum_of(piece->occupied)] += piece->samples;
    }
    scale_slabs(class);
}

static gdouble
mean_of_geometric(gdouble ratio, guint most)
{
    gdouble sum = 0, weighted = 0, term = 1;

    for (guint k = 1; k <= most; k++, term *= ratio) {
        sum += term;
        weighted += term * k;
    }
    return weighted / sum;
}

/* The ratio with which a geometric distribution on 1..MOST has MEAN; it has the largest entropy of all distributions
 * with this mean. */
static gdouble
ratio_of_mean(gdouble mean, guint most)
{
    gdouble low = -40, high = 40; /* of the logarithm */

    for (int i = 0; i < 60; i++) {
        gdouble middle = (low + high) / 2;
        *(mean_of_geometric(exp(middle / most * 8), most) < mean ? &low : &high) = middle;
    }
    return exp((low + high) / 2 / most * 8);
}

/* The mean occupancy of the slabs that are not full. */
static gdouble
mean_occupancy(const ProfileClass *of, gdouble partial)
{
    gdouble full = (gdouble)of->slabs - partial;
    gdouble mean = ((gdouble)of->live - full * (gdouble)of->regions) / partial;

    return CLAMP(mean, 1, (gdouble)of->regions);
}

/* Without addresses only the mean is known. */
static gdouble
partial_slabs(const ProfileClass *of)
{
    gboolean known = of->nonfull > 0 && of->nonfull <= of->slabs && of->live >= (of->slabs - of->nonfull) * of->regions;

    return (gdouble)(known ? of->nonfull : of->slabs);
}

static void
assume_slabs(Class *class)
{
    gdouble partial = partial_slabs(class->of);
    gdouble mean = mean_occupancy(class->of, partial);
    guint most = (guint) class->of->regions;
    gdouble ratio = ratio_of_mean(mean, most), term = 1;
    gdouble sum = 0;

    for (guint k = 1; k <= most; k++, term *= ratio)
        sum += term;
    term = 1;
    for (guint k = 1; k <= most; k++, term *= ratio)
        class->slabs[k] = partial * term / sum;
    class->slabs[most] += (gdouble) class->of->slabs - partial;
}

/* For each stratum: the probability that two objects of it, in any slabs, have the same owner. */
static void
find_chance(const Class *class, gdouble chance[MOST_STRATA])
{
    gdouble sums[MOST_STRATA] = {0};

    memset(chance, 0, MOST_STRATA * sizeof(*chance));
    for (guint i = 0; i < class->n_pieces; i++) {
        const Piece *piece = &class->pieces[i];
        if (piece->occupied > 0)
            sums[stratum_of(piece->occupied)] += piece->objects;
        if (i + 1 < class->n_pieces && piece[1].group == piece->group)
            continue;
        for (guint j = 0; j < MOST_STRATA; j++) {
            gdouble share = class->stratum_objects[j] > 0 ? sums[j] / class->stratum_objects[j] : 0;
            chance[j] += share * share;
            sums[j] = 0;
        }
    }
}

/* Two samples in one slab have the same owner more often than two of its stratum if owners cluster. */
static void
measure_together(Class *class)
{
    g_autofree const Piece **sorted = g_new(const Piece *, class->n_pieces);
    gdouble chance[MOST_STRATA];
    gdouble pairs = 0, same = 0, expected = 0;

    find_chance(class, chance);
    for (guint i = 0; i < class->n_pieces; i++)
        sorted[i] = &class->pieces[i];
    qsort(sorted, class->n_pieces, sizeof(*sorted), by_address);
    for (guint i = 1; i < class->n_pieces; i++) {
        const Piece *left = sorted[i - 1], *right = sorted[i];
        if (left->occupied < 2 || left->occupied != right->occupied ||
            right->address - left->address >= class->of->slab || chance[stratum_of(left->occupied)] > 1 - MIXED)
            continue;
        pairs++;
        same += left->group == right->group;
        expected += chance[stratum_of(left->occupied)];
    }
    if (pairs < FEWEST_PAIRS)
        return;
    Range share = share_range(same / pairs, pairs);
    expected /= pairs;
    class->together = (Range){CLAMP((share.low - expected) / (1 - expected), 0, MOST_TOGETHER),
                              CLAMP((share.middle - expected) / (1 - expected), 0, MOST_TOGETHER),
                              CLAMP((share.high - expected) / (1 - expected), 0, MOST_TOGETHER)};
}

/* PIECES are those of the class. */
static void
class_init(Class *class, const ProfileClass *of, const Piece *pieces, guint n)
{
    gdouble addressed = 0;

    *class = (Class){.of = of, .pieces = pieces, .n_pieces = n};
    for (guint i = 0; i < n; i++) {
        class->objects += pieces[i].objects;
        class->variance += pieces[i].variance;
        class->samples += pieces[i].samples;
        class->old_samples += pieces[i].old ? pieces[i].samples : 0;
        addressed += pieces[i].occupied > 0 ? pieces[i].samples : 0;
    }
    class->unused = ((gdouble)of->slabs * (gdouble)of->regions - (gdouble)of->live) * (gdouble)of->size;
    class->addressed = n > 0 && addressed >= ADDRESSED * class->samples;
    class->together = (Range){0, 0, MOST_TOGETHER};
    find_coverage(class);
}

/* ---- pinned ---- */

static gdouble
pinned_weight(const Class *class, const Piece *piece)
{
    if (!piece->old)
        return 0;
    if (!class->addressed)
        return piece->objects;
    return piece->occupied > 0 ? piece->objects * piece->unused / piece->occupied : 0;
}

static void
share_unused(const Holes *holes, const Class *class, HolesSum *sum)
{
    gdouble all = 0;

    for (guint i = 0; i < class->n_pieces; i++)
        all += pinned_weight(class, &class->pieces[i]);
    if (class->old_samples < FEWEST_SAMPLES || !(all > 0))
        return;
    gdouble bytes = class->unused * class->covered.middle;
    for (guint i = 0; i < class->n_pieces; i++) {
        const Piece *piece = &class->pieces[i];
        gdouble share = pinned_weight(class, piece) / all;
        gdouble spread = piece->objects > 0 ? share / piece->objects : 0;
        gdouble variance = bytes * bytes * spread * spread * piece->variance * (1 - share);
        holes->weights[piece->stack].estimate[PROFILE_PINNED] += bytes * share;
        holes->weights[piece->stack].variance[PROFILE_PINNED] += variance;
    }
    gdouble error = class->unused * (class->covered.high - class->covered.low) / (2 * Z95);
    sum->attributed += bytes;
    sum->variance += error * error;
}

/* ---- what if ---- */

/* The number of slabs of the occupancies of one stratum, or of all, that would be returned. */
static gdouble
slabs_of(const Class *class, guint first, guint last, gdouble share, gdouble together)
{
    static const gdouble least = 1e-12;
    gdouble sum = 0, all = 1;

    for (guint k = 1; k <= last && all > least; k++) {
        gdouble others = (k - 1) * together;
        all *= (share * (1 - together) + others) / (1 - together + others);
        if (k >= first)
            sum += class->slabs[k] * all;
    }
    return sum;
}

static Range
covered_share(const Class *class, gdouble share, gdouble samples)
{
    Range range = share_range(MIN(1, share), samples);

    return (Range){range.low * class->covered.low, range.middle * class->covered.middle,
                   range.high * class->covered.high};
}

/* The slabs of one stratum that would be returned without SAMPLES of its samples. All objects of a class have one size,
 * so groups with the same number of samples have the same result; it is computed once. */
static const Range *
go_back_stratum(const Class *class, guint stratum, guint samples)
{
    gpointer key = GSIZE_TO_POINTER((gsize)samples * MOST_STRATA + stratum);
    Range *sum = g_hash_table_lookup(class->known_back, key);
    if (sum != NULL)
        return sum;
    guint regions = (guint) class->of->regions;
    guint first = 1u << stratum;
    guint last = stratum + 1 < MOST_STRATA ? MIN((2u << stratum) - 1, regions) : regions;
    gdouble all = class->stratum_samples[stratum];
    Range share = covered_share(class, samples / all, all);
    gdouble counted = Z95 / sqrt(all); /* the error of the number of such slabs */
    sum = g_new(Range, 1);
    sum->low = slabs_of(class, first, last, share.low, class->together.low) * MAX(0, 1 - counted);
    sum->middle = slabs_of(class, first, last, share.middle, class->together.middle);
    sum->high = slabs_of(class, first, last, share.high, class->together.high) * (1 + counted);
    g_hash_table_insert(class->known_back, key, sum);
    return sum;
}

static Range
go_back_addressed(const Class *class, const guint samples[MOST_STRATA])
{
    Range sum = {0};

    for (guint stratum = 0; stratum < MOST_STRATA; stratum++) {
        if (samples[stratum] == 0)
            continue;
        const Range *part = go_back_stratum(class, stratum, samples[stratum]);
        sum.low += part->low;
        sum.middle += part->middle;
        sum.high += part->high;
    }
    return sum;
}

/* The minimum: all slabs are as full as their mean, and mixed at random; the maximum: each object has a slab of its
 * own. */
static Range
go_back_assumed(const Class *class, gdouble objects)
{
    Range share = covered_share(class, objects / class->objects, class->samples);
    gdouble partial = partial_slabs(class->of);
    gdouble full = (gdouble) class->of->slabs - partial;
    guint regions = (guint) class->of->regions;

    return (Range){partial * pow(share.low, mean_occupancy(class->of, partial)) + full * pow(share.low, regions),
                   slabs_of(class, 1, regions, share.middle, 0), (gdouble) class->of->slabs};
}

/* Handles one group: the pieces FIRST to LAST - 1. */
static void
add_going_back(const Holes *holes, const Class *class, guint first, guint last)
{
    guint strata[MOST_STRATA] = {0}; /* samples */
    gdouble objects = 0, variance = 0;

    for (guint i = first; i < last; i++) {
        const Piece *piece = &class->pieces[i];
        objects += piece->objects;
        variance += piece->variance;
        if (piece->occupied > 0)
            strata[stratum_of(piece->occupied)]++;
    }
    if (!(objects > 0))
        return;
    Range back = class->addressed ? go_back_addressed(class, strata) : go_back_assumed(class, objects);
    /* No more slabs than objects, and than exist. */
    back.high = MIN(back.high, MIN(profile_interval(objects, variance, Z95).high, (gdouble) class->of->slabs));
    back.middle = MIN(back.middle, back.high);
    gdouble bytes = (gdouble) class->of->slab;
    gdouble error = bytes * MAX(back.high - back.middle, back.middle - back.low) / Z95;
    for (guint i = first; i < last; i++) {
        gdouble part = class->pieces[i].objects / objects;
        ProfileWeight *weight = &holes->weights[class->pieces[i].stack];
        weight->estimate[PROFILE_WHATIF] += bytes * back.middle * part;
        weight->variance[PROFILE_WHATIF] += error * error * part;
    }
}

static void
find_going_back(const Holes *holes, Class *class)
{
    if (class->samples < FEWEST_SAMPLES)
        return;
    g_autofree gdouble *slabs = g_new0(gdouble, class->of->regions + 1);
    g_autoptr(GHashTable) known_back = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    guint first = 0;
    class->slabs = slabs;
    class->known_back = known_back;
    if (class->addressed) {
        count_slabs(class);
        measure_together(class);
    } else {
        assume_slabs(class);
    }
    for (guint i = 1; i <= class->n_pieces; i++) {
        if (i < class->n_pieces && class->pieces[i].group == class->pieces[first].group)
            continue;
        if (class->pieces[first].group != PROFILE_NONE)
            add_going_back(holes, class, first, i);
        first = i;
    }
    class->slabs = NULL;
    class->known_back = NULL;
}

/* ---- all of it ---- */

static void
add_class(const Holes *holes, guint index, guint *at, HolesSum *sum)
{
    const ProfileClass *of = &holes->profile->classes[index];
    const Piece *pieces = holes->pieces->len > 0 ? &g_array_index(holes->pieces, Piece, *at) : NULL;
    guint n = 0;
    Class class;

    while (*at + n < holes->pieces->len && pieces[n].class == index)
        n++;
    *at += n;
    if (!is_usable(of))
        return;
    class_init(&class, of, pieces, n);
    sum->unused += class.unused;
    sum->slabs += (gdouble)of->slabs * (gdouble)of->slab;
    sum->covered += class.covered.middle * class.unused;
    sum->addressed = sum->addressed || class.addressed;
    share_unused(holes, &class, sum);
    if (holes->value == PROFILE_WHATIF)
        find_going_back(holes, &class);
}

void
holes_compute(const Profile *profile, const guint32 *groups, ProfileValue value, ProfileWeight *weights, HolesSum *sum)
{
    Holes holes = {profile, groups, value, weights, g_array_new(FALSE, FALSE, sizeof(Piece))};
    guint at = 0;

    *sum = (HolesSum){0};
    for (guint32 i = 0; i < profile->n_stacks; i++) {
        weights[i].estimate[PROFILE_PINNED] = weights[i].variance[PROFILE_PINNED] = 0;
        weights[i].estimate[PROFILE_WHATIF] = weights[i].variance[PROFILE_WHATIF] = 0;
    }
    if (profile->has_sampler)
        add_samples(&holes);
    else
        add_rows(&holes);
    g_array_sort(holes.pieces, by_class_and_group);
    for (guint i = 0; i < profile->n_classes; i++)
        add_class(&holes, i, &at, sum);
    sum->covered = sum->unused > 0 ? sum->covered / sum->unused : 0;
    g_array_unref(holes.pieces);
}
