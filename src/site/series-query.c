/* SPDX-License-Identifier: Apache-2.0 */
#include "site/series-query.h"

#include "history/plot.h"
#include "history/series-table.h"
#include "routes/query.h"
#include "routes/values.h"

#include <string.h>

G_DEFINE_QUARK(jescope_series_query_error, series_query_error)

static const char *const each_words[] = {
    [SERIES_MEAN] = "mean", [SERIES_MIN] = "min", [SERIES_MAX] = "max", [SERIES_LAST] = "last"};

/* The first is the default. */
static const struct {
    const char *word;
    const char *content_type;
    void (*write)(const GPtrArray *series, GString *out);
} formats[] = {
    {"json", "application/json", series_write_json},
    {"csv", "text/csv; charset=utf-8", series_write_csv},
    {"openmetrics", "application/openmetrics-text; version=1.0.0; charset=utf-8", series_write_openmetrics},
    {"table", "text/plain; charset=utf-8", series_write_table},
    {"svg", "image/svg+xml", plot_svg},
};

static gboolean
fail(GError **error, const char *name, const QueryValue *value, const char *wanted)
{
    g_set_error(error, SERIES_QUERY_ERROR, SERIES_QUERY_ERROR_PARAMETER, "%s: invalid value '%s'; it must be %s", name,
                value->text, wanted);
    return FALSE;
}

static gboolean
parse_selectors(const char *query, SeriesRequest *request, GError **error)
{
    QueryValue value;
    if (query_find(query, "metric", &value) != QUERY_GIVEN || value.text[0] == '\0') {
        g_set_error_literal(error, SERIES_QUERY_ERROR, SERIES_QUERY_ERROR_PARAMETER,
                            "the parameter 'metric' is missing, such as metric=allocated");
        return FALSE;
    }
    g_auto(GStrv) words = g_strsplit(value.text, ",", SERIES_QUERY_SELECTORS_MAX + 1);
    if (g_strv_length(words) > SERIES_QUERY_SELECTORS_MAX)
        return fail(error, "metric", &value, "a list of at most 16 metrics");
    request->selectors = g_steal_pointer(&words);
    return TRUE;
}

static gboolean
read_iso(const char *text, gint64 *time_us)
{
    size_t day = strspn(text, "0123456789-");
    g_autofree char *whole = text[day] == '\0' ? g_strconcat(text, "T00:00:00", NULL) : g_strdup(text);
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(whole, utc);
    if (time == NULL)
        return FALSE;
    *time_us = g_date_time_to_unix(time) * G_USEC_PER_SEC + g_date_time_get_microsecond(time);
    return TRUE;
}

static gboolean
read_time(const char *text, gint64 now_us, gint64 *time_us)
{
    static const double seconds_max = 1e11; /* the year 5138 */
    double number;
    if (strcmp(text, "now") == 0) {
        *time_us = now_us;
        return TRUE;
    }
    if (text[0] == '-' && value_duration(text + 1, &number) && number / 1000 <= seconds_max) {
        *time_us = now_us - (gint64)(number * 1000);
        return TRUE;
    }
    if (value_decimal(text, strlen(text), &number) && number <= seconds_max) {
        *time_us = (gint64)(number * G_USEC_PER_SEC);
        return TRUE;
    }
    return read_iso(text, time_us);
}

static gboolean
parse_time(const char *query, const char *name, gint64 now_us, gint64 *time_us, GError **error)
{
    QueryValue value;
    if (query_find(query, name, &value) == QUERY_ABSENT || read_time(value.text, now_us, time_us))
        return TRUE;
    return fail(error, name, &value, "a time: -2h, seconds since 1970, or 2026-11-21T14:05:00Z");
}

static gboolean
parse_step(const char *query, guint64 *step_us, GError **error)
{
    static const double days_max_ms = 3650 * 86400e3;
    QueryValue value;
    double ms;
    if (query_find(query, "step", &value) == QUERY_ABSENT)
        return TRUE;
    if (!value_duration(value.text, &ms) || ms < 1 || ms > days_max_ms)
        return fail(error, "step", &value, "a duration like 90s, 5m or 1h30m");
    *step_us = (guint64)(ms * 1000);
    return TRUE;
}

static gboolean
parse_each(const char *query, SeriesEach *each, GError **error)
{
    QueryValue value;
    if (query_find(query, "each", &value) == QUERY_ABSENT)
        return TRUE;
    for (size_t i = 0; i < G_N_ELEMENTS(each_words); i++)
        if (strcmp(value.text, each_words[i]) == 0) {
            *each = (SeriesEach)i;
            return TRUE;
        }
    return fail(error, "each", &value, "mean, min, max or last");
}

static gboolean
parse_rate(const char *query, gboolean *rate, GError **error)
{
    QueryValue value;
    bool wanted;
    if (query_find(query, "rate", &value) == QUERY_ABSENT)
        return TRUE;
    if (!value_boolean(value.text, &wanted))
        return fail(error, "rate", &value, "true or false");
    *rate = wanted;
    return TRUE;
}

static gboolean
parse_format(const char *query, SeriesRequest *request, GError **error)
{
    QueryValue value;
    QueryState state = query_find(query, "format", &value);
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
        if (state == QUERY_ABSENT || strcmp(value.text, formats[i].word) == 0) {
            request->content_type = formats[i].content_type;
            request->write = formats[i].write;
            return TRUE;
        }
    return fail(error, "format", &value, "json, csv, openmetrics, table or svg");
}

gboolean
series_request_parse(const char *query, gint64 now_us, SeriesRequest *request, GError **error)
{
    SeriesRequest parsed = {.range = HISTORY_ALL_TIME};
    if (parse_selectors(query, &parsed, error) && parse_time(query, "from", now_us, &parsed.range.from_us, error) &&
        parse_time(query, "to", now_us, &parsed.range.to_us, error) && parse_step(query, &parsed.step_us, error) &&
        parse_each(query, &parsed.each, error) && parse_rate(query, &parsed.rate, error) &&
        parse_format(query, &parsed, error)) {
        if (parsed.range.from_us < parsed.range.to_us) {
            *request = parsed;
            return TRUE;
        }
        g_set_error_literal(error, SERIES_QUERY_ERROR, SERIES_QUERY_ERROR_PARAMETER, "'from' must be before 'to'");
    }
    series_request_clear(&parsed);
    return FALSE;
}

void
series_request_clear(SeriesRequest *request)
{
    g_clear_pointer(&request->selectors, g_strfreev);
}
