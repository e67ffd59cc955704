/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps from literals, and what tests look for in them. */
#ifndef JESCOPE_TESTS_PROFILE_FIXTURE_H
#define JESCOPE_TESTS_PROFILE_FIXTURE_H

#include "profile/profile.h"

#define MAPS                                                                                                           \
    "\nMAPPED_LIBRARIES:\n"                                                                                            \
    "1000-2000 r--p 00000000 fe:00 7   /bin/a\n"                                                                       \
    "2000-9000 r-xp 00001000 fe:00 7   /bin/a\n"

Profile *read_text(const char *text, ProfileReadFlags flags); /* must succeed */
void assert_fails(const char *text, ProfileError code, const char *message);

/* The estimate of the stack with these addresses (as locations have them, "2000 20ff"); must be there. */
gdouble stack_value(const Profile *profile, const char *addresses, ProfileValue value);
gboolean has_stack(const Profile *profile, const char *addresses);

#endif
