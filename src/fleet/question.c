/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/question.h"

#include "export/clickhouse-schema.h"
#include "export/sql.h"

#include <gio/gio.h>
#include <string.h>

gboolean
fleet_filter_check(const FleetFilter *filter, GError **error)
{
    for (const char *const *label = filter->labels; label != NULL && *label != NULL; label++)
        if (strchr(*label, '=') == NULL || **label == '=') {
            g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "a label is NAME=VALUE, not '%s'", *label);
            return FALSE;
        }
    return TRUE;
}

static void
append_equal(GString *sql, const char *column, const char *value)
{
    if (value == NULL)
        return;
    g_string_append_printf(sql, " AND %s = ", column);
    sql_append_text(sql, value);
}

static void
append_label(GString *sql, const char *label)
{
    g_auto(GStrv) parts = g_strsplit(label, "=", 2);
    g_string_append(sql, " AND labels.value[indexOf(labels.name, ");
    sql_append_text(sql, parts[0]);
    g_string_append(sql, ")] = ");
    sql_append_text(sql, parts[1]);
    g_string_append(sql, " AND has(labels.name, ");
    sql_append_text(sql, parts[0]);
    g_string_append_c(sql, ')');
}

static void
append_day(GString *sql, gint64 time_us)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(time_us / G_USEC_PER_SEC);
    g_autofree char *day = g_date_time_format(time, "%F");
    g_string_append_printf(sql, "'%s'", day);
}

/* The partitions of the dumps from FROM to UNTIL: the days on which the full dumps that they are based on were
 * taken. */
static void
append_days(GString *sql, gint64 from, gint64 until)
{
    g_string_append(sql, "day >= ");
    append_day(sql, MAX(from - CLICKHOUSE_FULL_SECONDS * (gint64)G_USEC_PER_SEC, 0));
    g_string_append(sql, " AND day <= ");
    append_day(sql, until);
}

static void
append_filter(GString *sql, const FleetFilter *filter)
{
    append_equal(sql, "service", filter->service);
    append_equal(sql, "version", filter->version);
    append_equal(sql, "host", filter->host);
    append_equal(sql, "zone", filter->zone);
    for (const char *const *label = filter->labels; label != NULL && *label != NULL; label++)
        append_label(sql, *label);
}

/* "FROM dump WHERE ...": the dumps in the windows of MOMENTS. */
static void
append_dumps(GString *sql, const char *database, const FleetFilter *filter, const FleetMoments *moments)
{
    g_string_append_printf(sql, "FROM %s.dump WHERE ", database);
    append_days(sql, MAX(moments->times[0] - moments->window, 0), moments->times[moments->n - 1]);
    for (guint i = 0; i < moments->n; i++)
        g_string_append_printf(sql, "%s(time > %" G_GINT64_FORMAT " AND time <= %" G_GINT64_FORMAT ")",
                               i == 0 ? " AND (" : " OR ", MAX(moments->times[i] - moments->window, 0),
                               moments->times[i]);
    g_string_append_c(sql, ')');
    append_filter(sql, filter);
}

static FleetMoments
one_moment(const FleetMoment *moment)
{
    return (FleetMoments){&moment->at, 1, moment->window};
}

char *
fleet_ask_latest(const char *database, const FleetFilter *filter, gint64 until)
{
    g_autoptr(GString) sql = g_string_new(NULL);
    g_string_append_printf(sql,
                           "SELECT toString(max(time)), toString(count()) FROM %s.dump WHERE time <= %" G_GINT64_FORMAT,
                           database, until);
    append_filter(sql, filter);
    g_string_append(sql, " FORMAT JSONCompact");
    return g_string_free(g_steal_pointer(&sql), FALSE);
}

/* "(SELECT process, moment, RESULTS FROM ...)": the latest dump of each process at each of MOMENTS. NEEDS has the
 * columns of `dump` that RESULTS use, and RESULTS. */
