/* SPDX-License-Identifier: Apache-2.0 */
/* Parses points in time. */
#ifndef JESCOPE_CLI_MOMENT_H
#define JESCOPE_CLI_MOMENT_H

#include <glib.h>

/* Microseconds since 1970 from "now", "-2h" (a duration before now), or ISO 8601: "2026-11-21", "2026-11-21T14:05",
 * "2026-11-21 14:05:30.5", local time unless "Z" or an offset like "+02:00" follows. FALSE with CLI_ERROR_USAGE,
 * *time_us untouched, for anything else. OPTION ("--from") is named in the error. */
gboolean moment_parse(const char *text, const char *option, gint64 *time_us, GError **error);

#endif
