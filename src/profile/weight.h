/* SPDX-License-Identifier: Apache-2.0 */
/* From the counts of a dump to estimates with their error: docs/formats.md, "Weights". */
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

/* What counts sampled with period stand for. Period 1 leaves them as they are, without error. */
void weight_from_counts(const DumpCounts *counts, guint64 period, ProfileWeight *weight);

static inline void
weight_add(ProfileWeight *sum, const ProfileWeight *weight)
{
    for (int i = 0; i < PROFILE_N_VALUES; i++) {
        sum->estimate[i] += weight->estimate[i];
        sum->variance[i] += weight->variance[i];
    }
}

static inline void
weight_subtract(ProfileWeight *sum, const ProfileWeight *weight)
{
    for (int i = 0; i < PROFILE_N_VALUES; i++) {
        sum->estimate[i] -= weight->estimate[i];
        sum->variance[i] += weight->variance[i];
    }
}

#endif
