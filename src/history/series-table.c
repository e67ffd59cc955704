/* SPDX-License-Identifier: Apache-2.0 */
#include "history/series-table.h"

#include "history/axis.h"

#include <math.h>
#include <string.h>

/* Merges all series by time: NEXT has the index of each one's next point. */
typedef struct {
    const GPtrArray *series;
    guint *next;
} Merge;

static const SeriesPoint *
peek(const Merge *merge, guint index)
{
    const Series *series = merge->series->pdata[index];
    return merge->next[index] < series->points->len ? &g_array_index(series->points, SeriesPoint, merge->next[index])
                                                    : NULL;
}

/* The earliest time of all next points. FALSE at the end. */
static gboolean
next_time(const Merge *merge, gint64 *time_us)
{
    gboolean any = FALSE;
    for (guint i = 0; i < merge->series->len; i++) {
        const SeriesPoint *point = peek(merge, i);
        if (point != NULL && (!any || point->time_us < *time_us)) {
            *time_us = point->time_us;
            any = TRUE;
        }
    }
    return any;
}

static const SeriesPoint *
take(Merge *merge, guint index, gint64 time_us)
{
    const SeriesPoint *point = peek(merge, index);
    if (point == NULL || point->time_us != time_us)
        return NULL;
    merge->next[index]++;
    return point;
}

gboolean
series_have_targets(const GPtrArray *series)
{
    for (guint i = 1; i < series->len; i++)
        if (strcmp(((const Series *)series->pdata[i - 1])->target, ((const Series *)series->pdata[i])->target) != 0)
            return TRUE;
    return FALSE;
}

char *
series_title(const Series *series, gboolean several)
{
    g_autofree char *selector = series_selector(series);
    const char *rate = series->rate ? " per second" : "";
    return several ? g_strdup_printf("%s %s%s", series->target, selector, rate) : g_strconcat(selector, rate, NULL);
}

/* Doubles represent integers up to 2^53 exactly. */
static char *
exact_number(double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    if (value == floor(value) && fabs(value) < 0x1p63)
        return g_strdup_printf("%" G_GINT64_FORMAT, (gint64)value);
    return g_strdup(g_ascii_dtostr(text, sizeof(text), value));
}

static void
append_padded(GString *out, const char *text, guint width)
{
    glong letters = g_utf8_strlen(text, -1);
    g_string_append_printf(out, "%*s%s", (int)MAX((glong)width - letters, 0), "", text);
}

static guint
column_width(const Series *series, const char *title)
{
    guint width = (guint)g_utf8_strlen(title, -1);
    for (guint i = 0; i < series->points->len; i++) {
        g_autofree char *label =
            axis_value_label(g_array_index(series->points, SeriesPoint, i).value, stats_metrics[series->metric].unit);
        width = MAX(width, (guint)strlen(label));
    }
    return width;
}

static guint
time_width(const GPtrArray *series)
{
    for (guint i = 0; i < series->len; i++) {
        const GArray *points = ((const Series *)series->pdata[i])->points;
        for (guint j = 0; j < points->len; j++)
            if (g_array_index(points, SeriesPoint, j).time_us / 1000 % 1000 != 0)
                return (guint)strlen("2026-11-21T14:05:30.000Z");
    }
    return (guint)strlen("2026-11-21T14:05:30Z");
}

static void
write_table_rows(Merge *merge, guint times, const guint *widths, GString *out)
{
    gint64 time_us = 0;
    while (next_time(merge, &time_us)) {
        g_autofree char *time = axis_time_full(time_us);
        g_string_append_printf(out, "%-*s", (int)times, time);
        for (guint i = 0; i < merge->series->len; i++) {
            const SeriesPoint *point = take(merge, i, time_us);
            const Series *series = merge->series->pdata[i];
            g_autofree char *label =
                point != NULL ? axis_value_label(point->value, stats_metrics[series->metric].unit) : g_strdup("-");
            g_string_append(out, "  ");
            append_padded(out, label, widths[i]);
        }
        g_string_append_c(out, '\n');
    }
}

