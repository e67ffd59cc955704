/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/duration.h"

#include "cli/command.h"

#include <string.h>

static const struct {
    const char *name;
    guint64 ms;
} units[] = {
    {"d", G_GUINT64_CONSTANT(86400000)}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};

static size_t
find_unit(const char *text, size_t length)
{
    size_t i = 0;
    while (i < G_N_ELEMENTS(units) && (strlen(units[i].name) != length || strncmp(units[i].name, text, length) != 0))
        i++;
    return i;
}

/* One "NUMBER UNIT" of *text, which is moved behind it; *next is the first unit that may follow. Negative: not one. */
static double
parse_part(const char **text, size_t *next)
{
    size_t digits = strspn(*text, "0123456789.");
    if (!g_ascii_isdigit(**text))
        return -1;
    char *end;
    double number = g_ascii_strtod(*text, &end);
    if (end != *text + digits)
        return -1;
    size_t letters = strspn(end, "abcdefghijklmnopqrstuvwxyz");
    size_t unit = find_unit(end, letters);
    if (unit < *next || unit >= G_N_ELEMENTS(units))
        return -1;
    *next = unit + 1;
    *text = end + letters;
    return number * (double)units[unit].ms;
}

gboolean
duration_parse_up_to(const char *text, const char *option, guint max_days, guint64 *ms, GError **error)
{
    double total = 0;
    size_t next = 0;
    const char *rest = text;
    do {
        double part = parse_part(&rest, &next);
        if (part < 0) {
            g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                        "%s: '%s' is not a duration; write one like 90s, 5m or 1h30m", option, text);
            return FALSE;
        }
        total += part;
    } while (*rest != '\0');
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

/* "1 h 5 min", and just "1 h" if nothing is left. */
static char *
format_pair(guint64 large, const char *large_unit, guint64 small, const char *small_unit)
{
    if (small == 0)
        return g_strdup_printf("%" G_GUINT64_FORMAT " %s", large, large_unit);
    return g_strdup_printf("%" G_GUINT64_FORMAT " %s %" G_GUINT64_FORMAT " %s", large, large_unit, small, small_unit);
}

char *
duration_format(guint64 ms)
{
    guint64 seconds = (ms + 500) / 1000;
    if (ms < 1000)
        return g_strdup_printf("%" G_GUINT64_FORMAT " ms", ms);
    if (ms < 9950)
        return g_strdup_printf("%.1f s", (double)ms / 1000);
    if (seconds < 60)
        return g_strdup_printf("%" G_GUINT64_FORMAT " s", seconds);
    if (seconds < 3600)
        return format_pair(seconds / 60, "min", seconds % 60, "s");
    if (seconds < 86400)
        return format_pair(seconds / 3600, "h", seconds / 60 % 60, "min");
    return format_pair(seconds / 86400, "d", seconds / 3600 % 24, "h");
}
