/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/duration.h"

#include "cli/command.h"
#include "routes/values.h"

gboolean
duration_parse_up_to(const char *text, const char *option, guint max_days, guint64 *ms, GError **error)
{
    double total;
    if (!value_duration(text, &total)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: '%s' is not a duration; write one like 90s, 5m or 1h30m, or a number of seconds", option,
                    text);
        return FALSE;
    }
    if (total < 1 || total > max_days * 86400e3) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: '%s' is out of range; from 1ms to %dd is possible", option,
                    text, (int)max_days);
        return FALSE;
    }
    *ms = (guint64)total;
    return TRUE;
}

gboolean
duration_parse(const char *text, const char *option, guint64 *ms, GError **error)
{
    return duration_parse_up_to(text, option, DURATION_MAX_DAYS, ms, error);
}
