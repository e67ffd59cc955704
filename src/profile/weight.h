/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the counts of a dump to estimates with their errors: docs/formats.md, "Weights". */
#ifndef JESCOPE_PROFILE_WEIGHT_H
#define JESCOPE_PROFILE_WEIGHT_H

#include "profile/profile.h"

/* One row of a dump, as written: live objects and bytes, then the accumulated ones. */
typedef struct {
    guint64 inuse_objects;
    guint64 inuse_bytes;
    guint64 alloc_objects;
    guint64 alloc_bytes;
} DumpCounts;

/* Unbiased estimates of counts sampled with period. Period 1 leaves them unchanged, without error. */
void weight_from_counts(const DumpCounts *counts, guint64 period, ProfileWeight *weight);

/* Add one sampled object, with its age in seconds, or several freed ones. PROFILE_ALLOC_* stay unchanged. */
void weight_add_live(ProfileWeight *weight, guint64 size, gdouble age, guint64 period);
void weight_add_deaths(ProfileWeight *weight, const ProfileDeaths *deaths, guint64 period);
/* Sets the values allocated to the sum of those in use and freed. */
void weight_set_alloc(ProfileWeight *weight);
/* Sets the churn of the samples added so far, for a recording of WINDOW seconds. */
void weight_set_churn(ProfileWeight *weight, gdouble window);

static inline void
weight_add(ProfileWeight *sum, const ProfileWeight *weight)
{
    for (int i = 0; i < PROFILE_N_VALUES; i++) {
        sum->estimate[i] += weight->estimate[i];
        sum->variance[i] += weight->variance[i];
    }
    sum->age_covariance += weight->age_covariance;
    sum->lifetime_covariance += weight->lifetime_covariance;
    sum->births += weight->births;
    sum->deaths += weight->deaths;
}

#endif
