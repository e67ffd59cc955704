/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/growth.h"
#include "profile/combine.h"
#include "profile/holes.h"
#include "profile/significance.h"

#include <math.h>

/* The thresholds of the verdicts; docs/formats.md, "Growth". */
static const gdouble SIGNIFICANT = 1.96; /* standard errors: 5 % of unchanged stacks are taken for changed */
static const gdouble ONE_SIDED = 0.025;  /* the same, as a probability */
static const gdouble SINGLE_STEP = 0.8;  /* share of all rises above which a single step explains the growth */
static const gdouble SLOWED_DOWN = 0.25; /* recent slope as a fraction of the overall one */
static const gdouble BEYOND_LIMIT = 1.5; /* factor over the growth by the program's own counters, which have no error */
static const gdouble MAD_TO_SIGMA = 1.4826;
enum { FEWEST_PROFILES = 3 };

struct Growth {
    Profile *profile;
    GrowthRow total;
    gdouble *times;
    gdouble *values; /* n_profiles per stack */
    gdouble *variances;
    gdouble *total_values, *total_variances;
    gdouble *births; /* of each stack, from the first to the last profile, like deaths; NULL: not known */
    gdouble *deaths;
    gsize n_profiles;
    gboolean fills; /* see growth_set_filling() */
    gdouble limit;
};

/* The value of rank RANK in ascending order; on return, those before it are not larger and those after it not smaller
 * (Hoare 1961). */
static gdouble
select_rank(gdouble *values, gsize n, gsize rank)
{
    gssize low = 0, high = (gssize)n - 1, wanted = (gssize)rank;

    while (low < high) {
        gdouble pivot = values[low + (high - low) / 2];
        gssize i = low, j = high;
        while (i <= j) {
            for (; values[i] < pivot; i++)
                ;
            for (; values[j] > pivot; j--)
                ;
            if (i > j)
                break;
            gdouble kept = values[i];
            values[i++] = values[j];
            values[j--] = kept;
        }
        if (wanted <= j)
            high = j;
        else if (wanted >= i)
            low = i;
        else
            break;
    }
    return values[rank];
}

static gdouble
median(gdouble *values, gsize n)
{
    gdouble upper = select_rank(values, n, n / 2), lower = upper;

    if (n % 2 == 0) {
        lower = values[0];
        for (gsize i = 1; i < n / 2; i++)
            lower = MAX(lower, values[i]);
    }
    return (lower + upper) / 2;
}

/* The median of the slopes between all pairs of points. */
static gdouble
median_slope(const gdouble *times, const gdouble *values, gsize n)
{
    gsize n_pairs = 0;
    g_autofree gdouble *slopes = g_new(gdouble, n * (n - 1) / 2);

    for (gsize i = 0; i < n; i++)
        for (gsize j = i + 1; j < n; j++)
            slopes[n_pairs++] = (values[j] - values[i]) / (times[j] - times[i]);
    return median(slopes, n_pairs);
}

/* The standard deviation of the values around a line of this slope, by the median of the distances, which ignores a
 * single outlier. For three profiles it is unknown, and 0 here. */
static gdouble
movement(const gdouble *times, const gdouble *values, gsize n, gdouble slope)
{
    g_autofree gdouble *distances = g_new(gdouble, n);
    gdouble middle;

    if (n <= FEWEST_PROFILES)
        return 0;
    for (gsize i = 0; i < n; i++)
        distances[i] = values[i] - slope * times[i];
    middle = median(distances, n);
    for (gsize i = 0; i < n; i++)
        distances[i] = fabs(distances[i] - middle);
    return MAD_TO_SIGMA * median(distances, n) * sqrt((gdouble)n / (gdouble)(n - 2));
}

/* The standard error of the least-squares slope through points of these variances, at least MOVED squared; the median's
 * own is close to it. */
static gdouble
slope_error(const gdouble *times, const gdouble *variances, gsize n, gdouble moved)
{
    gdouble mean = 0;
    gdouble spread = 0;
    gdouble sum = 0;

    for (gsize i = 0; i < n; i++)
        mean += times[i] / (gdouble)n;
    for (gsize i = 0; i < n; i++) {
        gdouble distance = (times[i] - mean) * (times[i] - mean);
        spread += distance;
        sum += distance * MAX(variances[i], moved * moved);
    }
    return sqrt(sum) / spread;
}

static gdouble
biggest_step_share(const gdouble *values, gsize n)
{
    gdouble sum = 0;
    gdouble biggest = 0;

    for (gsize i = 1; i < n; i++) {
        gdouble rise = MAX(0, values[i] - values[i - 1]);
        sum += rise;
        biggest = MAX(biggest, rise);
    }
    return sum > 0 ? biggest / sum : 0;
}