void
series_write_table(const GPtrArray *series, GString *out)
{
    g_autofree guint *next = g_new0(guint, series->len), *widths = g_new0(guint, series->len);
    guint times = time_width(series);
    gboolean several = series_have_targets(series);
    g_string_append_printf(out, "%-*s", (int)times, "TIME");
    for (guint i = 0; i < series->len; i++) {
        g_autofree char *title = series_title(series->pdata[i], several);
        widths[i] = column_width(series->pdata[i], title);
        g_string_append(out, "  ");
        append_padded(out, title, widths[i]);
    }
    g_string_append_c(out, '\n');
    Merge merge = {.series = series, .next = next};
    write_table_rows(&merge, times, widths, out);
}

/* Spreadsheets treat a cell that begins with one of these as a formula, which may run programs or send other cells
 * elsewhere; an apostrophe in front makes it text. Names are chosen by processes. */
static gboolean
is_formula(const char *text)
{
    return text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL;
}

static void
append_csv_field(GString *out, const char *text)
{
    if (is_formula(text)) {
        g_autofree char *plain = g_strconcat("'", text, NULL);
        append_csv_field(out, plain);
        return;
    }
    if (strpbrk(text, ",\"\r\n") == NULL) {
        g_string_append(out, text);
        return;
    }
    g_string_append_c(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"')
            g_string_append_c(out, '"');
        g_string_append_c(out, *text);
    }
    g_string_append_c(out, '"');
}

void
series_write_csv(const GPtrArray *series, GString *out)
{
    gboolean several = series_have_targets(series);
    g_string_append(out, "time");
    for (guint i = 0; i < series->len; i++) {
        g_autofree char *title = series_title(series->pdata[i], several);
        g_string_append_c(out, ',');
        append_csv_field(out, title);
    }
    g_string_append(out, "\r\n");
    g_autofree guint *next = g_new0(guint, series->len);
    Merge merge = {.series = series, .next = next};
    gint64 time_us = 0;
    while (next_time(&merge, &time_us)) {
        g_autofree char *time = axis_time_full(time_us);
        g_string_append(out, time);
        for (guint i = 0; i < series->len; i++) {
            const SeriesPoint *point = take(&merge, i, time_us);
            g_autofree char *number = point != NULL ? exact_number(point->value) : g_strdup("");
            g_string_append_printf(out, ",%s", number);
        }
        g_string_append(out, "\r\n");
    }
}

/* Uses the escapes common to JSON and OpenMetrics; other control characters as in JSON. */
static void
append_quoted(GString *out, const char *text)
{
    g_string_append_c(out, '"');
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\')
            g_string_append_printf(out, "\\%c", *text);
        else if (*text == '\n')
            g_string_append(out, "\\n");
        else if ((guchar)*text < 0x20)
            g_string_append_printf(out, "\\u%04x", (guint)(guchar)*text);
        else
            g_string_append_c(out, *text);
    g_string_append_c(out, '"');
}

/* The text after '@' in the selector: "3", "merged"...; NULL for a value of the process. */
static char *
owner_name(const Series *series)
{
    g_autofree char *selector = series_selector(series);
    const char *at = strchr(selector, '@');
    return at != NULL ? g_strndup(at + 1, strcspn(at + 1, "/")) : NULL;
}

static void
append_seconds(GString *out, gint64 time_us)
{
    gint64 ms = time_us / 1000;
    g_string_append_printf(out, "%s%" G_GINT64_FORMAT ".%03d", ms < 0 ? "-" : "", ABS(ms) / 1000,
                           (int)(ABS(ms) % 1000));
}

static void
append_json_head(const Series *series, GString *out)
{
    const StatsMetricInfo *info = &stats_metrics[series->metric];
    g_autofree char *owner = owner_name(series), *unit = series_unit(series);
    g_string_append(out, "{\"target\": ");
    append_quoted(out, series->target);
    g_string_append_printf(out, ", \"metric\": \"%s\"", info->name);
    if (owner != NULL)
        g_string_append_printf(out, ", \"arena\": \"%s\"", owner);
    if (series->item != NULL) {
        g_string_append(out, ", \"item\": ");
        append_quoted(out, series->item);
    }
    g_string_append_printf(out, ", \"type\": \"%s\", \"unit\": \"%s\", \"points\": [",
                           info->type == STATS_COUNTER && !series->rate ? "counter" : "gauge", unit);
}