static void
append_latest(GString *sql, const char *database, const FleetFilter *filter, const FleetMoments *moments,
              const char *const needs[2])
{
    g_string_append_printf(sql, "(SELECT process, moment, %s FROM (SELECT target AS process, time AS taken, %s ",
                           needs[1], needs[0]);
    append_dumps(sql, database, filter, moments);
    g_string_append(sql, ") ARRAY JOIN [");
    for (guint i = 0; i < moments->n; i++)
        g_string_append_printf(sql, "%stoUInt64(%" G_GINT64_FORMAT ")", i > 0 ? ", " : "", moments->times[i]);
    g_string_append_printf(
        sql, "] AS moment WHERE taken <= moment AND taken + %" G_GINT64_FORMAT " > moment GROUP BY process, moment)",
        moments->window);
}

char *
fleet_ask_counts(const char *database, const FleetFilter *filter, const FleetMoments *moments)
{
    static const char *const needs[] = {"host, period, cumulative",
                                        "argMax(host, taken) AS on_host, argMax(period, taken) AS spacing, "
                                        "argMax(cumulative, taken) AS known"};
    g_autoptr(GString) sql = g_string_new("SELECT toString(moment), toString(count()), toString(uniqExact(on_host)), "
                                          "toString(max(spacing)), toString(min(known)) FROM ");
    append_latest(sql, database, filter, moments, needs);
    g_string_append(sql, " GROUP BY moment FORMAT JSONCompact");
    return g_string_free(g_steal_pointer(&sql), FALSE);
}

/* ---- stacks ---- */

enum {
    VALUE_FIGURES = 2 * CLICKHOUSE_VALUES,
    FIGURES = VALUE_FIGURES + 2, /* births, deaths */
    FIRST_INUSE = 4,             /* inuse_objects, its variance, inuse_space... */
    FIRST_SPACE = 6,
};

/* The column of a figure, to be freed. */
static char *
figure_name(guint figure)
{
    if (figure >= VALUE_FIGURES)
        return g_strdup(figure == VALUE_FIGURES ? "births" : "deaths");
    return g_strconcat(clickhouse_values[figure / 2], figure % 2 != 0 ? "_variance" : "", NULL);
}

/* Appends FORMAT for each figure from FIRST, with "@" replaced with its column and "#" with its number. */
static void
append_figures(GString *sql, guint first, const char *format)
{
    for (guint n = first; n < FIGURES; n++) {
        g_autofree char *name = figure_name(n);
        for (const char *at = format; *at != '\0'; at++)
            if (*at == '@')
                g_string_append(sql, name);
            else if (*at == '#')
                g_string_append_printf(sql, "%u", n);
            else
                g_string_append_c(sql, *at);
    }
}

/* The sums of "value0", "value1"..., each times FACTOR. */
static void
append_sums(GString *sql, guint first, const char *factor)
{
    g_autofree char *format = g_strdup_printf(", sum(value#%s) AS sum#", factor);
    for (guint n = 0; n < first; n++)
        g_string_append(sql, ", 0");
    append_figures(sql, first, format);
}

static guint
first_of(FleetValues values)
{
    return values == FLEET_INUSE_VALUES ? FIRST_INUSE : 0;
}

/* "WHERE ...": rows of full dumps, or of changes, that dumps in the windows of MOMENTS may be based on. */
static void
append_times(GString *sql, const FleetFilter *filter, const FleetMoments *moments)
{
    gint64 hour = CLICKHOUSE_HOUR_SECONDS * (gint64)G_USEC_PER_SEC;
    gint64 before = moments->window + CLICKHOUSE_FULL_SECONDS * (gint64)G_USEC_PER_SEC;
    g_string_append(sql, " WHERE ");
    append_days(sql, MAX(moments->times[0] - moments->window, 0), moments->times[moments->n - 1]);
    append_equal(sql, "service", filter->service);
    for (guint i = 0; i < moments->n; i++)
        g_string_append_printf(sql, "%s(hour >= %" G_GINT64_FORMAT " AND hour <= %" G_GINT64_FORMAT ")",
                               i == 0 ? " AND (" : " OR ", MAX(moments->times[i] - before, 0) / hour,
                               moments->times[i] / hour);
    g_string_append(sql, ") AND (target, base) GLOBAL IN ");
}

