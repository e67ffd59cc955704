/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes the free regions of slabs (holes) to the stacks whose objects keep them: docs/formats.md, "Holes". Both
 * values are computed from the size classes of the process (profile_classes()) and from the objects in use, per stack.
 */
#ifndef JESCOPE_PROFILE_HOLES_H
#define JESCOPE_PROFILE_HOLES_H

#include "profile/profile.h"

/* In bytes. */
typedef struct {
    gdouble unused;     /* free regions of all slabs */
    gdouble attributed; /* of these, those attributed to stacks */
    gdouble variance;   /* of attributed */
    gdouble slabs;      /* of classes with free regions */
    gdouble covered;    /* the fraction of their live regions that the profile knows, 0 to 1 */
    gboolean addressed; /* in some class, by the occupancy of the samples' own slabs */
} HolesSum;

/*
 * Sets PROFILE_PINNED of WEIGHTS, one for each stack of PROFILE, and, if VALUE is that, PROFILE_WHATIF. GROUPS has a
 * number for each stack, PROFILE_NONE for those in no group, or is NULL: each stack is its own group. PROFILE_WHATIF is
 * the memory that would be returned if all stacks of a group held nothing, divided among them by their objects. PROFILE
 * must know PROFILE_PINNED.
 */
void holes_compute(const Profile *profile, const guint32 *groups, ProfileValue value, ProfileWeight *weights,
                   HolesSum *sum);

#endif