/* Whether two values differ by more than their errors. */
static gboolean
differs(gdouble difference, gdouble variance)
{
    return fabs(difference) > SIGNIFICANT * sqrt(variance);
}

/* The minimum and the maximum of one third of the profiles. */
static void
third(const gdouble *values, gsize n, gsize which, gdouble *low, gdouble *high)
{
    gsize first = which * n / 3;

    *low = *high = values[first];
    for (gsize i = first + 1; i < (which + 1) * n / 3; i++) {
        *low = MIN(*low, values[i]);
        *high = MAX(*high, values[i]);
    }
}

/* A value that swings returns to its earlier level; growth has rising low-water marks, and a lasting step is above all
 * earlier values. */
static void
find_levels(const gdouble *values, gsize n, gboolean *rises, gboolean *stays)
{
    gdouble low[3], high[3];

    for (gsize i = 0; i < 3; i++)
        third(values, n, i, &low[i], &high[i]);
    *rises = low[0] < low[1] && low[1] < low[2];
    *stays = high[0] < low[2];
}

/* A count of samples, which is a sum of integers. */
static guint64
whole(gdouble count)
{
    return (guint64)(MAX(count, 0) + 0.5);
}

static GrowthVerdict
judge(const GrowthRow *row, const gdouble *values, const gdouble *variances, gsize n)
{
    gboolean falls = row->slope < 0 || row->last < row->first;
    gboolean trend = differs(row->slope, row->slope_error * row->slope_error);
    gboolean change = differs(row->last - row->first, variances[0] + variances[n - 1]);
    gboolean rises, stays;

    /* Objects that live in both profiles have the same error in both; only births and deaths change it. */
    if (row->is_counted)
        trend = change = (falls ? significance_binomial(whole(row->deaths), whole(row->births)) : row->p) < ONE_SIDED;
    if (falls)
        return trend && change ? GROWTH_SHRINKING : GROWTH_WITHIN_ERROR;
    find_levels(values, n, &rises, &stays);
    if (!change || !(rises || stays))
        return GROWTH_WITHIN_ERROR;
    if (stays && row->biggest_step >= SINGLE_STEP)
        return GROWTH_ONE_OFF;
    if (stays && row->recent_slope < SLOWED_DOWN * row->slope)
        return GROWTH_PLATEAU;
    return trend && rises ? GROWTH_STILL_GROWING : GROWTH_WITHIN_ERROR;
}

/* Evaluates the births and deaths, if known. Must precede analyse(). */
static void
count(GrowthRow *row, gboolean known, gdouble births, gdouble deaths)
{
    row->is_counted = known;
    row->births = known ? MAX(births, 0) : 0;
    row->deaths = known ? MAX(deaths, 0) : 0;
    row->p = significance_binomial(whole(row->births), whole(row->deaths));
}

static void
analyse(const gdouble *times, const gdouble *values, const gdouble *variances, gsize n, GrowthRow *row)
{
    gsize n_recent = MAX(2, (n + 2) / 3);

    row->slope = median_slope(times, values, n);
    row->slope_error = slope_error(times, variances, n, movement(times, values, n, row->slope));
    row->recent_slope = median_slope(times + n - n_recent, values + n - n_recent, n_recent);
    row->biggest_step = biggest_step_share(values, n);
    row->first = values[0];
    row->last = values[n - 1];
    row->verdict = judge(row, values, variances, n);
}

void
growth_analyse(const gdouble *times, const gdouble *values, const gdouble *variances, gsize n, GrowthRow *result)
{
    count(result, FALSE, 0, 0);
    analyse(times, values, variances, n, result);
}

static int
compare_slopes(gconstpointer a, gconstpointer b)
{
    const GrowthRow *left = a;
    const GrowthRow *right = b;

    if (left->slope != right->slope)
        return left->slope > right->slope ? -1 : 1;
    return left->group < right->group ? -1 : left->group > right->group;
}

/* The stacks of all profiles in one, weighted as the last of them; stacks[i] maps those of profile i. */
static Profile *
unite(const Profile *const *profiles, gsize n_profiles, guint32 **stacks, GError **error)
{
    g_autoptr(ProfileBuilder) builder = builder_new();
    const Profile *last = profiles[n_profiles - 1];

    for (gsize i = 0; i < n_profiles; i++) {
        stacks[i] = g_new(guint32, profiles[i]->n_stacks);
        if (!combine_stacks(builder, profiles[i], stacks[i], error))
            return NULL;
    }
    for (guint32 i = 0; i < last->n_stacks; i++)
        builder_add_weight(builder, stacks[n_profiles - 1][i], &last->weights[i]);
    builder_set_known(builder, last->known);
    return builder_finish(builder);
}

