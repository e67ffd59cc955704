/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/model.h"

G_DEFINE_QUARK(jescope - profile - error, profile_error)

guint32
profile_n_stacks(const Profile *profile)
{
    return profile->n_stacks;
}

const ProfileStack *
profile_stacks(const Profile *profile)
{
    return profile->stacks;
}

const ProfileWeight *
profile_weights(const Profile *profile)
{
    return profile->weights;
}

const guint32 *
profile_frames(const Profile *profile)
{
    return profile->frames;
}

guint32
profile_n_locations(const Profile *profile)
{
    return profile->n_locations;
}

const ProfileLocation *
profile_locations(const Profile *profile)
{
    return profile->locations;
}

guint32
profile_n_mappings(const Profile *profile)
{
    return profile->n_mappings;
}

const ProfileMapping *
profile_mappings(const Profile *profile)
{
    return profile->mappings;
}

guint32
profile_n_objects(const Profile *profile)
{
    return profile->n_objects;
}

const ProfileObject *
profile_objects(const Profile *profile)
{
    return profile->objects;
}

guint32
profile_n_threads(const Profile *profile)
{
    return profile->n_threads;
}

const ProfileThread *
profile_threads(const Profile *profile)
{
    return profile->threads;
}

guint64
profile_period(const Profile *profile)
{
    return profile->period;
}

const ProfileWeight *
profile_total(const Profile *profile)
{
    return &profile->total;
}

ProfileFormat
profile_format(const Profile *profile)
{
    return profile->format;
}

const char *
profile_embedded_symbol(const Profile *profile, guint32 location)
{
    return profile->symbols != NULL ? profile->symbols[location] : NULL;
}

const ProfileLoss *
profile_lost(const Profile *profile)
{
    return profile->loss.reason != NULL ? &profile->loss : NULL;
}

void
profile_set_build_ids(Profile *profile, ProfileBuildIdFunc build_id, gpointer user_data)
{
    for (guint32 i = 0; i < profile->n_objects; i++) {
        g_autofree char *id = build_id(&profile->objects[i], user_data);
        if (id != NULL) {
            profile->objects[i].build_id = g_string_chunk_insert_const(profile->strings, id);
        }
    }
}

void
profile_free(Profile *profile)
{
    if (profile == NULL) {
        return;
    }
    g_free(profile->stacks);
    g_free(profile->weights);
    g_free(profile->frames);
    g_free(profile->locations);
    g_free(profile->symbols);
    g_free(profile->mappings);
    g_free(profile->objects);
    g_free(profile->threads);
    g_free(profile->loss_reason);
    g_clear_pointer(&profile->strings, g_string_chunk_free);
    g_free(profile);
}
