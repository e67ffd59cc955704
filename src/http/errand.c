/* SPDX-License-Identifier: Apache-2.0 */
#include "http/errand.h"

struct Errand {
    gatomicrefcount references;
    unsigned dialects;
    AnswerCoding coding;
    ServicePace pace;
    char *target; /* "": the default one */
    char *prefix; /* NULL: none */
    char *method;
    char *path;
    char *query;
    GBytes *body;
};

Errand *
errand_new(const Meaning *meaning, AnswerCoding coding)
{
    Errand *errand = g_new0(Errand, 1);
    g_atomic_ref_count_init(&errand->references);
    errand->dialects = meaning->dialects;
    errand->coding = coding;
    errand->pace = (routes_flags(meaning->route, &meaning->request) & ROUTE_SLOW) != 0 ? SERVICE_SLOW : SERVICE_QUICK;
    errand->target = g_strdup(meaning->target);
    errand->prefix = meaning->prefix[0] != '\0' ? g_strdup(meaning->prefix) : NULL;
    errand->method = g_strdup(meaning->request.method);
    errand->path = g_strdup(meaning->request.path);
    errand->query = g_strdup(meaning->request.query);
    errand->body = g_bytes_new(meaning->request.body, meaning->request.body_size);
    return errand;
}

Errand *
errand_ref(Errand *errand)
{
    g_atomic_ref_count_inc(&errand->references);
    return errand;
}

void
errand_unref(Errand *errand)
{
    if (!g_atomic_ref_count_dec(&errand->references))
        return;
    g_free(errand->target);
    g_free(errand->prefix);
    g_free(errand->method);
    g_free(errand->path);
    g_free(errand->query);
    g_bytes_unref(errand->body);
    g_free(errand);
}

static void
drop_errand(gpointer data)
{
    errand_unref(data);
}

static void
drop_answer(gpointer data)
{
    answer_unref(data);
}

ServiceTarget *
errand_target(const Errand *errand, Service *service, GError **error)
{
    if (errand->target[0] == '\0')
        return service_default_target(service, error);
    return service_lookup(service, errand->target, error);
}

/* On a thread of the service. */
static gpointer
run(const RouteHost *host, gpointer data)
{
    const Errand *errand = data;
    RouteReply reply;
    RouteHost as_asked = *host;
    RouteRequest request = {.method = errand->method, .path = errand->path, .query = errand->query};
    const char *body = g_bytes_get_data(errand->body, &request.body_size);
    request.body = body != NULL ? body : "";
    as_asked.prefix = errand->prefix;
    routes_answer(&as_asked, errand->dialects, &request, &reply);
    return answer_new_route(&reply, errand->coding);
}

ServiceTicket *
errand_send(Errand *errand, ServiceTarget *target, const char *who, ServiceDone done, gpointer data, GError **error)
{
    ServiceWork work = {
        .pace = errand->pace,
        .who = who,
        .func = run,
        .data = errand_ref(errand),
        .free_data = drop_errand,
        .free_result = drop_answer,
    };
    return service_target_submit(target, &work, done, data, error);
}

static Answer *
answer_error(unsigned status, const char *code, const GError *error, const char *hint)
{
    return answer_new_failure(
        &(AnswerFailure){.status = status, .code = code, .message = error->message, .hint = hint});
}

Answer *
errand_answer_error(const GError *error)
{
    if (g_error_matches(error, SERVICE_ERROR, SERVICE_ERROR_UNKNOWN))
        return answer_error(404, "unknown_target", error, "GET /api/v1/targets lists those there are");
    if (g_error_matches(error, SERVICE_ERROR, SERVICE_ERROR_AMBIGUOUS))
        return answer_error(409, "ambiguous_target", error,
                            "put /targets/ID before the path, or start the server with --default=TARGET");
    gboolean busy = g_error_matches(error, SERVICE_ERROR, SERVICE_ERROR_BUSY);
    Answer *answer =
        answer_error(busy ? 429 : 503, busy ? "busy" : "unavailable", error, "wait as long as Retry-After says");
    answer_add_header(answer, "Retry-After", "1");
    return answer;
}
