/* SPDX-License-Identifier: Apache-2.0 */
/* Adds several profiles to one builder. */
#ifndef JESCOPE_PROFILE_COMBINE_H
#define JESCOPE_PROFILE_COMBINE_H

#include "profile/builder.h"

/*
 * Enters every stack of profile, without its weight; stacks[i] becomes the builder's index of stack i.
 * Error: PROFILE_ERROR_TOO_LARGE.
 */
gboolean combine_stacks(ProfileBuilder *builder, const Profile *profile, guint32 *stacks, GError **error);

#endif
