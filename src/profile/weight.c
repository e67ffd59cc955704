/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/weight.h"

#include <math.h>
#include <string.h>

/* docs/formats.md, "Weights", derives all of these. */
static const gdouble PEAK_RATIO = 1.5936242600400401; /* where x^2 / (e^x - 1) is largest */
static const gdouble PEAK = 0.64761023789191;         /* and its value there */
static const gdouble SMALLEST_SIZE = 16;
static const gdouble EIGHTH_VARIANCE = 1.0 / 64 / 12; /* of rounding to eighths, as 5.3.0 on does with 1 / p */
static const gdouble EXACT_PROBABILITY = 16.0 / 17;   /* from here on 1 / p is rounded to 1: all are in it */

/* The nearest number with three significant bits: the mantissa of a double shows all but the first of them. */
static gdouble
nearest_class(gdouble size)
{
    enum { BELOW = 52 - 2 };
    guint64 bits;

    memcpy(&bits, &size, sizeof(bits));
    bits = (bits + ((guint64)1 << (BELOW - 1))) & ~(((guint64)1 << BELOW) - 1);
    memcpy(&size, &bits, sizeof(size));
    return size;
}

/*
 * Whether all samples behind a mean size have the same size: a class of jemalloc has at most three significant bits.
 * Dumps from 5.3.0 on deviate slightly, since they count in eighths of an object and then in whole ones.
 */
static gboolean
is_one_size(gdouble objects, gdouble mean, gdouble ratio, gdouble p)
{
    gdouble miss = fabs(nearest_class(mean) - mean);

    return objects == 1 || miss <= mean * ratio * (1 - p) / 16 + 1 + 0.5 / objects;
}

/* Estimates and variances of one pair of sums, written to weight[first] (objects) and weight[first + 1] (bytes). */
static void
estimate_pair(gdouble n, gdouble sum, guint64 period, ProfileValue first, ProfileWeight *weight)
{
    if (period == 1 || n <= 0 || sum <= 0) {
        weight->estimate[first] = n;
        weight->estimate[first + 1] = sum;
        return;
    }
    gdouble mean = sum / n;
    gdouble ratio = mean / (gdouble)period;
    gdouble p = -expm1(-ratio);
    gdouble variance = n * (1 - p) / (p * p);

    weight->estimate[first] = n / p;
    weight->estimate[first + 1] = sum / p;
    weight->variance[first] = variance;
    weight->variance[first + 1] = variance * mean * mean;
    if (!is_one_size(n, mean, ratio, p)) {
        weight->variance[first] *= 1 + log(MAX(1, mean / SMALLEST_SIZE));
        if (ratio > PEAK_RATIO)
            weight->variance[first + 1] = n / p * PEAK * (gdouble)period * (gdouble)period;
    }
    if (p < EXACT_PROBABILITY)
        weight->variance[first] += n * n * EIGHTH_VARIANCE;
}

/*
 * What was allocated and is no longer in use was freed. Only the differences of the estimates are correct for any mix
 * of sizes; as counts they are n * p and b * p, as in a dump of 5.3.0.
 */
static void
estimate_freed(const DumpCounts *counts, guint64 period, ProfileWeight *weight)
{
    gdouble objects = weight->estimate[PROFILE_ALLOC_OBJECTS] - weight->estimate[PROFILE_INUSE_OBJECTS];
    gdouble bytes = weight->estimate[PROFILE_ALLOC_SPACE] - weight->estimate[PROFILE_INUSE_SPACE];

    if (counts->alloc_objects <= counts->inuse_objects || objects <= 0 || bytes <= 0)
        return;
    gdouble p = period == 1 ? 1 : -expm1(-bytes / objects / (gdouble)period);
    weight->deaths = (gdouble)(counts->alloc_objects - counts->inuse_objects);
    estimate_pair(objects * p, bytes * p, period, PROFILE_FREED_OBJECTS, weight);
}

void
weight_from_counts(const DumpCounts *counts, guint64 period, ProfileWeight *weight)
{
    *weight = (ProfileWeight){.births = (gdouble)counts->alloc_objects};
    estimate_pair((gdouble)counts->inuse_objects, (gdouble)counts->inuse_bytes, period, PROFILE_INUSE_OBJECTS, weight);
    estimate_pair((gdouble)counts->alloc_objects, (gdouble)counts->alloc_bytes, period, PROFILE_ALLOC_OBJECTS, weight);
    estimate_freed(counts, period, weight);
}