/* The weights of a profile, with its holes if VALUE needs them. To be freed. */
static ProfileWeight *
weights_with(const Profile *profile, ProfileValue value)
{
    ProfileWeight *weights = g_memdup2(profile->weights, profile->n_stacks * sizeof(ProfileWeight));
    HolesSum sum;

    if (value == PROFILE_PINNED && profile_has_value(profile, value))
        holes_compute(profile, NULL, value, weights, &sum);
    return weights;
}

/* One table of values and one of variances, a row of n_profiles for every stack. */
static void
tabulate(Growth *growth, const Profile *const *profiles, guint32 *const *stacks, ProfileValue value)
{
    gsize n = growth->n_profiles;

    growth->values = g_new0(gdouble, growth->profile->n_stacks * n);
    growth->variances = g_new0(gdouble, growth->profile->n_stacks * n);
    for (gsize i = 0; i < n; i++) {
        g_autofree ProfileWeight *weights = weights_with(profiles[i], value);
        for (guint32 j = 0; j < profiles[i]->n_stacks; j++) {
            gsize at = stacks[i][j] * n + i;
            growth->values[at] += weights[j].estimate[value];
            growth->variances[at] += weights[j].variance[value];
        }
    }
}

/* Whether the births and deaths of all profiles come from one continuous count. */
static gboolean
counts_go_on(const Profile *const *profiles, gsize n_profiles, ProfileValue value)
{
    if (value != PROFILE_INUSE_SPACE && value != PROFILE_INUSE_OBJECTS)
        return FALSE;
    for (gsize i = 0; i < n_profiles; i++) {
        const Profile *before = profiles[i > 0 ? i - 1 : 0];
        const ProfileSampler *sampler = profile_sampler(profiles[i]);
        const ProfileSampler *earlier = profile_sampler(before);
        if (!profile_has_value(profiles[i], PROFILE_ALLOC_OBJECTS) || profiles[i]->period != before->period ||
            (sampler ? sampler->since : 0) != (earlier ? earlier->since : 0) ||
            profiles[i]->total.births < before->total.births || profiles[i]->total.deaths < before->total.deaths)
            return FALSE;
    }
    return TRUE;
}

static void
tabulate_counts(Growth *growth, const Profile *const *profiles, guint32 *const *stacks)
{
    const gsize ends[] = {0, growth->n_profiles - 1};

    growth->births = g_new0(gdouble, growth->profile->n_stacks);
    growth->deaths = g_new0(gdouble, growth->profile->n_stacks);
    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++) {
        const Profile *profile = profiles[ends[i]];
        gdouble sign = i == 0 ? -1 : 1;
        for (guint32 j = 0; j < profile->n_stacks; j++) {
            growth->births[stacks[ends[i]][j]] += sign * profile->weights[j].births;
            growth->deaths[stacks[ends[i]][j]] += sign * profile->weights[j].deaths;
        }
    }
}

static void
sum_totals(Growth *growth, const Profile *const *profiles, ProfileValue value)
{
    growth->total_values = g_new(gdouble, growth->n_profiles);
    growth->total_variances = g_new(gdouble, growth->n_profiles);
    for (gsize i = 0; i < growth->n_profiles; i++) {
        growth->total_values[i] = profiles[i]->total.estimate[value];
        growth->total_variances[i] = profiles[i]->total.variance[value];
    }
}

static void
analyse_total(Growth *growth)
{
    gdouble births = 0, deaths = 0;

    for (guint32 i = 0; growth->births && i < growth->profile->n_stacks; i++) {
        births += growth->births[i];
        deaths += growth->deaths[i];
    }
    growth->total.group = PROFILE_NONE;
    count(&growth->total, growth->births != NULL, births, deaths);
    analyse(growth->times, growth->total_values, growth->total_variances, growth->n_profiles, &growth->total);
}

void
growth_ignore_counts(Growth *growth)
{
    g_clear_pointer(&growth->births, g_free);
    g_clear_pointer(&growth->deaths, g_free);
    analyse_total(growth);
}

static gboolean
check_times(const gdouble *times, gsize n_profiles, GError **error)
{
    if (n_profiles < FEWEST_PROFILES) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                    "growth needs at least %d profiles, not %" G_GSIZE_FORMAT, FEWEST_PROFILES, n_profiles);
        return FALSE;
    }
    for (gsize i = 1; i < n_profiles; i++) {
        if (!(times[i] > times[i - 1])) {
            g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                        "profile %" G_GSIZE_FORMAT " is not later than the one before it", i + 1);
            return FALSE;
        }
    }
    return TRUE;
}

