/* SPDX-License-Identifier: Apache-2.0 */
/* Prints every stack of the given dumps: the file, for each value the estimate and the limits of its 95 % interval,
 * then the addresses. */
#include "profile/profile.h"

#include <stdio.h>

static void
print_stack(const char *path, const Profile *profile, guint32 index)
{
    const ProfileStack *stack = &profile_stacks(profile)[index];
    const ProfileWeight *weight = &profile_weights(profile)[index];

    printf("%s", path);
    for (int value = 0; value < PROFILE_N_PPROF_VALUES; value++) {
        ProfileInterval interval = profile_interval(weight->estimate[value], weight->variance[value], 1.96);
        printf("\t%.1f\t%.1f\t%.1f", weight->estimate[value], interval.low, interval.high);
    }
    for (guint32 i = 0; i < stack->depth; i++) {
        guint32 location = profile_frames(profile)[stack->first + i];
        printf("%c%" G_GINT64_MODIFIER "x", i > 0 ? ' ' : '\t', profile_locations(profile)[location].address);
    }
    printf("\n");
}

int
main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Profile) profile = profile_read_file(argv[i], PROFILE_READ_DEFAULT, &error);
        if (profile == NULL) {
            fprintf(stderr, "%s\n", error->message);
            return 1;
        }
        for (guint32 j = 0; j < profile_n_stacks(profile); j++)
            print_stack(argv[i], profile, j);
    }
    return 0;
}
