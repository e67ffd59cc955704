/* SPDX-License-Identifier: Apache-2.0 */
/* Parses durations. */
#ifndef JESCOPE_CLI_DURATION_H
#define JESCOPE_CLI_DURATION_H

#include "text/duration.h"
#include "wire/wire.h"

#include <glib.h>

/* Milliseconds from "5m", "90s", "1h30m", "250ms", "2d", "1.5s": units from large to small, each at most once. FALSE
 * with CLI_ERROR_USAGE, *ms untouched, for anything else, for zero and for more than DURATION_MAX_DAYS. OPTION
 * ("--for") is named in the error. */
gboolean duration_parse(const char *text, const char *option, guint64 *ms, GError **error);

/* The same with another limit, in days. */
gboolean duration_parse_up_to(const char *text, const char *option, guint max_days, guint64 *ms, GError **error);

enum {
    DURATION_MAX_DAYS = WIRE_LEASE_MAX_DAYS,
};

#endif
