/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/growth.h"
#include "profile/combine.h"

#include <math.h>

/* What the verdicts rest on; docs/formats.md, "Growth". */
static const gdouble SIGNIFICANT = 1.96; /* standard errors: 5 % of unchanged stacks pass for changed */
static const gdouble SINGLE_STEP = 0.8;  /* share of all rises that makes one of them the story */
static const gdouble SLOWED_DOWN = 0.25; /* recent slope, as a share of the whole one */
enum { FEWEST_PROFILES = 3 };

struct Growth {
    Profile *profile;
    GrowthStack *stacks;
    guint32 n_stacks;
    GrowthStack total;
    gdouble *values; /* n_profiles per stack */
    gsize n_profiles;
};

static int
compare_doubles(gconstpointer a, gconstpointer b)
{
    gdouble left = *(const gdouble *)a;
    gdouble right = *(const gdouble *)b;

    return left < right ? -1 : left > right;
}

/* The median of the slopes between all pairs of points. */
static gdouble
median_slope(const gdouble *times, const gdouble *values, gsize n)
{
    gsize n_pairs = 0;
    g_autofree gdouble *slopes = g_new(gdouble, n * (n - 1) / 2);

    for (gsize i = 0; i < n; i++) {
        for (gsize j = i + 1; j < n; j++) {
            slopes[n_pairs++] = (values[j] - values[i]) / (times[j] - times[i]);
        }
    }
    qsort(slopes, n_pairs, sizeof *slopes, compare_doubles);
    return (slopes[(n_pairs - 1) / 2] + slopes[n_pairs / 2]) / 2;
}

