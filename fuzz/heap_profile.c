/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of heap dumps in every mode; its results are summed. */
#include "profile/holes.h"

#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_value(const Profile *profile, guint32 stack, ProfileValue value)
{
    const ProfileWeight *weight = &profile_weights(profile)[stack];

    g_assert_true(isfinite(weight->estimate[value]) && weight->estimate[value] >= 0);
    g_assert_true(isfinite(weight->variance[value]) && weight->variance[value] >= 0);
}

static void
check_lives(const Profile *profile)
{
    gdouble mean, variance;
    guint32 n_samples, n_deaths;
    const ProfileSample *samples = profile_samples(profile, &n_samples);
    const ProfileDeaths *deaths = profile_deaths(profile, &n_deaths);

    g_assert_true(profile_sampler(profile) != NULL || n_samples + n_deaths == 0);
    for (guint32 i = 0; i < n_samples; i++)
        g_assert_true(samples[i].stack < profile_n_stacks(profile) && samples[i].size > 0);
    for (guint32 i = 0; i < n_deaths; i++)
        g_assert_true(deaths[i].stack < profile_n_stacks(profile) && deaths[i].n > 0);
    for (ProfileValue value = PROFILE_AGE; value <= PROFILE_LIFETIME; value++)
        g_assert_true(!profile_mean(profile_total(profile), value, &mean, &variance) ||
                      (isfinite(mean) && isfinite(variance)));
}

static void
check_holes(const Profile *profile)
{
    guint32 n = profile_n_stacks(profile);
    g_autofree guint32 *groups = g_new(guint32, (gsize)n + 1);
    g_autofree ProfileWeight *weights = g_new0(ProfileWeight, (gsize)n + 1);
    HolesSum sum;

    for (guint32 i = 0; i < n; i++)
        groups[i] = i / 2;
    holes_compute(profile, groups, PROFILE_WHATIF, weights, &sum);
    g_assert_true(isfinite(sum.unused) && sum.attributed <= sum.unused * (1 + 1e-9));
    for (guint32 i = 0; i < n; i++)
        for (ProfileValue value = PROFILE_PINNED; value <= PROFILE_WHATIF; value++)
            g_assert_true(isfinite(weights[i].estimate[value]) && weights[i].estimate[value] >= 0 &&
                          isfinite(weights[i].variance[value]) && weights[i].variance[value] >= 0);
}

/* Checks that every index which consumers use is inside its array. */
static void
check(const Profile *profile)
{
    guint64 sum = 0;

    for (guint32 i = 0; i < profile_n_stacks(profile); i++) {
        const ProfileStack *stack = &profile_stacks(profile)[i];
        for (guint32 j = 0; j < stack->depth; j++)
            sum += profile_locations(profile)[profile_frames(profile)[stack->first + j]].address;
        g_assert_true(stack->thread == PROFILE_NONE || stack->thread < profile_n_threads(profile));
        for (guint value = 0; value < PROFILE_N_VALUES; value++)
            check_value(profile, i, value);
    }
    check_lives(profile);
    if (profile_has_value(profile, PROFILE_PINNED))
        check_holes(profile);
    for (guint32 i = 0; i < profile_n_locations(profile); i++) {
        const ProfileLocation *location = &profile_locations(profile)[i];
        g_assert_true(location->mapping == PROFILE_NONE || location->mapping < profile_n_mappings(profile));
        g_assert_true(location->object == PROFILE_NONE || *profile_objects(profile)[location->object].path != '\0');
        sum += profile_embedded_symbol(profile, i) != NULL;
    }
    for (guint32 i = 0; i < profile_n_threads(profile); i++)
        g_assert_true(g_utf8_validate(profile_threads(profile)[i].name, -1, NULL));
    volatile guint64 sink = sum; /* prevents the removal of the loops above */
    (void)sink;
}

static void
combine(const Profile *profile)
{
    const Profile *twice[] = {profile, profile};
    g_autoptr(Profile) merged = profile_merge(twice, G_N_ELEMENTS(twice), NULL);
    check(merged);
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
