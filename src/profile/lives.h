/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the comment lines of a dump of jescope's sampler, one at a time: docs/formats.md, "Dumps of jescope's
 * sampler". */
#ifndef JESCOPE_PROFILE_LIVES_H
#define JESCOPE_PROFILE_LIVES_H

#include "profile/profile.h"

typedef enum { LIVES_NONE, LIVES_SAMPLER, LIVES_LIVE, LIVES_DIED } LivesKind;

/* The kind of LINE, which ends with '\n'. LIVES_NONE: another comment, or not a comment. */
LivesKind lives_kind(const char *line);

/*
 * Parse a line of the kind, and return NULL; or the position of the first error, with *expected naming what was
 * expected, and the result untouched. They leave the members `stack` alone.
 */
const char *lives_parse_sampler(const char *line, ProfileSampler *sampler, const char **expected);
const char *lives_parse_live(const char *line, ProfileSample *sample, const char **expected);
const char *lives_parse_died(const char *line, ProfileDeaths *deaths, const char **expected);

#endif
