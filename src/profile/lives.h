/* SPDX-License-Identifier: Apache-2.0 */
/* The comment lines of a dump of jescope's sampler, one at a time: docs/formats.md, "Dumps of jescope's sampler". */
#ifndef JESCOPE_PROFILE_LIVES_H
#define JESCOPE_PROFILE_LIVES_H

#include "profile/profile.h"

typedef enum { LIVES_NONE, LIVES_SAMPLER, LIVES_LIVE, LIVES_DIED } LivesKind;

/* The kind of LINE, which ends with '\n'. LIVES_NONE: another comment, or no comment. */
LivesKind lives_kind(const char *line);

/*
 * Parse a line of the kind, and return NULL; or where it stops making sense, with *expected saying what should have
 * been there, and the result untouched. They leave the members `stack` alone.
 */
const char *lives_parse_sampler(const char *line, ProfileSampler *sampler, const char **expected);
const char *lives_parse_live(const char *line, ProfileSample *sample, const char **expected);
const char *lives_parse_died(const char *line, ProfileDeaths *deaths, const char **expected);

#endif
