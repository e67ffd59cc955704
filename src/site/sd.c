/* SPDX-License-Identifier: Apache-2.0 */
#include "site/sd.h"

#include "site/table.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* instance is set, since two targets at one address would otherwise share the same "up". */
static json_t *
group_of(const ServiceTarget *target, const char *address, const char *scheme)
{
    const char *id = service_target_id(target), *unique = service_target_unique(target);
    g_autofree char *instance = g_strdup_printf("%s/%s", address, id);
    g_autofree char *prefix = g_strdup_printf("/targets/%s", unique);
    return json_pack("{s:[s],s:{s:s,s:s,s:s,s:s,s:s,s:s,s:s}}", "targets", address, "labels", "__scheme__", scheme,
                     "__metrics_path__", "/metrics", "__param_target", unique, "instance", instance,
                     "__meta_jescope_target", id, "__meta_jescope_process", service_target_name(target),
                     "__profile_path_prefix__", prefix);
}

GBytes *
sd_write(const GPtrArray *targets, const char *address, const char *scheme)
{
    json_t *groups = json_array();
    for (guint i = 0; i < targets->len; i++)
        if (service_target_state(targets->pdata[i]) == SERVICE_TARGET_LIVE)
            json_array_append_new(groups, group_of(targets->pdata[i], address, scheme));
    char *text = json_dumps(groups, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(groups);
    return g_bytes_new_with_free_func(text, strlen(text), free, text);
}

static void
sd_answer(Site *site, Exchange *exchange)
{
    const char *host = exchange_header(exchange, "Host");
    if (host == NULL) {
        exchange_fail(exchange,
                      &(AnswerFailure){.status = 400,
                                       .code = "no_host",
                                       .message = "the Host header is missing, and the response is made of it",
                                       .hint = "send a Host header, as HTTP/1.1 requires"});
        return;
    }
    g_autoptr(GPtrArray) targets = service_targets(site->service, exchange_viewer(exchange));
    const char *scheme = (exchange_listener(exchange) & EXCHANGE_TLS) ? "https" : "http";
    exchange_answer(exchange, answer_new(200, "application/json", sd_write(targets, host, scheme), ANSWER_PLAIN));
}

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/sd", "scrape targets for Prometheus' HTTP service discovery",
     .serve = sd_answer},
};

const RouteTable sd_routes = {rows, G_N_ELEMENTS(rows)};
