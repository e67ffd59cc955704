/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/builder.h"

#include <string.h>

static gboolean
any_matches(const guint8 *rule, const guint32 *frames, guint32 n)
{
    for (guint32 i = 0; i < n; i++) {
        if (rule[frames[i]]) {
            return TRUE;
        }
    }
    return FALSE;
}

/* How many frames from the leaf on are the allocator's. */
static guint32
count_trimmed(const ProfileFilter *filter, const guint32 *frames, guint32 n)
{
    guint32 first = 0;

    while (filter->trim != NULL && first < n && filter->trim[frames[first]]) {
        first++;
    }
    for (guint32 i = n; filter->cut != NULL && i > first; i--) {
        if (filter->cut[frames[i - 1]]) {
            return i;
        }
    }
    return first;
}

/* Copies the frames that retain and exclude leave to kept; returns how many. */
static guint32
select_frames(const ProfileFilter *filter, const guint32 *frames, guint32 n, guint32 *kept)
{
    guint32 n_kept = 0;

    for (guint32 i = 0; i < n; i++) {
        gboolean retained = filter->retain == NULL || filter->retain[frames[i]];
        gboolean excluded = filter->exclude != NULL && filter->exclude[frames[i]];
        if (retained && !excluded) {
            kept[n_kept++] = frames[i];
        }
    }
    return n_kept;
}

/* Whether a stack stays; *n_kept of its frames are then in kept. */
static gboolean
apply_filter(const ProfileFilter *filter, const Profile *profile, const ProfileStack *stack, guint32 *kept,
             guint32 *n_kept)
{
    const guint32 *frames = profile->frames + stack->first;
    gboolean selects = filter->retain != NULL || filter->exclude != NULL;

    if (filter->thread != PROFILE_NONE && stack->thread != filter->thread) {
        return FALSE;
    }
    guint32 first = count_trimmed(filter, frames, stack->depth);
    *n_kept = select_frames(filter, frames + first, stack->depth - first, kept);
    if (selects && *n_kept == 0) {
        return FALSE;
    }
    return (filter->focus == NULL || any_matches(filter->focus, kept, *n_kept)) &&
           (filter->ignore == NULL || !any_matches(filter->ignore, kept, *n_kept));
}

static guint32
deepest(const Profile *profile)
{
    guint32 depth = 0;

    for (guint32 i = 0; i < profile->n_stacks; i++) {
        depth = MAX(depth, profile->stacks[i].depth);
    }
    return depth;
}

Profile *
profile_filter(const Profile *profile, const ProfileFilter *filter, GError **error)
{
    g_autoptr(ProfileBuilder) builder = builder_new_like(profile);
    g_autofree guint32 *kept = g_new(guint32, deepest(profile));

    for (guint32 i = 0; i < profile->n_stacks; i++) {
        guint32 n_kept = 0;
        if (!apply_filter(filter, profile, &profile->stacks[i], kept, &n_kept)) {
            continue;
        }
        BuilderFrames frames = builder_frames(builder, kept, n_kept);
        guint32 stack = builder_stack(builder, &frames, profile->stacks[i].thread);
        if (stack == PROFILE_NONE) {
            builder_full(error);
            return NULL;
        }
        builder_add_weight(builder, stack, &profile->weights[i]);
    }
    return builder_finish(builder);
}