Growth *
growth_new(const Profile *const *profiles, const gdouble *times, gsize n_profiles, ProfileValue value, GError **error)
{
    if (!check_times(times, n_profiles, error))
        return NULL;
    g_autoptr(Growth) growth = g_new0(Growth, 1);
    g_autofree guint32 **stacks = g_new0(guint32 *, n_profiles);

    growth->n_profiles = n_profiles;
    growth->times = g_memdup2(times, n_profiles * sizeof(*times));
    growth->profile = unite(profiles, n_profiles, stacks, error);
    if (growth->profile != NULL) {
        tabulate(growth, profiles, stacks, value);
        if (counts_go_on(profiles, n_profiles, value))
            tabulate_counts(growth, profiles, stacks);
        sum_totals(growth, profiles, value);
        analyse_total(growth);
    }
    for (gsize i = 0; i < n_profiles; i++)
        g_free(stacks[i]);
    return growth->profile != NULL ? g_steal_pointer(&growth) : NULL;
}

void
growth_free(Growth *growth)
{
    if (growth == NULL)
        return;
    profile_free(growth->profile);
    g_free(growth->times);
    g_free(growth->values);
    g_free(growth->variances);
    g_free(growth->total_values);
    g_free(growth->total_variances);
    g_free(growth->births);
    g_free(growth->deaths);
    g_free(growth);
}

const Profile *
growth_profile(const Growth *growth)
{
    return growth->profile;
}

const gdouble *
growth_stack_values(const Growth *growth, guint32 stack)
{
    return growth->values + stack * growth->n_profiles;
}

const gdouble *
growth_stack_variances(const Growth *growth, guint32 stack)
{
    return growth->variances + stack * growth->n_profiles;
}

gsize
growth_n_profiles(const Growth *growth)
{
    return growth->n_profiles;
}

const gdouble *
growth_times(const Growth *growth)
{
    return growth->times;
}

/* The verdict for a profile whose sampling has just begun. */
static void
doubt(const Growth *growth, GrowthRow *row)
{
    if (growth->fills && row->verdict == GROWTH_STILL_GROWING && !(row->slope <= BEYOND_LIMIT * growth->limit))
        row->verdict = GROWTH_FILLING;
}

void
growth_set_filling(Growth *growth, gdouble limit)
{
    growth->fills = TRUE;
    growth->limit = limit;
    doubt(growth, &growth->total);
}

const GrowthRow *
growth_total(const Growth *growth)
{
    return &growth->total;
}

/* Adds each stack's row, of N numbers, of a table to the row of its group. TABLE may be NULL: zeros. */
static gdouble *
sum_groups(const Growth *growth, const gdouble *table, gsize n, const guint32 *groups, guint32 n_groups)
{
    gdouble *sums = g_new0(gdouble, n_groups * n);

    for (guint32 i = 0; i < growth->profile->n_stacks; i++)
        for (gsize j = 0; table && j < n && groups[i] != PROFILE_NONE; j++)
            sums[groups[i] * n + j] += table[i * n + j];
    return sums;
}

GrowthRows *
growth_rows(const Growth *growth, const guint32 *groups, guint32 n_groups)
{
    gsize n = growth->n_profiles;
    GrowthRows *rows = g_new(GrowthRows, 1);
    g_autofree gdouble *variances = sum_groups(growth, growth->variances, n, groups, n_groups);
    g_autofree gdouble *births = sum_groups(growth, growth->births, 1, groups, n_groups);
    g_autofree gdouble *deaths = sum_groups(growth, growth->deaths, 1, groups, n_groups);

    *rows = (GrowthRows){.rows = g_new(GrowthRow, n_groups),
                         .n_rows = n_groups,
                         .values = sum_groups(growth, growth->values, n, groups, n_groups),
                         .n_profiles = n};
    for (guint32 i = 0; i < n_groups; i++) {
        rows->rows[i].group = i;
        count(&rows->rows[i], growth->births != NULL, births[i], deaths[i]);
        analyse(growth->times, rows->values + i * n, variances + i * n, n, &rows->rows[i]);
        doubt(growth, &rows->rows[i]);
    }
    if (n_groups > 0)
        qsort(rows->rows, n_groups, sizeof(*rows->rows), compare_slopes);
    return rows;
}

void
growth_rows_free(GrowthRows *rows)
{
    g_free(rows->rows);
    g_free(rows->values);
    g_free(rows);
}

const gdouble *
growth_rows_series(const GrowthRows *rows, guint32 group)
{
    return rows->values + group * rows->n_profiles;
}
