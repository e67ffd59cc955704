/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/weight.h"

#include <math.h>
#include <string.h>

/* docs/formats.md, "Weights", derives all of these. */
static const gdouble PEAK_RATIO = 1.5936242600400401; /* where x^2 / (e^x - 1) is largest */
static const gdouble PEAK = 0.64761023789191;         /* and its value there */
static const gdouble SMALLEST_SIZE = 16;
static const gdouble EIGHTH_VARIANCE = 1.0 / 64 / 12; /* of rounding to eighths, as 5.3.0 on does with 1 / p */
static const gdouble EXACT_PROBABILITY = 16.0 / 17;   /* from here on 1 / p is rounded to 1: all are in the dump */

/* The nearest number with three significant bits: the mantissa of a double shows all but the first of them. */
static gdouble
nearest_class(gdouble size)
{
    enum { BELOW = 52 - 2 };
    guint64 bits;

    memcpy(&bits, &size, sizeof bits);
    bits = (bits + ((guint64)1 << (BELOW - 1))) & ~(((guint64)1 << BELOW) - 1);
    memcpy(&size, &bits, sizeof size);
    return size;
}

/*
 * Whether all samples behind a mean size are of one size: a class of jemalloc has at most three significant bits. Dumps
 * from 5.3.0 on miss it slightly, since they count in eighths of an object and then in whole ones.
 */
static gboolean
is_one_size(gdouble objects, gdouble mean, gdouble ratio, gdouble p)
{
    gdouble miss = fabs(nearest_class(mean) - mean);

    return objects == 1 || miss <= mean * ratio * (1 - p) / 16 + 1 + 0.5 / objects;
}

/* Estimates and variances of one pair of counts, written to weight[first] (objects) and weight[first + 1] (bytes). */
static void
estimate_pair(guint64 objects, guint64 bytes, guint64 period, ProfileValue first, ProfileWeight *weight)
{
    gdouble n = (gdouble)objects;
    gdouble sum = (gdouble)bytes;

    if (period == 1 || objects == 0 || bytes == 0) {
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
        if (ratio > PEAK_RATIO) {
            weight->variance[first + 1] = n / p * PEAK * (gdouble)period * (gdouble)period;
        }
    }
    if (p < EXACT_PROBABILITY) {
        weight->variance[first] += n * n * EIGHTH_VARIANCE;
    }
}

void
weight_from_counts(const DumpCounts *counts, guint64 period, ProfileWeight *weight)
{
    *weight = (ProfileWeight){0};
    estimate_pair(counts->inuse_objects, counts->inuse_bytes, period, PROFILE_INUSE_OBJECTS, weight);
    estimate_pair(counts->alloc_objects, counts->alloc_bytes, period, PROFILE_ALLOC_OBJECTS, weight);
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
