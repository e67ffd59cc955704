/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of heap dumps in every mode, and what can be done with a profile that came out of it. */
#include "profile/profile.h"

#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every index a consumer follows is inside its array. */
static void
check(const Profile *profile)
{
    guint64 sum = 0;

    for (guint32 i = 0; i < profile_n_stacks(profile); i++) {
        const ProfileStack *stack = &profile_stacks(profile)[i];
        for (guint32 j = 0; j < stack->depth; j++) {
            sum += profile_locations(profile)[profile_frames(profile)[stack->first + j]].address;
        }
        g_assert_true(stack->thread == PROFILE_NONE || stack->thread < profile_n_threads(profile));
        g_assert_true(isfinite(profile_weights(profile)[i].estimate[PROFILE_INUSE_SPACE]));
        g_assert_true(isfinite(profile_weights(profile)[i].variance[PROFILE_INUSE_SPACE]));
    }
    for (guint32 i = 0; i < profile_n_locations(profile); i++) {
        const ProfileLocation *location = &profile_locations(profile)[i];
        g_assert_true(location->mapping == PROFILE_NONE || location->mapping < profile_n_mappings(profile));
        g_assert_true(location->object == PROFILE_NONE || *profile_objects(profile)[location->object].path != '\0');
        sum += profile_embedded_symbol(profile, i) != NULL;
    }
    for (guint32 i = 0; i < profile_n_threads(profile); i++) {
        g_assert_true(g_utf8_validate(profile_threads(profile)[i].name, -1, NULL));
    }
    volatile guint64 sink = sum; /* so that the loops above are not removed */
    (void)sink;
}

static void
combine(const Profile *profile)
{
    const Profile *twice[] = {profile, profile};
    g_autofree guint8 *odd = g_new0(guint8, profile_n_locations(profile) + 1);

    for (guint32 i = 1; i < profile_n_locations(profile); i += 2) {
        odd[i] = 1;
    }
    g_autoptr(Profile) merged = profile_merge(twice, G_N_ELEMENTS(twice), NULL);
    g_autoptr(Profile) difference = profile_subtract(merged, profile, NULL);
    g_autoptr(Profile) filtered =
        profile_filter(merged, &(ProfileFilter){.trim = odd, .exclude = odd, .thread = PROFILE_NONE}, NULL);
    check(merged);
    check(difference);
    check(filtered);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ProfileReadFlags modes[] = {
        PROFILE_READ_DEFAULT,
        PROFILE_READ_THREADS,
        PROFILE_READ_PARTIAL | PROFILE_READ_THREADS,
    };
    g_autoptr(GBytes) bytes = g_bytes_new(data, size);

    for (gsize i = 0; i < G_N_ELEMENTS(modes); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Profile) profile = profile_read_bytes(bytes, "input", modes[i], &error);
        g_assert_true((profile == NULL) == (error != NULL));
        if (profile != NULL) {
            check(profile);
            combine(profile);
        }
    }
    return 0;
}
