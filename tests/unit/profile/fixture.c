/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <string.h>

Profile *
read_text(const char *text, ProfileReadFlags flags)
{
    g_autoptr(GBytes) bytes = g_bytes_new_static(text, strlen(text));
    g_autoptr(GError) error = NULL;
    Profile *profile = profile_read_bytes(bytes, "x.heap", flags, &error);

    g_assert_no_error(error);
    g_assert_nonnull(profile);
    return profile;
}

void
assert_fails(const char *text, ProfileError code, const char *message)
{
    g_autoptr(GBytes) bytes = g_bytes_new_static(text, strlen(text));
    g_autoptr(GError) error = NULL;

    g_assert_null(profile_read_bytes(bytes, "x.heap", PROFILE_READ_DEFAULT, &error));
    g_assert_error(error, PROFILE_ERROR, (int)code);
    g_assert_cmpstr(error->message, ==, message);
}

static guint32
find_stack(const Profile *profile, const char *addresses)
{
    for (guint32 i = 0; i < profile_n_stacks(profile); i++) {
        const ProfileStack *stack = &profile_stacks(profile)[i];
        g_autoptr(GString) text = g_string_new(NULL);
        for (guint32 j = 0; j < stack->depth; j++) {
            guint32 location = profile_frames(profile)[stack->first + j];
            g_string_append_printf(text, "%s%" G_GINT64_MODIFIER "x", j > 0 ? " " : "",
                                   profile_locations(profile)[location].address);
        }
        if (strcmp(text->str, addresses) == 0)
            return i;
    }
    return PROFILE_NONE;
}

gboolean
has_stack(const Profile *profile, const char *addresses)
{
    return find_stack(profile, addresses) != PROFILE_NONE;
}

gdouble
stack_value(const Profile *profile, const char *addresses, ProfileValue value)
{
    guint32 stack = find_stack(profile, addresses);

    g_assert_cmpuint(stack, !=, PROFILE_NONE);
    return profile_weights(profile)[stack].estimate[value];
}
