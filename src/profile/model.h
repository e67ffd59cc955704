/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a Profile, for the files of this room alone. */
#ifndef JESCOPE_PROFILE_MODEL_H
#define JESCOPE_PROFILE_MODEL_H

#include "profile/profile.h"

struct Profile {
    ProfileStack *stacks;
    ProfileWeight *weights;
    guint32 *frames;
    ProfileLocation *locations;
    const char **symbols; /* one per location, or NULL when the file brought none */
    ProfileMapping *mappings;
    ProfileObject *objects;
    ProfileThread *threads;
    GStringChunk *strings;
    guint64 period;
    guint64 n_frames;
    ProfileWeight total;
    ProfileLoss loss;
    char *loss_reason;
    ProfileFormat format;
    guint32 n_stacks;
    guint32 n_locations;
    guint32 n_mappings;
    guint32 n_objects;
    guint32 n_threads;
};

#endif
