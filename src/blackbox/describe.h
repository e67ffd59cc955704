/* SPDX-License-Identifier: Apache-2.0 */
/* Describes what the black box has kept, in words and as JSON. */
#ifndef JESCOPE_BLACKBOX_DESCRIBE_H
#define JESCOPE_BLACKBOX_DESCRIBE_H

#include "blackbox/life.h"

/* "1.90 of 2.00 GiB", "900 MiB of 2.00 GiB", "1.90 GiB" without a limit, "unknown memory". To be freed. */
char *blackbox_format_used(guint64 used, guint64 limit);

/* "killed by OOM at 1.99 of 2.00 GiB, last profile 0.8 s old", "ended by signal 11 (Segmentation fault) at ...".
 * PROFILE_US is the time of the last profile; 0: there is none. To be freed. */
char *blackbox_describe_end(const BlackboxEnd *end, gint64 profile_us);

/* "ended while it was not watched", "runs and is watched"... or blackbox_describe_end(). To be freed. */
char *blackbox_describe_life(const BlackboxLife *life);

/* One word: "watched", "runs", "lost" (it ended while it was not watched), or blackbox_cause_name(). */
const char *blackbox_state_word(const BlackboxLife *life);

/* The last snapshot that has a dump; NULL: none. */
const BlackboxSnapshot *blackbox_last_dump(const BlackboxLife *life);

/* The JSON of LIFE; docs/formats.md has the keys. To be freed. */
char *blackbox_json(const BlackboxLife *life);

#endif
