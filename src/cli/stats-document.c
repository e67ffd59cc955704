/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stats-document.h"

#include "stats/advice.h"

/* Values by name; absent ones are omitted. */
static json_t *
metrics_json(const StatsValues *values, StatsScope scope)
{
    json_t *object = json_object();
    StatsMetric first = stats_scope_first(scope);
    for (guint i = 0; i < stats_scope_count(scope); i++) {
        uint64_t value;
        if (stats_values_get(values, first + i, &value))
            json_object_set_new(object, stats_metrics[first + i].name, json_integer((json_int_t)value));
    }
    return object;
}

static json_t *
classes_json(const StatsTable *table)
{
    json_t *list = json_array();
    for (guint i = 0; table != NULL && i < table->count; i++)
        json_array_append_new(list, metrics_json(stats_table_row(table, i), table->scope));
    return list;
}

static json_t *
arena_number(guint index)
{
    return index == STATS_ARENA_MERGED      ? json_string("merged")
           : index == STATS_ARENA_DESTROYED ? json_string("destroyed")
                                            : json_integer(index);
}

static json_t *
arenas_json(const StatsSample *sample, StatsDocumentParts parts)
{
    json_t *list = json_array();
    for (guint i = 0; i < sample->arenas->len; i++) {
        const StatsArena *arena = sample->arenas->pdata[i];
        if ((parts & STATS_DOCUMENT_ARENAS) == 0 && arena->index != STATS_ARENA_MERGED)
            continue;
        json_t *object = json_pack("{s:o, s:s?, s:o}", "arena", arena_number(arena->index), "name", arena->name,
                                   "metrics", metrics_json(arena->values, STATS_SCOPE_ARENA));
        if ((parts & STATS_DOCUMENT_CLASSES) != 0) {
            json_object_set_new(object, "bins", classes_json(arena->bins));
            json_object_set_new(object, "large", classes_json(arena->large));
        }
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *
advice_json(const StatsSample *last, const StatsSample *first)
{
    json_t *list = json_array();
    g_autoptr(GPtrArray) found = advice_find(last, first);
    for (guint i = 0; i < found->len; i++) {
        const Advice *advice = found->pdata[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I, s:s}", "id", causes[advice->cause].name, "finding",
                                              causes[advice->cause].finding, "evidence", advice->evidence, "bytes",
                                              (json_int_t)advice->bytes, "change", advice->change));
    }
    return list;
}

static json_t *
time_json(gint64 time_us)
{
    g_autoptr(GDateTime) time =
        time_us != STATS_TIME_UNKNOWN ? g_date_time_new_from_unix_utc(time_us / G_USEC_PER_SEC) : NULL;
    g_autofree char *text = time != NULL ? g_date_time_format_iso8601(time) : NULL;
    return text != NULL ? json_string(text) : json_null();
}

json_t *
stats_document(const StatsSample *last, const StatsSample *first, StatsDocumentParts parts)
{
    g_autofree char *notice = stats_outside_notice(last->totals);
    return json_pack("{s:s?, s:o, s:s?, s:o, s:o, s:o}", "jemalloc", last->version, "time", time_json(last->time_us),
                     "notice", notice, "metrics", metrics_json(last->totals, STATS_SCOPE_TOTALS), "arenas",
                     arenas_json(last, parts), "advice", advice_json(last, first));
}