/* For one sampled object: the number of objects it represents, and the variance of that number. */
typedef struct {
    gdouble objects, variance;
} Share;

static Share
share_of(guint64 size, guint64 period)
{
    if (period == 1)
        return (Share){1, 0};
    gdouble p = -expm1(-(gdouble)size / (gdouble)period);
    return (Share){1 / p, (1 - p) / (p * p)};
}

/* Adds N objects of SIZE, each representing SHARE, to the pair of values that begins with FIRST. */
static void
add_objects(ProfileWeight *weight, ProfileValue first, gdouble n, gdouble size, Share share)
{
    weight->estimate[first] += n * share.objects;
    weight->variance[first] += n * share.variance;
    weight->estimate[first + 1] += n * share.objects * size;
    weight->variance[first + 1] += n * share.variance * size * size;
}

void
weight_add_live(ProfileWeight *weight, guint64 size, gdouble age, guint64 period)
{
    Share share = share_of(size, period);
    gdouble bytes = (gdouble)size;

    add_objects(weight, PROFILE_INUSE_OBJECTS, 1, bytes, share);
    weight->births += 1;
    weight->estimate[PROFILE_AGE] += share.objects * bytes * age;
    weight->variance[PROFILE_AGE] += share.variance * bytes * bytes * age * age;
    weight->age_covariance += share.variance * bytes * bytes * age;
}

void
weight_add_deaths(ProfileWeight *weight, const ProfileDeaths *deaths, guint64 period)
{
    Share share = share_of(deaths->size, period);
    gdouble bytes = (gdouble)deaths->size;

    add_objects(weight, PROFILE_FREED_OBJECTS, (gdouble)deaths->n, bytes, share);
    weight->births += (gdouble)deaths->n;
    weight->deaths += (gdouble)deaths->n;
    weight->estimate[PROFILE_LIFETIME] += share.objects * bytes * deaths->lifetimes;
    weight->variance[PROFILE_LIFETIME] += share.variance * bytes * bytes * deaths->squares;
    weight->lifetime_covariance += share.variance * bytes * bytes * deaths->lifetimes;
}

void
weight_set_alloc(ProfileWeight *weight)
{
    static const struct {
        ProfileValue alloc, inuse, freed;
    } sums[] = {{PROFILE_ALLOC_OBJECTS, PROFILE_INUSE_OBJECTS, PROFILE_FREED_OBJECTS},
                {PROFILE_ALLOC_SPACE, PROFILE_INUSE_SPACE, PROFILE_FREED_SPACE}};

    for (gsize i = 0; i < G_N_ELEMENTS(sums); i++) {
        weight->estimate[sums[i].alloc] = weight->estimate[sums[i].inuse] + weight->estimate[sums[i].freed];
        weight->variance[sums[i].alloc] = weight->variance[sums[i].inuse] + weight->variance[sums[i].freed];
    }
}

void
weight_set_churn(ProfileWeight *weight, gdouble window)
{
    weight->estimate[PROFILE_CHURN] = weight->estimate[PROFILE_FREED_SPACE] / window;
    weight->variance[PROFILE_CHURN] = weight->variance[PROFILE_FREED_SPACE] / (window * window);
}

/* The variance of a ratio of two estimates, to first order (docs/formats.md, "Means"). */
gboolean
profile_mean(const ProfileWeight *weight, ProfileValue value, gdouble *mean, gdouble *variance)
{
    ProfileValue of = value == PROFILE_AGE ? PROFILE_INUSE_SPACE : PROFILE_FREED_SPACE;
    gdouble covariance = value == PROFILE_AGE ? weight->age_covariance : weight->lifetime_covariance;
    gdouble bytes = weight->estimate[of];

    if (!(bytes > 0))
        return FALSE;
    gdouble ratio = weight->estimate[value] / bytes;
    gdouble spread = weight->variance[value] - 2 * ratio * covariance + ratio * ratio * weight->variance[of];
    *mean = ratio;
    *variance = MAX(0, spread) / (bytes * bytes);
    return TRUE;
}

ProfileInterval
profile_interval(gdouble estimate, gdouble variance, gdouble z)
{
    if (!(estimate > 0) || !(variance > 0)) {
        gdouble half = variance > 0 ? z * sqrt(variance) : 0;
        return (ProfileInterval){estimate - half, estimate + half};
    }
    gdouble unit = variance / estimate;
    gdouble middle = estimate + z * z * unit / 2;
    gdouble half = z * sqrt(variance + z * z * unit * unit / 4);
    return (ProfileInterval){middle - half, middle + half};
}
