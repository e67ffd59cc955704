/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose objects keep the holes in slabs: docs/formats.md, "Holes". Both values are computed from the size classes of
 * the process (profile_classes()) and from the objects that are in use, per stack.
 */
#ifndef JESCOPE_PROFILE_HOLES_H
#define JESCOPE_PROFILE_HOLES_H

#include "profile/profile.h"

/* Bytes. */
typedef struct {
    gdouble unused;     /* free regions of all slabs */
    gdouble attributed; /* of these, those that are shared out */
    gdouble variance;   /* of that */
    gdouble slabs;      /* of classes with free regions */
    gdouble covered;    /* the part of their live regions that the profile knows, 0 to 1 */
    gboolean addressed; /* by the occupancy of the samples' own slabs, in some class */
} HolesSum;

/*
 * Sets PROFILE_PINNED and PROFILE_WHATIF of WEIGHTS, one for each stack of PROFILE. GROUPS has a number
 * for each stack, PROFILE_NONE for those without one, or is NULL: each stack by itself. What goes back is what would if
 * all stacks of a group held nothing, divided among them by their objects. PROFILE must know PROFILE_PINNED.
 */
void holes_compute(const Profile *profile, const guint32 *groups, ProfileWeight *weights, HolesSum *sum);

#endif
