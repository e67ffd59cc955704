/* SPDX-License-Identifier: Apache-2.0 */
#include "site/resolved.h"

#include "routes/native-parameters.h"
#include "routes/path.h"

#include <string.h>

enum {
    TARGET_COMPONENT = 1,            /* in "/targets/{target}/..." */
    TARGET_MAX = SERVER_URI_MAX + 1, /* no component of a path is longer */
    STRINGS_BLOCK = 256,
};

static const char prefix_begin[] = "/targets/";
static const char userver_begin[] = "/service/jemalloc/prof";

/* "/targets/ID/mtev/memory.json": a dialect's path behind a prefix. NULL: it has no prefix. */
static const char *
find_rest(const char *path, char target[TARGET_MAX])
{
    const char *rest = g_str_has_prefix(path, prefix_begin) ? strchr(path + strlen(prefix_begin), '/') : NULL;
    return rest != NULL && path_component(path, TARGET_COMPONENT, target, TARGET_MAX) ? rest : NULL;
}

/* userver's usual path, if PATH is below ALIAS ("/admin/heap", may be NULL). */
static const char *
insert_path(GStringChunk *strings, const char *path, const char *alias)
{
    gsize length = alias != NULL ? strlen(alias) : 0;
    if (length == 0 || strncmp(path, alias, length) != 0 || path[length] != '/')
        return g_string_chunk_insert(strings, path);
    g_autofree char *usual = g_strconcat(userver_begin, path + length, NULL);
    return g_string_chunk_insert(strings, usual);
}

Resolved *
resolved_new(const Site *site, const RouteRequest *request)
{
    Resolved *resolved = g_new0(Resolved, 1);
    GStringChunk *strings = g_string_chunk_new(STRINGS_BLOCK);
    char target[TARGET_MAX];
    unsigned dialects = site->dialects;
    target[0] = '\0';
    const char *rest = find_rest(request->path, target);
    g_atomic_ref_count_init(&resolved->references);
    if (rest != NULL) {
        g_autofree char *component = g_uri_escape_string(target, NULL, FALSE);
        g_autofree char *prefix = g_strconcat(prefix_begin, component, NULL);
        resolved->prefix = g_string_chunk_insert(strings, prefix);
        dialects &= ~(unsigned)ROUTE_DIALECT_NATIVE;
    } else {
        routes_path_target(request->path, target, sizeof(target));
    }
    resolved->strings = strings;
    resolved->target = g_string_chunk_insert(strings, target);
    resolved->grants = site->grants;
    resolved->sampler_memory_max = site->sampler_memory_max;
    resolved->viewer = VIEWER_NONE;
    resolved->request = (RouteRequest){
        .method = g_string_chunk_insert(strings, request->method),
        .path = insert_path(strings, rest != NULL ? rest : request->path, site->userver_path),
        .query = g_string_chunk_insert(strings, request->query),
        .body = g_string_chunk_insert_len(strings, request->body, (gssize)request->body_size),
        .body_size = request->body_size,
    };
    resolved->match = routes_find(site->tables, dialects, &resolved->request);
    return resolved;
}

Resolved *
resolved_of(const Site *site, const Exchange *exchange)
{
    Resolved *resolved = resolved_new(site, exchange_request(exchange));
    resolved->viewer = exchange_viewer(exchange);
    resolved->coding = exchange_accepts_gzip(exchange) ? ANSWER_GZIP : ANSWER_PLAIN;
    return resolved;
}

Resolved *
resolved_ref(Resolved *resolved)
{
    g_atomic_ref_count_inc(&resolved->references);
    return resolved;
}

void
resolved_unref(Resolved *resolved)
{
    if (!g_atomic_ref_count_dec(&resolved->references))
        return;
    g_string_chunk_free(resolved->strings);
    g_free(resolved);
}

ServiceTarget *
resolved_target(const Resolved *resolved, Service *service, GError **error)
{
    if (resolved->target[0] == '\0')
        return service_default_target(service, resolved->viewer, error);
    return service_lookup(service, resolved->viewer, resolved->target, error);
}

/* ---- on a thread of the service ---- */

static gboolean
is_wanted(gpointer data)
{
    return service_work_is_wanted(data);
}

static gpointer
run(const RouteHost *host, gpointer data)
{
    const Resolved *resolved = data;
    const GzipWish wish = {is_wanted, (gpointer)(guintptr)host};
    RouteReply reply;
    RouteHost as_asked = *host;
    as_asked.prefix = resolved->prefix;
    as_asked.grants = resolved->grants;
    as_asked.sampler_memory_max = resolved->sampler_memory_max;
    routes_answer(&as_asked, &resolved->match, &resolved->request, &reply);
    return answer_new_route(&reply, resolved->coding, &wish);
}

static void
drop_resolved(gpointer data)
{
    resolved_unref(data);
}

static void
drop_answer(gpointer data)
{
    answer_unref(data);
}

/* Sleeping means sampling meanwhile, which is a change: requests that only read do not wait for sleeping ones. */
static ServicePace
pace_of(const RouteMatch *match)
{
    if ((match->flags & ROUTE_WATCHING) != 0 ||
        ((match->flags & ROUTE_WAITING) != 0 && match->role == ROUTE_ROLE_CONTROL))
        return SERVICE_WAITS;
    return (match->flags & ROUTE_SLOW) != 0 ? SERVICE_SLOW : SERVICE_QUICK;
}

ServiceWork
resolved_work(Resolved *resolved, const char *who)
{
    return (ServiceWork){
        .pace = pace_of(&resolved->match),
        .who = who,
        .forgoable = (resolved->match.flags & ROUTE_WATCHING) != 0,
        .func = run,
        .data = resolved_ref(resolved),
        .free_data = drop_resolved,
        .free_result = drop_answer,
    };
}

/* ---- answers without asking ---- */

Answer *
resolved_answer_unknown(const Resolved *resolved)
{
    RouteReply reply;
    routes_answer(NULL, &resolved->match, &resolved->request, &reply);
    return answer_new_route(&reply, ANSWER_PLAIN, NULL);
}

Answer *
resolved_check(const Resolved *resolved)
{
    RouteReply reply = {.descriptor = -1};
    if (native_check(resolved->match.route, &resolved->request, &reply))
        return NULL;
    return answer_new_route(&reply, ANSWER_PLAIN, NULL);
}

Answer *
resolved_answer_error(const GError *error)
{
    const OutcomeRow *row = outcome_row((unsigned)error->code);
    Answer *answer = answer_new_failure(
        &(AnswerFailure){.status = row->http, .code = row->code, .message = error->message, .hint = row->hint});
    if (row->http == 429 || row->http == 503)
        answer_add_header(answer, "Retry-After", "1");
    return answer;
}
