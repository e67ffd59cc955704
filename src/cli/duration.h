/* SPDX-License-Identifier: Apache-2.0 */
/* Durations as people write and read them. */
#ifndef JESCOPE_CLI_DURATION_H
#define JESCOPE_CLI_DURATION_H

#include <glib.h>

/* Milliseconds from "5m", "90s", "1h30m", "250ms", "2d", "1.5s": units from large to small, each at most once. FALSE
 * with CLI_ERROR_USAGE, *ms untouched, for anything else, for zero and for more than DURATION_MAX_MS. OPTION ("--for")
 * is named in the error. */
gboolean duration_parse(const char *text, const char *option, guint64 *ms, GError **error);

/* The same with a limit of its own, in days. */
gboolean duration_parse_up_to(const char *text, const char *option, guint max_days, guint64 *ms, GError **error);

/* "250 ms", "5.0 s", "1 min 30 s", "2 h 5 min", "3 d 4 h". */
char *duration_format(guint64 ms);

enum {
    DURATION_MAX_DAYS = 30, /* what an agent accepts as a lease */
};

#endif