#define BASE_NEEDS                                                                                                     \
    {                                                                                                                  \
        "base", "argMax(base, taken) AS whole"                                                                         \
    }

/* "(SELECT target, base ...)": the full dumps that the dumps of MOMENTS are based on. */
static void
append_bases(GString *sql, const char *database, const FleetFilter *filter, const FleetMoments *moments)
{
    static const char *const needs[] = BASE_NEEDS;
    g_string_append(sql, "(SELECT process, whole FROM ");
    append_latest(sql, database, filter, moments, needs);
    g_string_append_c(sql, ')');
}

/* Restricts the stacks to those with FUNCTION; NULL: all. */
static void
append_with_function(GString *sql, const char *database, const FleetFilter *filter, const FleetMoments *moments,
                     const char *function)
{
    if (function == NULL)
        return;
    g_string_append_printf(sql, " AND stack GLOBAL IN (SELECT hash FROM %s.stack WHERE ", database);
    append_days(sql, MAX(moments->times[0] - moments->window, 0), moments->times[moments->n - 1]);
    append_equal(sql, "service", filter->service);
    g_string_append(sql, " AND has(functions, ");
    sql_append_text(sql, function);
    g_string_append(sql, "))");
}

/* The parameters of a query about stacks. */
typedef struct {
    const char *database;
    const FleetFilter *filter;
    const FleetMoments *moments;
    const char *function; /* NULL: all stacks */
    guint first;          /* the first figure to select */
} Stacks;

/* "(SELECT process, whole, hashes, figures ...)": rows of full dumps, without duplicates. */
static void
append_whole_dumps(GString *sql, const Stacks *stacks)
{
    g_string_append(sql, "(SELECT target AS process, base AS whole, hashes");
    append_figures(sql, stacks->first, ", @");
    g_string_append_printf(sql, " FROM %s.whole", stacks->database);
    append_times(sql, stacks->filter, stacks->moments);
    append_bases(sql, stacks->database, stacks->filter, stacks->moments);
    g_string_append(sql, " LIMIT 1 BY target, base)");
}

/* "(SELECT process, stack, value4...)": for each process and stack, the latest of its full dump and the changes
 * since. */
static void
append_state(GString *sql, const Stacks *stacks)
{
    g_string_append(sql, "(SELECT process, stack");
    append_figures(sql, stacks->first, ", argMax(figure#, taken) AS value#");
    g_string_append(sql, " FROM (SELECT target AS process, hash AS stack, time AS taken");
    append_figures(sql, stacks->first, ", @ AS figure#");
    g_string_append_printf(sql, " FROM %s.sample", stacks->database);
    append_times(sql, stacks->filter, stacks->moments);
    append_bases(sql, stacks->database, stacks->filter, stacks->moments);
    g_string_append_printf(sql, " AND time <= %" G_GINT64_FORMAT, stacks->moments->times[0]);
    append_with_function(sql, stacks->database, stacks->filter, stacks->moments, stacks->function);
    g_string_append(sql, " UNION ALL SELECT process, stack, whole AS taken");
    append_figures(sql, stacks->first, ", figure#");
    g_string_append(sql, " FROM ");
    append_whole_dumps(sql, stacks);
    g_string_append(sql, " ARRAY JOIN hashes AS stack");
    append_figures(sql, stacks->first, ", @ AS figure#");
    if (stacks->function != NULL)
        g_string_append(sql, " WHERE 1");
    append_with_function(sql, stacks->database, stacks->filter, stacks->moments, stacks->function);
    g_string_append(sql, ") GROUP BY process, stack)");
}

/* "(SELECT process, stack, value4..., times ...)": the rows of full dumps, and the number of moments they count for. */
static void
append_whole_state(GString *sql, const Stacks *stacks)
{
    static const char *const needs[] = BASE_NEEDS;
    g_string_append(sql, "(SELECT process, stack, times");
    append_figures(sql, stacks->first, ", value#");
    g_string_append(sql, " FROM (SELECT * FROM ");
    append_whole_dumps(sql, stacks);
    g_string_append(sql, " AS dumps ANY INNER JOIN (SELECT process, whole, count() AS times FROM ");
    append_latest(sql, stacks->database, stacks->filter, stacks->moments, needs);
    g_string_append(sql, " GROUP BY process, whole) AS uses USING process, whole) ARRAY JOIN hashes AS stack");
    append_figures(sql, stacks->first, ", @ AS value#");
    if (stacks->function != NULL)
        g_string_append(sql, " WHERE 1");
    append_with_function(sql, stacks->database, stacks->filter, stacks->moments, stacks->function);
    g_string_append_c(sql, ')');
}