void
series_write_json(const GPtrArray *series, GString *out)
{
    g_string_append(out, "{\"format\": \"jescope-series\", \"version\": 1, \"series\": [");
    for (guint i = 0; i < series->len; i++) {
        const Series *one = series->pdata[i];
        g_string_append(out, i > 0 ? ",\n" : "\n");
        append_json_head(one, out);
        for (guint j = 0; j < one->points->len; j++) {
            const SeriesPoint *point = &g_array_index(one->points, SeriesPoint, j);
            g_autofree char *number = exact_number(point->value);
            g_string_append(out, j > 0 ? ", [" : "[");
            append_seconds(out, point->time_us);
            g_string_append_printf(out, ", %s]", number);
        }
        g_string_append(out, "]}");
    }
    g_string_append(out, "\n]}\n");
}

static const struct {
    const char *suffix;
    double factor; /* factor to the unit of the suffix */
} exposed_units[] = {
    [STATS_UNIT_BYTES] = {"_bytes", 1},
    [STATS_UNIT_PAGES] = {"_pages", 1},
    [STATS_UNIT_COUNT] = {"", 1},
    [STATS_UNIT_NANOSECONDS] = {"_seconds", 1e-9},
    [STATS_UNIT_MILLISECONDS] = {"_seconds", 1e-3},
};

/* Without "_total", which only the samples of a counter have. */
static char *
family_name(const Series *series)
{
    const StatsMetricInfo *info = &stats_metrics[series->metric];
    const char *suffix = exposed_units[info->unit].suffix;
    g_autofree char *name = g_strdelimit(g_strdup(info->name), ".", '_');
    static const char *const old_suffixes[] = {"_bytes", "_ms"};
    for (size_t i = 0; i < G_N_ELEMENTS(old_suffixes); i++)
        if (*suffix != '\0' && g_str_has_suffix(name, old_suffixes[i]))
            name[strlen(name) - strlen(old_suffixes[i])] = '\0';
    return g_strconcat("jemalloc_", name, series->rate ? "_rate" : "", suffix, NULL);
}

static void
append_family(const Series *series, GString *out)
{
    const StatsMetricInfo *info = &stats_metrics[series->metric];
    g_autofree char *name = family_name(series);
    const char *suffix = exposed_units[info->unit].suffix;
    gboolean counter = info->type == STATS_COUNTER && !series->rate;
    g_string_append_printf(out, "# TYPE %s %s\n", name, counter ? "counter" : "gauge");
    if (*suffix != '\0')
        g_string_append_printf(out, "# UNIT %s %s\n", name, suffix + 1);
    g_string_append_printf(out, "# HELP %s %s%s.\n", name, info->help, series->rate ? ", change per second" : "");
}

static void
append_samples(const Series *series, GString *out)
{
    const StatsMetricInfo *info = &stats_metrics[series->metric];
    g_autofree char *name = family_name(series), *owner = owner_name(series);
    gboolean counter = info->type == STATS_COUNTER && !series->rate;
    g_autoptr(GString) head = g_string_new(name);
    g_string_append_printf(head, "%s{target=", counter ? "_total" : "");
    append_quoted(head, series->target);
    if (owner != NULL)
        g_string_append_printf(head, ",arena=\"%s\"", owner);
    if (series->item != NULL) {
        g_string_append(head, info->scope == STATS_SCOPE_MUTEX ? ",mutex=" : ",size=");
        append_quoted(head, series->item);
    }
    for (guint i = 0; i < series->points->len; i++) {
        const SeriesPoint *point = &g_array_index(series->points, SeriesPoint, i);
        g_autofree char *number = exact_number(point->value * exposed_units[info->unit].factor);
        g_string_append_printf(out, "%s} %s ", head->str, number);
        append_seconds(out, point->time_us);
        g_string_append_c(out, '\n');
    }
}

/* A family is written once, followed by all its series. */
void
series_write_openmetrics(const GPtrArray *series, GString *out)
{
    gboolean done[STATS_METRIC_COUNT] = {FALSE};
    for (guint i = 0; i < series->len; i++) {
        const Series *first = series->pdata[i];
        if (done[first->metric])
            continue;
        done[first->metric] = TRUE;
        append_family(first, out);
        for (guint j = i; j < series->len; j++)
            if (((const Series *)series->pdata[j])->metric == first->metric)
                append_samples(series->pdata[j], out);
    }
    g_string_append(out, "# EOF\n");
}
