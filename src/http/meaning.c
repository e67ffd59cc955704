/* SPDX-License-Identifier: Apache-2.0 */
#include "http/meaning.h"

#include "routes/path.h"

#include <string.h>

enum {
    TARGET_COMPONENT = 1, /* in "/targets/{target}/..." */
};

static const char prefix_begin[] = "/targets/";

/* "/targets/ID/mtev/memory.json": a dialect's path behind a prefix. */
static gboolean
cut_prefix(Meaning *meaning)
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

void
meaning_find(const RouteRequest *request, unsigned dialects, Meaning *meaning)
{
    memset(meaning, 0, sizeof(*meaning));
    meaning->request = *request;
    meaning->dialects = dialects;
    RouteMatch match = service_routes_find(request, &meaning->page);
    if (match != ROUTE_MATCHED)
        meaning->page = NULL;
    if (match == ROUTE_MATCHED) {
        meaning->needs = meaning->page->role;
        return;
    }
    if (!cut_prefix(meaning))
        routes_path_target(request->path, meaning->target, sizeof(meaning->target));
    if (routes_find(&meaning->request, meaning->dialects, &meaning->route) != ROUTE_MATCHED)
        meaning->route = NULL;
    else
        meaning->needs = meaning->route->role(&meaning->request);
}

/* A path of the service's, with a method it does not have. */
static Answer *
answer_wrong_method(const ServiceRoute *page)
{
    Answer *answer = answer_new_failure(&(AnswerFailure){
        .status = 405,
        .code = "method_not_allowed",
        .message = "this path has not this method",
        .hint = "the header Allow names those it has",
    });
    g_auto(GStrv) methods = g_strsplit(page->methods, "|", -1);
    g_autofree char *list = g_strjoinv(", ", methods);
    answer_add_header(answer, "Allow", list);
    return answer;
}

Answer *
meaning_answer_unknown(const Meaning *meaning)
{
    const ServiceRoute *page;
    RouteReply reply;
    if (meaning->prefix[0] == '\0' && service_routes_find(&meaning->request, &page) == ROUTE_WRONG_METHOD)
        return answer_wrong_method(page);
    routes_answer(NULL, meaning->dialects, &meaning->request, &reply);
    return answer_new_route(&reply, ANSWER_PLAIN);
}
