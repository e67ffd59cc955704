/* SPDX-License-Identifier: Apache-2.0 */
#include "http/target-list.h"

#include "routes/query.h"

#include <jansson.h>
#include <string.h>

static const char *const reach_names[] = {
    [SERVICE_REACH_UNKNOWN] = "unknown", [SERVICE_REACH_AGENT] = "agent", [SERVICE_REACH_ATTACH] = "attach"};

/* The words of the parameter "state". */
static const struct {
    const char *word;
    gboolean live;
    gboolean gone;
} choices[] = {{"live", TRUE, FALSE}, {"gone", FALSE, TRUE}, {"all", TRUE, TRUE}};

static const StatsMetric shown[] = {STATS_ALLOCATED, STATS_ACTIVE, STATS_RESIDENT, STATS_MAPPED, STATS_RETAINED};

static json_t *
describe_sample(const StatsSample *sample)
{
    json_t *object = json_object();
    json_object_set_new(object, "time", json_real((double)sample->time_us / G_USEC_PER_SEC));
    for (size_t i = 0; i < G_N_ELEMENTS(shown); i++) {
        uint64_t value;
        if (sample->totals != NULL && stats_values_get(sample->totals, shown[i], &value))
            json_object_set_new(object, stats_metrics[shown[i]].name, json_integer((json_int_t)value));
    }
    return object;
}

static json_t *
describe(const ServiceTarget *target)
{
    const char *id = service_target_id(target);
    gboolean live = service_target_state(target) == SERVICE_TARGET_LIVE;
    g_autofree char *trouble = service_target_trouble(target);
    g_autofree char *url = g_strdup_printf("/api/v1/targets/%s", live ? id : service_target_unique(target));
    g_autoptr(StatsSample) sample = service_target_sample(target);
    return json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:f, s:s*, s:s, s:o*}", "id", id, "unique",
                     service_target_unique(target), "name", service_target_name(target), "pid",
                     (int)service_target_pid(target), "series", service_target_series(target), "state",
                     live ? "live" : "gone", "reach", reach_names[service_target_reach(target)], "started",
                     (double)service_target_started_us(target) / G_USEC_PER_SEC, "trouble", trouble, "url", url,
                     "sample", sample != NULL ? describe_sample(sample) : NULL);
}

/* FALSE: the parameter is none of the words. */
static gboolean
find_choice(const RouteRequest *request, size_t *choice)
{
    QueryValue value;
    if (query_find(request->query, "state", &value) == QUERY_ABSENT) {
        *choice = 0;
        return TRUE;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(choices); i++)
        if (strcmp(value.text, choices[i].word) == 0) {
            *choice = i;
            return TRUE;
        }
    return FALSE;
}

void
target_list_answer(Site *site, Exchange *exchange)
{
    size_t choice;
    if (!find_choice(exchange_request(exchange), &choice)) {
        exchange_fail(exchange, &(AnswerFailure){.status = 400,
                                                 .code = "invalid_parameter",
                                                 .message = "'state' is none of live, gone and all",
                                                 .hint = "leave it out for live targets"});
        return;
    }
    json_t *list = json_array();
    g_autoptr(GPtrArray) targets = service_targets(site->service);
    for (guint i = 0; i < targets->len; i++) {
        const ServiceTarget *target = targets->pdata[i];
        gboolean live = service_target_state(target) == SERVICE_TARGET_LIVE;
        if (live ? choices[choice].live : choices[choice].gone)
            json_array_append_new(list, describe(target));
    }
    json_t *whole = json_pack("{s:o}", "targets", list);
    char *text = json_dumps(whole, JSON_COMPACT);
    json_decref(whole);
    exchange_answer(exchange,
                    answer_new(200, "application/json", g_bytes_new_with_free_func(text, strlen(text), free, text),
                               exchange_accepts_gzip(exchange) ? ANSWER_GZIP : ANSWER_PLAIN));
}
