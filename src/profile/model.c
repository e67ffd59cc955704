/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/model.h"

G_DEFINE_QUARK(jescope_profile_error, profile_error)

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

gboolean
profile_has_value(const Profile *profile, ProfileValue value)
{
    return (profile->known & PROFILE_BIT(value)) != 0;
}

gboolean
profile_is_joined(const Profile *profile)
{
    return profile->n_dumps > 1;
}

const char *
profile_embedded_symbol(const Profile *profile, guint32 location)
{
    return profile->symbols != NULL ? profile->symbols[location] : NULL;
}

const ProfileSampler *
profile_sampler(const Profile *profile)
{
    return profile->has_sampler ? &profile->sampler : NULL;
}

const ProfileSample *
profile_samples(const Profile *profile, guint32 *n_samples)
{
    *n_samples = profile->n_samples;
    return profile->samples;
}

const ProfileDeaths *
profile_deaths(const Profile *profile, guint32 *n_deaths)
{
    *n_deaths = profile->n_deaths;
    return profile->deaths;
}

const ProfileLoss *
profile_lost(const Profile *profile)
{
    return profile->loss.reason != NULL ? &profile->loss : NULL;
}

void
profile_free(Profile *profile)
{
    if (profile == NULL)
        return;
    g_free(profile->samples);
    g_free(profile->deaths);
    g_free(profile->classes);
    g_free(profile->stacks);
    g_free(profile->weights);
    g_free(profile->frames);
    g_free(profile->locations);
    g_free(profile->symbols);
    g_free(profile->mappings);
    g_free(profile->objects);
    g_free(profile->threads);
    g_free(profile->loss_reason);
    g_clear_pointer(&profile->strings, string_pool_free);
    g_free(profile);
}
