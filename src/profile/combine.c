/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/combine.h"

#include <string.h>

/* The indexes of one profile in the builder. */
typedef struct {
    guint32 *objects;
    guint32 *mappings;
    guint32 *threads;
    guint32 *locations;
} Translation;

static void
translation_clear(Translation *translation)
{
    g_free(translation->objects);
    g_free(translation->mappings);
    g_free(translation->threads);
    g_free(translation->locations);
}

static void
translate_objects(ProfileBuilder *builder, const Profile *profile, Translation *to)
{
    to->objects = g_new(guint32, profile->n_objects);
    for (guint32 i = 0; i < profile->n_objects; i++)
        to->objects[i] = builder_object(builder, &profile->objects[i]);
    to->mappings = g_new(guint32, profile->n_mappings);
    for (guint32 i = 0; i < profile->n_mappings; i++) {
        ProfileMapping mapping = profile->mappings[i];
        mapping.object = to->objects[mapping.object];
        to->mappings[i] = builder_mapping(builder, &mapping);
    }
    to->threads = g_new(guint32, profile->n_threads);
    for (guint32 i = 0; i < profile->n_threads; i++)
        to->threads[i] = builder_named_thread(builder, &profile->threads[i]);
}

static void
translate_locations(ProfileBuilder *builder, const Profile *profile, Translation *to)
{
    to->locations = g_new(guint32, profile->n_locations);
    for (guint32 i = 0; i < profile->n_locations; i++) {
        ProfileLocation location = profile->locations[i];
        if (location.mapping != PROFILE_NONE) {
            location.mapping = to->mappings[location.mapping];
            location.object = to->objects[location.object];
        }
        to->locations[i] = builder_location(builder, &location);
        const char *symbol = profile_embedded_symbol(profile, i);
        if (symbol != NULL)
            builder_location_symbol(builder, to->locations[i], symbol);
    }
}

/* The stack of profile in the builder, or PROFILE_NONE when that is full. */
static guint32
translate_stack(ProfileBuilder *builder, const Profile *profile, const ProfileStack *stack, const Translation *to,
                GArray *frames)
{
    g_array_set_size(frames, stack->depth);
    for (guint32 i = 0; i < stack->depth; i++)
        g_array_index(frames, guint32, i) = to->locations[profile->frames[stack->first + i]];
    guint32 thread = stack->thread == PROFILE_NONE ? PROFILE_NONE : to->threads[stack->thread];
    BuilderFrames prepared = builder_frames(builder, (const guint32 *)(void *)frames->data, stack->depth);
    return builder_stack(builder, &prepared, (BuilderPart){thread, stack->size_class});
}

gboolean
combine_stacks(ProfileBuilder *builder, const Profile *profile, guint32 *stacks, GError **error)
{
    Translation to = {0};
    g_autoptr(GArray) frames = g_array_new(FALSE, FALSE, sizeof(guint32));

    builder_set_period(builder, MAX(builder_period(builder), profile->period));
    if (profile->loss.reason != NULL)
        builder_add_loss(builder, &profile->loss);
    translate_objects(builder, profile, &to);
    translate_locations(builder, profile, &to);
    gboolean fits = TRUE;
    for (guint32 i = 0; i < profile->n_stacks && fits; i++) {
        stacks[i] = translate_stack(builder, profile, &profile->stacks[i], &to, frames);
        fits = stacks[i] != PROFILE_NONE;
    }
    translation_clear(&to);
    return fits || builder_full(error);
}

/* The values known by all profiles that have stacks. */
static guint32
common_values(const Profile *const *profiles, gsize n_profiles)
{
    guint32 known = PROFILE_KNOWS_ALL;
    gsize n = 0;

    for (gsize i = 0; i < n_profiles; i++) {
        if (profiles[i]->n_stacks > 0) {
            known &= profiles[i]->known;
            n++;
        }
    }
    return n > 0 ? known : PROFILE_KNOWS_INUSE;
}

Profile *
profile_merge(const Profile *const *profiles, gsize n_profiles, GError **error)
{
    g_autoptr(ProfileBuilder) builder = builder_new();

    for (gsize i = 0; i < n_profiles; i++) {
        g_autofree guint32 *stacks = g_new(guint32, profiles[i]->n_stacks);
        if (!combine_stacks(builder, profiles[i], stacks, error))
            return NULL;
        for (guint32 j = 0; j < profiles[i]->n_stacks; j++)
            builder_add_weight(builder, stacks[j], &profiles[i]->weights[j]);
    }
    builder_set_known(builder, common_values(profiles, n_profiles));
    return builder_finish(builder);
}
