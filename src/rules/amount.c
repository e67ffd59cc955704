/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/amount.h"

#include "routes/values.h"

#include <math.h>
#include <string.h>

enum { KINDS = AMOUNT_TIME + 1 };

static const struct {
    const char *word;
    gdouble seconds;
} periods[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};

static gboolean
parse_bytes(const char *text, gdouble *value)
{
    uint64_t bytes;
    if (!value_size(text, &bytes))
        return FALSE;
    *value = (gdouble)bytes;
    return TRUE;
}

static gboolean
parse_count(const char *text, gdouble *value)
{
    return value_decimal(text, strlen(text), value);
}

static gboolean
parse_share(const char *text, gdouble *value)
{
    gsize length = strlen(text);
    if (length == 0 || text[length - 1] != '%' || !value_decimal(text, length - 1, value))
        return FALSE;
    *value /= 100;
    return TRUE;
}

static gboolean
parse_time(const char *text, gdouble *value)
{
    gdouble ms;
    if (!value_duration(text, &ms))
        return FALSE;
    *value = ms / 1000;
    return TRUE;
}

static char *
format_bytes(gdouble value)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    guint unit = 0;
    for (; value >= 1023.5 && unit + 1 < G_N_ELEMENTS(units); unit++)
        value /= 1024;
    return g_strdup_printf("%.4g %s", value, units[unit]);
}

static char *
format_count(gdouble value)
{
    return g_strdup_printf("%.6g", value);
}

static char *
format_share(gdouble value)
{
    return g_strdup_printf("%.3g %%", value * 100);
}

static char *
format_time(gdouble value)
{
    return value < 1 ? g_strdup_printf("%.3g ms", value * 1000) : g_strdup_printf("%.6g s", value);
}

static const struct {
    gboolean (*parse)(const char *text, gdouble *value);
    char *(*format)(gdouble value);
    const char *example;
    const char *rate_example;
} kinds[KINDS] = {
    [AMOUNT_BYTES] = {parse_bytes, format_bytes, "512MiB", "1MiB/m"},
    [AMOUNT_COUNT] = {parse_count, format_count, "1000", "1000/s"},
    [AMOUNT_SHARE] = {parse_share, format_share, "90%", "5%/h"},
    [AMOUNT_TIME] = {parse_time, format_time, "5ms", "5ms/s"},
};

/* Removes a period such as "/h" from TEXT, and sets SECONDS to it; FALSE if there is none. */
static gboolean
take_period(char *text, gdouble *seconds)
{
    char *slash = strrchr(text, '/');
    for (gsize i = 0; slash != NULL && i < G_N_ELEMENTS(periods); i++)
        if (strcmp(slash + 1, periods[i].word) == 0) {
            *seconds = periods[i].seconds;
            *slash = '\0';
            return TRUE;
        }
    return FALSE;
}

gboolean
amount_parse(const char *text, AmountUnit unit, gdouble *value)
{
    g_autofree char *rest = g_strdup(text[0] == '-' ? text + 1 : text);
    gdouble parsed, seconds = 1;
    if ((unit.rate && !take_period(rest, &seconds)) || !kinds[unit.kind].parse(rest, &parsed) || !isfinite(parsed))
        return FALSE;
    *value = (text[0] == '-' ? -parsed : parsed) / seconds;
    return TRUE;
}

const char *
amount_example(AmountUnit unit)
{
    return unit.rate ? kinds[unit.kind].rate_example : kinds[unit.kind].example;
}

/* A rate is written per the shortest period in which it is at least 1. */
static const char *
choose_period(gdouble *value)
{
    guint i = 0;
    while (i + 1 < G_N_ELEMENTS(periods) && *value > 0 && *value * periods[i].seconds < 1)
        i++;
    *value *= periods[i].seconds;
    return periods[i].word;
}

char *
amount_format(gdouble value, AmountUnit unit)
{
    gdouble size = fabs(value);
    const char *period = unit.rate ? choose_period(&size) : "";
    g_autofree char *text = kinds[unit.kind].format(size);
    return g_strconcat(value < 0 ? "-" : "", text, unit.rate ? "/" : "", period, NULL);
}
