/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of a Profile, for the files of this room only. */
#ifndef JESCOPE_PROFILE_MODEL_H
#define JESCOPE_PROFILE_MODEL_H

#include "confine/keyed-hash.h"
#include "profile/capture.h"
#include "profile/profile.h"

struct Profile {
    ProfileStack *stacks;
    ProfileWeight *weights;
    guint32 *frames;
    ProfileLocation *locations;
    const char **symbols; /* one per location, or NULL if the file has none */
    ProfileMapping *mappings;
    ProfileObject *objects;
    ProfileThread *threads;
    StringPool *strings;
    guint64 period;
    guint64 n_frames;
    ProfileWeight total;
    ProfileLoss loss;
    char *loss_reason;
    ProfileCapture capture;
    ProfileSampler sampler;
    ProfileSample *samples;
    ProfileDeaths *deaths;
    ProfileClass *classes; /* by size */
    guint n_classes;
    guint32 known;   /* a bit for each ProfileValue */
    guint32 n_dumps; /* concatenated in its file; 0: one */
    gboolean has_capture;
    gboolean has_sampler;
    guint32 n_samples;
    guint32 n_deaths;
    guint32 n_stacks;
    guint32 n_locations;
    guint32 n_mappings;
    guint32 n_objects;
    guint32 n_threads;
};

#define PROFILE_BIT(value)  ((guint32)1 << (value))
#define PROFILE_KNOWS_ALL   (PROFILE_BIT(PROFILE_PINNED) - 1)
#define PROFILE_KNOWS_HOLES (PROFILE_BIT(PROFILE_PINNED) | PROFILE_BIT(PROFILE_WHATIF)) /* computed by holes.h */
#define PROFILE_KNOWS_INUSE (PROFILE_BIT(PROFILE_INUSE_OBJECTS) | PROFILE_BIT(PROFILE_INUSE_SPACE))
#define PROFILE_KNOWS_ALLOC                                                                                            \
    (PROFILE_KNOWS_INUSE | PROFILE_BIT(PROFILE_ALLOC_OBJECTS) | PROFILE_BIT(PROFILE_ALLOC_SPACE) |                     \
     PROFILE_BIT(PROFILE_FREED_OBJECTS) | PROFILE_BIT(PROFILE_FREED_SPACE))
#define PROFILE_KNOWS_THREAD (PROFILE_KNOWS_INUSE | PROFILE_BIT(PROFILE_AGE)) /* of jescope's sampler */

#endif
