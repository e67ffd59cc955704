/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to who answers it. */
#include "http/site.h"

#include "http/service-routes.h"
#include "routes/path.h"

#include <string.h>

enum {
    TARGET_NAME_MAX = 64,
    TARGET_COMPONENT = 1, /* in "/targets/{target}/..." */
};

static const char prefix_begin[] = "/targets/";

/* What a request turned out to mean. */
typedef struct {
    const ServiceRoute *page; /* NULL: it is about a target */
    const Route *route;       /* NULL: none, or wrong_method */
    unsigned dialects;
    char target[TARGET_NAME_MAX];                        /* "": the default one */
    RouteRequest request;                                /* as the routes see it: without the prefix */
    char prefix[TARGET_NAME_MAX + sizeof(prefix_begin)]; /* what was cut off; "": nothing */
    RouteRole needs;
} Meaning;

/* One exchange whose answer is under way. */
typedef struct {
    Site *site;
    Exchange *exchange;
    ServiceTicket *ticket; /* NULL: it has come */
    char *about;           /* for the audit; NULL: nothing changes */
} Pending;

/* ---- answers ---- */

static Answer *
error_answer(unsigned status, const char *code, const GError *error, const char *hint)
{
    return answer_new_failure(
        &(AnswerFailure){.status = status, .code = code, .message = error->message, .hint = hint});
}

static Answer *
answer_of_error(const GError *error)
{
    Answer *answer = NULL;
    if (g_error_matches(error, SERVICE_ERROR, SERVICE_ERROR_UNKNOWN))
        return error_answer(404, "unknown_target", error, "GET /api/v1/targets lists those there are");
    if (g_error_matches(error, SERVICE_ERROR, SERVICE_ERROR_AMBIGUOUS))
        return error_answer(409, "ambiguous_target", error,
                            "put /targets/ID before the path, or start the server with --default=TARGET");
    if (g_error_matches(error, SERVICE_ERROR, SERVICE_ERROR_BUSY))
        answer = error_answer(429, "busy", error, "wait as long as Retry-After says");
    else
        answer = error_answer(503, "unavailable", error, NULL);
    answer_add_header(answer, "Retry-After", "1");
    return answer;
}

/* Mesos, libmtev and the others have words of their own for a path they do not know; no target is needed for them. */
static Answer *
answer_without_target(const Meaning *meaning)
{
    RouteReply reply;
    routes_answer(NULL, meaning->dialects, &meaning->request, &reply);
    return answer_new_route(&reply, ANSWER_PLAIN);
}

/* libmtev's clients look at the words of the status. */
static Answer *
in_words_of(const Meaning *meaning, Answer *refusal)
{
    if (meaning->route == NULL || meaning->route->dialect != ROUTE_DIALECT_LIBMTEV || answer_status(refusal) != 403)
        return refusal;
    RouteReply reply = {.status = 403, .reason = "DENIED", .content_type = "text/html", .descriptor = -1};
    answer_unref(refusal);
    return answer_new_route(&reply, ANSWER_PLAIN);
}

/* ---- the audit ---- */

/* The path as it came: encoded, so that it cannot forge a line. */
static char *
describe(const Exchange *exchange, const char *label)
{
    const RouteRequest *request = exchange_request(exchange);
    g_autofree char *path = g_strescape(request->path, NULL);
    g_autofree char *query = g_strescape(request->query, NULL);
    return g_strdup_printf("audit: %s: %s %s%s%s%s%s", exchange_who(exchange), request->method, path,
                           query[0] != '\0' ? "?" : "", query, label != NULL ? " on " : "", label != NULL ? label : "");
}

static void
audit(const Site *site, const char *about, unsigned status)
{
    g_autofree char *line = g_strdup_printf("%s: %u", about, status);
    site->say(line, site->data);
}

/* ---- work ---- */

typedef struct {
    unsigned dialects;
    AnswerCoding coding;
    char *method;
    char *path;
    char *query;
    char *prefix;
    GBytes *body;
} Work;

static Work *
work_new(const Meaning *meaning, AnswerCoding coding)
{
    Work *work = g_new0(Work, 1);
    work->dialects = meaning->dialects;
    work->coding = coding;
    work->method = g_strdup(meaning->request.method);
    work->path = g_strdup(meaning->request.path);
    work->query = g_strdup(meaning->request.query);
    work->prefix = g_strdup(meaning->prefix);
    work->body = g_bytes_new(meaning->request.body, meaning->request.body_size);
    return work;
}

static void
work_free(gpointer data)
{
    Work *work = data;
    g_free(work->method);
    g_free(work->path);
    g_free(work->query);
    g_free(work->prefix);
    g_bytes_unref(work->body);
    g_free(work);
}

/* On a thread of the service. */
static gpointer
work_run(const RouteHost *host, gpointer data)
{
    const Work *work = data;
    RouteReply reply;
    RouteRequest request = {.method = work->method, .path = work->path, .query = work->query};
    request.body = g_bytes_get_data(work->body, &request.body_size);
    if (request.body == NULL)
        request.body = "";
    RouteHost as_asked = *host;
    as_asked.prefix = work->prefix[0] != '\0' ? work->prefix : NULL;
    routes_answer(&as_asked, work->dialects, &request, &reply);
    return answer_new_route(&reply, work->coding);
}

static void
free_answer(gpointer data)
{
    answer_unref(data);
}

