/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/weight.h"

#include <math.h>

/* Estimates and variances of one pair of counts, written to weight[objects] and weight[objects + 1]. */
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
    gdouble p = -expm1(-sum / n / (gdouble)period);
    gdouble n_variance = n * (1 - p) / (p * p);
    weight->estimate[first] = n / p;
    weight->estimate[first + 1] = sum / p;
    weight->variance[first] = n_variance;
    weight->variance[first + 1] = n_variance * (sum / n) * (sum / n);
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