char *
fleet_ask_stacks(const char *database, const FleetFilter *filter, const FleetMoment *moment, FleetValues values)
{
    const FleetMoments moments = one_moment(moment);
    const Stacks stacks = {database, filter, &moments, NULL, first_of(values)};
    g_autoptr(GString) sql = g_string_new("SELECT toString(stack)");
    append_sums(sql, stacks.first, "");
    g_string_append(sql, " FROM ");
    append_state(sql, &stacks);
    g_string_append(sql, " GROUP BY stack FORMAT JSONCompact");
    return g_string_free(g_steal_pointer(&sql), FALSE);
}

char *
fleet_ask_whole(const char *database, const FleetFilter *filter, const FleetMoments *moments, FleetValues values)
{
    const Stacks stacks = {database, filter, moments, NULL, first_of(values)};
    g_autoptr(GString) sql = g_string_new("SELECT toString(stack)");
    append_sums(sql, stacks.first, " * times");
    g_string_append(sql, " FROM ");
    append_whole_state(sql, &stacks);
    g_string_append(sql, " GROUP BY stack FORMAT JSONCompact");
    return g_string_free(g_steal_pointer(&sql), FALSE);
}

char *
fleet_ask_names(const char *database, const FleetFilter *filter, gint64 from, gint64 until)
{
    g_autoptr(GString) sql = g_string_new(NULL);
    g_string_append_printf(sql,
                           "SELECT toString(hash), any(names), any(files), any(builds), any(arrayMap(x -> toString(x), "
                           "offsets)) FROM %s.stack WHERE ",
                           database);
    append_days(sql, from, until);
    append_equal(sql, "service", filter->service);
    g_string_append(sql, " GROUP BY hash FORMAT JSONCompact");
    return g_string_free(g_steal_pointer(&sql), FALSE);
}

char *
fleet_ask_processes(const char *database, const FleetFilter *filter, const FleetMoment *moment)
{
    static const char *const texts[] = {"host", "version", "zone", "toString(pid)"};
    static const char *const numbers[] = {"inuse_space", "toFloat64(inuse_space_variance)", "allocated", "resident"};
    const FleetMoments moments = one_moment(moment);
    g_autoptr(GString) sql = g_string_new("SELECT service");
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_string_append_printf(sql, ", argMax(%s, time)", texts[i]);
    g_string_append(sql, ", toString(max(time))");
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        g_string_append_printf(sql, ", argMax(%s, time)", numbers[i]);
    g_string_append_c(sql, ' ');
    append_dumps(sql, database, filter, &moments);
    g_string_append(sql, " GROUP BY service, target FORMAT JSONCompact");
    return g_string_free(g_steal_pointer(&sql), FALSE);
}

char *
fleet_ask_function(const char *database, const FleetFilter *filter, const FleetMoment *moment, FleetDetail detail,
                   const char *function)
{
    static const char *const needs[] = {"host", "argMax(host, taken) AS on_host"};
    const FleetMoments moments = one_moment(moment);
    const Stacks stacks = {database, filter, &moments, function, FIRST_SPACE};
    g_autoptr(GString) sql = g_string_new("SELECT on_host");
    append_figures(sql, stacks.first, ", sum(value#)");
    g_string_append(sql, " FROM ");
    if (detail == FLEET_WHOLE)
        append_whole_state(sql, &stacks);
    else
        append_state(sql, &stacks);
    g_string_append(sql, " AS held ANY INNER JOIN ");
    append_latest(sql, database, filter, &moments, needs);
    g_string_append(sql, " AS places USING process GROUP BY on_host FORMAT JSONCompact");
    return g_string_free(g_steal_pointer(&sql), FALSE);
}