/* The standard error of the least-squares slope through points of these variances; the median's own is close to it. */
static gdouble
slope_error(const gdouble *times, const gdouble *variances, gsize n)
{
    gdouble mean = 0;
    gdouble spread = 0;
    gdouble sum = 0;

    for (gsize i = 0; i < n; i++) {
        mean += times[i] / (gdouble)n;
    }
    for (gsize i = 0; i < n; i++) {
        gdouble distance = (times[i] - mean) * (times[i] - mean);
        spread += distance;
        sum += distance * variances[i];
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

static GrowthVerdict
judge(const GrowthStack *stack, const gdouble *variances, gsize n)
{
    gboolean trend = differs(stack->slope, stack->slope_error * stack->slope_error);
    gboolean change = differs(stack->last - stack->first, variances[0] + variances[n - 1]);

    if (stack->slope < 0 || stack->last < stack->first) {
        return trend && change ? GROWTH_SHRINKING : GROWTH_WITHIN_ERROR;
    }
    if (!change) {
        return GROWTH_WITHIN_ERROR;
    }
    if (stack->biggest_step >= SINGLE_STEP) {
        return GROWTH_ONE_OFF;
    }
    if (stack->recent_slope < SLOWED_DOWN * stack->slope) {
        return GROWTH_PLATEAU;
    }
    return trend ? GROWTH_STILL_GROWING : GROWTH_WITHIN_ERROR;
}

void
growth_analyse(const gdouble *times, const gdouble *values, const gdouble *variances, gsize n, GrowthStack *result)
{
    gsize n_recent = MAX(2, (n + 2) / 3);

    result->slope = median_slope(times, values, n);
    result->slope_error = slope_error(times, variances, n);
    result->recent_slope = median_slope(times + n - n_recent, values + n - n_recent, n_recent);
    result->biggest_step = biggest_step_share(values, n);
    result->first = values[0];
    result->last = values[n - 1];
    result->verdict = judge(result, variances, n);
}

static int
compare_slopes(gconstpointer a, gconstpointer b)
{
    const GrowthStack *left = a;
    const GrowthStack *right = b;

    if (left->slope != right->slope) {
        return left->slope > right->slope ? -1 : 1;
    }
    return left->stack < right->stack ? -1 : left->stack > right->stack;
}

/* The stacks of all profiles in one, weighted as the last of them; stacks[i] maps those of profile i. */
static Profile *
unite(const Profile *const *profiles, gsize n_profiles, guint32 **stacks, GError **error)
{
    g_autoptr(ProfileBuilder) builder = builder_new();
    const Profile *last = profiles[n_profiles - 1];

    for (gsize i = 0; i < n_profiles; i++) {
        stacks[i] = g_new(guint32, profiles[i]->n_stacks);
        if (!combine_stacks(builder, profiles[i], stacks[i], error)) {
            return NULL;
        }
    }
    for (guint32 i = 0; i < last->n_stacks; i++) {
        builder_add_weight(builder, stacks[n_profiles - 1][i], &last->weights[i]);
    }
    return builder_finish(builder);
}

/* One table of values and one of variances, a row of n_profiles for every stack. */
static void
tabulate(Growth *growth, const Profile *const *profiles, guint32 *const *stacks, ProfileValue value, gdouble *variances)
{
    for (gsize i = 0; i < growth->n_profiles; i++) {
        for (guint32 j = 0; j < profiles[i]->n_stacks; j++) {
            gsize at = stacks[i][j] * growth->n_profiles + i;
            growth->values[at] += profiles[i]->weights[j].estimate[value];
            variances[at] += profiles[i]->weights[j].variance[value];
        }
    }
}

static void
analyse_total(Growth *growth, const Profile *const *profiles, const gdouble *times, ProfileValue value)
{
    g_autofree gdouble *values = g_new(gdouble, growth->n_profiles);
    g_autofree gdouble *variances = g_new(gdouble, growth->n_profiles);

    for (gsize i = 0; i < growth->n_profiles; i++) {
        values[i] = profiles[i]->total.estimate[value];
        variances[i] = profiles[i]->total.variance[value];
    }
    growth->total.stack = PROFILE_NONE;
    growth_analyse(times, values, variances, growth->n_profiles, &growth->total);
}

static void
analyse_stacks(Growth *growth, const gdouble *times, const gdouble *variances)
{
    growth->stacks = g_new(GrowthStack, growth->n_stacks);
    for (guint32 i = 0; i < growth->n_stacks; i++) {
        gsize row = i * growth->n_profiles;
        growth->stacks[i].stack = i;
        growth_analyse(times, growth->values + row, variances + row, growth->n_profiles, &growth->stacks[i]);
    }
    if (growth->n_stacks > 0) {
        qsort(growth->stacks, growth->n_stacks, sizeof *growth->stacks, compare_slopes);
    }
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
    if (!check_times(times, n_profiles, error)) {
        return NULL;
    }
    g_autoptr(Growth) growth = g_new0(Growth, 1);
    g_autofree guint32 **stacks = g_new0(guint32 *, n_profiles);

    growth->n_profiles = n_profiles;
    growth->profile = unite(profiles, n_profiles, stacks, error);
    if (growth->profile != NULL) {
        growth->n_stacks = growth->profile->n_stacks;
        growth->values = g_new0(gdouble, growth->n_stacks * n_profiles);
        g_autofree gdouble *variances = g_new0(gdouble, growth->n_stacks * n_profiles);
        tabulate(growth, profiles, stacks, value, variances);
        analyse_stacks(growth, times, variances);
        analyse_total(growth, profiles, times, value);
    }
    for (gsize i = 0; i < n_profiles; i++) {
        g_free(stacks[i]);
    }
    return growth->profile != NULL ? g_steal_pointer(&growth) : NULL;
}

void
growth_free(Growth *growth)
{
    if (growth == NULL) {
        return;
    }
    profile_free(growth->profile);
    g_free(growth->stacks);
    g_free(growth->values);
    g_free(growth);
}

const Profile *
growth_profile(const Growth *growth)
{
    return growth->profile;
}

const GrowthStack *
growth_stacks(const Growth *growth, guint32 *n_stacks)
{
    *n_stacks = growth->n_stacks;
    return growth->stacks;
}

const gdouble *
growth_series(const Growth *growth, guint32 stack)
{
    return growth->values + stack * growth->n_profiles;
}

const GrowthStack *
growth_total(const Growth *growth)
{
    return &growth->total;
}