static void
free_pending(gpointer data)
{
    Pending *pending = data;
    if (pending->ticket != NULL)
        service_ticket_cancel(pending->ticket);
    g_free(pending->about);
    g_free(pending);
}

static void
finish(Pending *pending, Answer *answer)
{
    pending->ticket = NULL;
    if (pending->about != NULL)
        audit(pending->site, pending->about, answer_status(answer));
    exchange_answer(pending->exchange, answer);
}

static void
on_done(gpointer result, const GError *error, gpointer data)
{
    finish(data, result != NULL ? answer_ref(result) : answer_of_error(error));
}

/* Requests that change nothing and came while the same one waits for its turn get the same answer. */
static char *
share_key(const Meaning *meaning, AnswerCoding coding)
{
    if (meaning->needs != ROUTE_ROLE_READ || meaning->request.body_size > 0)
        return NULL;
    return g_strdup_printf("%u %u %s %s?%s", coding, meaning->dialects, meaning->request.method, meaning->request.path,
                           meaning->request.query);
}

static void
submit(Site *site, Exchange *exchange, const Meaning *meaning, ServiceTarget *target)
{
    AnswerCoding coding = exchange_accepts_gzip(exchange) ? ANSWER_GZIP : ANSWER_PLAIN;
    g_autofree char *key = share_key(meaning, coding);
    g_autoptr(GError) error = NULL;
    Pending *pending = g_new0(Pending, 1);
    pending->site = site;
    pending->exchange = exchange;
    if (meaning->needs == ROUTE_ROLE_CONTROL)
        pending->about = describe(exchange, service_target_label(target));
    exchange_set_data(exchange, pending, free_pending);
    ServiceWork work = {
        .pace = (meaning->route->flags & ROUTE_SLOW) != 0 ? SERVICE_SLOW : SERVICE_QUICK,
        .key = key,
        .who = exchange_who(exchange),
        .func = work_run,
        .data = work_new(meaning, coding),
        .free_data = work_free,
        .free_result = free_answer,
    };
    pending->ticket = service_target_submit(target, &work, on_done, pending, &error);
    if (pending->ticket == NULL)
        finish(pending, answer_of_error(error));
}

/* ---- meaning ---- */

/* "/targets/ID/mtev/memory.json": a dialect's path behind a prefix. */
static gboolean
strip_prefix(Meaning *meaning)
{
    const char *path = meaning->request.path;
    if (!g_str_has_prefix(path, prefix_begin))
        return FALSE;
    const char *rest = strchr(path + strlen(prefix_begin), '/');
    if (rest == NULL || !path_component(path, TARGET_COMPONENT, meaning->target, sizeof(meaning->target)))
        return FALSE;
    g_snprintf(meaning->prefix, sizeof(meaning->prefix), "%s%s", prefix_begin, meaning->target);
    meaning->request.path = rest;
    meaning->dialects &= ~(unsigned)ROUTE_DIALECT_NATIVE;
    return TRUE;
}

static void
find_meaning(const Site *site, const RouteRequest *request, Meaning *meaning)
{
    memset(meaning, 0, sizeof(*meaning));
    meaning->request = *request;
    meaning->dialects = site->dialects;
    if (service_routes_find(request, &meaning->page) == ROUTE_MATCHED) {
        meaning->needs = meaning->page->role;
        return;
    }
    if (!strip_prefix(meaning))
        routes_path_target(request->path, meaning->target, sizeof(meaning->target));
    if (routes_find(&meaning->request, meaning->dialects, &meaning->route) != ROUTE_MATCHED)
        meaning->route = NULL;
    else
        meaning->needs = meaning->route->role(&meaning->request);
}

static ServiceTarget *
find_target(Site *site, const Meaning *meaning, GError **error)
{
    if (meaning->target[0] == '\0')
        return service_default_target(site->service, error);
    return service_lookup(site->service, meaning->target, error);
}

/* ---- the handler ---- */

static Answer *
admit(Exchange *exchange, gpointer data)
{
    const Site *site = data;
    return guard_admit(&site->rules, exchange);
}

static void
refuse(Site *site, Exchange *exchange, const Meaning *meaning, Answer *refusal)
{
    Answer *answer = in_words_of(meaning, refusal);
    if (meaning->needs == ROUTE_ROLE_CONTROL) {
        g_autofree char *about = describe(exchange, NULL);
        audit(site, about, answer_status(answer));
    }
    exchange_answer(exchange, answer);
}

static void
answer_about_target(Site *site, Exchange *exchange, const Meaning *meaning)
{
    g_autoptr(GError) error = NULL;
    if (meaning->route == NULL) {
        exchange_answer(exchange, answer_without_target(meaning));
        return;
    }
    ServiceTarget *target = find_target(site, meaning, &error);
    if (target == NULL)
        exchange_answer(exchange, answer_of_error(error));
    else
        submit(site, exchange, meaning, target);
}

static void
handle(Exchange *exchange, gpointer data)
{
    Site *site = data;
    Meaning meaning;
    find_meaning(site, exchange_request(exchange), &meaning);
    Answer *refusal = guard_allow(exchange, meaning.needs);
    if (refusal != NULL)
        refuse(site, exchange, &meaning, refusal);
    else if (meaning.page != NULL)
        meaning.page->answer(site, exchange);
    else
        answer_about_target(site, exchange, &meaning);
}

ServerHandler
site_handler(Site *site)
{
    return (ServerHandler){.admit = admit, .handle = handle, .data = site};
}
