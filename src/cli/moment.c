/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/moment.h"

#include "cli/command.h"
#include "cli/duration.h"

#include <string.h>

enum {
    AGO_MAX_DAYS = 36500,
};

/* GLib's parser requires seconds and a 'T'. */
static char *
complete_iso(const char *text)
{
    size_t length = strspn(text, "0123456789-");
    if (text[length] == '\0')
        return g_strconcat(text, "T00:00:00", NULL);
    GString *whole = g_string_new(text);
    if (whole->str[length] == ' ')
        whole->str[length] = 'T';
    size_t clock = length + 1 + strspn(whole->str + length + 1, "0123456789:.");
    if (clock == length + 1 + strlen("14:05"))
        g_string_insert(whole, (gssize)clock, ":00");
    return g_string_free(whole, FALSE);
}

gboolean
moment_parse(const char *text, const char *option, gint64 *time_us, GError **error)
{
    if (strcmp(text, "now") == 0) {
        *time_us = g_get_real_time();
        return TRUE;
    }
    if (text[0] == '-') {
        guint64 ms;
        if (!duration_parse_up_to(text + 1, option, AGO_MAX_DAYS, &ms, error))
            return FALSE;
        *time_us = g_get_real_time() - (gint64)ms * 1000;
        return TRUE;
    }
    g_autofree char *whole = complete_iso(text);
    g_autoptr(GTimeZone) local = g_time_zone_new_local();
    g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(whole, local);
    if (time == NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: '%s' is not a time; write one like -2h, 2026-11-21 or 2026-11-21T14:05Z", option, text);
        return FALSE;
    }
    *time_us = g_date_time_to_unix(time) * G_USEC_PER_SEC + g_date_time_get_microsecond(time);
    return TRUE;
}
