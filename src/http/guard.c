/* SPDX-License-Identifier: Apache-2.0 */
#include "http/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

/* ---- Host ---- */

/* HOST without port and brackets. */
static char *
bare_host(const char *host)
{
    if (host[0] == '[')
        return g_strndup(host + 1, strcspn(host + 1, "]"));
    return g_strndup(host, strcspn(host, ":"));
}

static gboolean
is_loopback_name(const char *name)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (g_ascii_strcasecmp(name, "localhost") == 0)
        return TRUE;
    if (inet_pton(AF_INET, name, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
    return inet_pton(AF_INET6, name, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static gboolean
is_configured(const GuardRules *rules, const char *name)
{
    for (const char *const *host = rules->hosts; host != NULL && *host != NULL; host++)
        if (g_ascii_strcasecmp(*host, name) == 0)
            return TRUE;
    return FALSE;
}

gboolean
guard_host_is_ours(const GuardRules *rules, const char *host, ExchangeDoor door, const char *local)
{
    g_autofree char *name = bare_host(host);
    return ((door & EXCHANGE_LOCAL) != 0 && is_loopback_name(name)) || g_strcmp0(name, local) == 0 ||
           is_configured(rules, name);
}

static Answer *
check_host(const GuardRules *rules, const Exchange *exchange)
{
    const char *host = exchange_header(exchange, "Host");
    /* HTTP/1.0 needs none, and no browser speaks it. */
    if (host == NULL)
        return NULL;
    /* The name that most clients use needs no question to the kernel. */
    if (guard_host_is_ours(rules, host, exchange_door(exchange), NULL))
        return NULL;
    g_autofree char *local = exchange_local_host(exchange);
    if (local != NULL && guard_host_is_ours(rules, host, exchange_door(exchange), local))
        return NULL;
    return answer_new_failure(&(AnswerFailure){
        .status = 403,
        .code = "host_not_allowed",
        .message = "the Host header names another server than this one",
        .hint = "use the address this server listens on, or start it with --host-name=NAME",
    });
}

/* ---- tokens ---- */

static Answer *
ask_for_token(const char *message)
{
    Answer *answer = answer_new_failure(&(AnswerFailure){
        .status = 401,
        .code = "unauthorized",
        .message = message,
        .hint = "send 'Authorization: Bearer TOKEN' with a token of the server's --token-file",
    });
    answer_add_header(answer, "WWW-Authenticate", "Bearer realm=\"jescope\"");
    return answer;
}

/* The text behind "Bearer", or NULL. */
static const char *
bearer_of(const char *authorization)
{
    static const char scheme[] = "Bearer ";
    if (g_ascii_strncasecmp(authorization, scheme, strlen(scheme)) != 0)
        return NULL;
    return authorization + strlen(scheme) + strspn(authorization + strlen(scheme), " ");
}

static Answer *
admit_token(const GuardRules *rules, Exchange *exchange, const char *authorization)
{
    const char *token = bearer_of(authorization);
    RouteRole role;
    const char *name = token != NULL ? tokens_find(rules->tokens, token, &role) : NULL;
    if (name == NULL)
        return ask_for_token("this is no token of this server");
    g_autofree char *who = g_strdup_printf("%s (%s)", name, exchange_who(exchange));
    exchange_set_who(exchange, who);
    exchange_set_role(exchange, role);
    return NULL;
}

static gboolean
needs_token(const GuardRules *rules, ExchangeDoor door)
{
    return (door & EXCHANGE_LOCAL) != 0 ? rules->local_needs_token : !rules->others_need_no_token;
}

Answer *
guard_admit(const GuardRules *rules, Exchange *exchange)
{
    const char *authorization = exchange_header(exchange, "Authorization");
    if (rules->tokens != NULL && authorization != NULL)
        return admit_token(rules, exchange, authorization);
    if (needs_token(rules, exchange_door(exchange)))
        return ask_for_token("this address of the server needs a token");
    exchange_set_role(exchange, ROUTE_ROLE_CONTROL);
    return check_host(rules, exchange);
}

/* ---- what was asked ---- */

/* Another site's page can make a browser send a request, but not what the browser says about it (Fetch Metadata). */
static gboolean
is_from_other_site(const Exchange *exchange)
{
    const char *site = exchange_header(exchange, "Sec-Fetch-Site");
    return site != NULL && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

static gboolean
has_other_origin(const Exchange *exchange)
{
    const char *origin = exchange_header(exchange, "Origin");
    const char *host = exchange_header(exchange, "Host");
    if (origin == NULL)
        return FALSE;
    const char *authority = strstr(origin, "://");
    return authority == NULL || host == NULL || g_ascii_strcasecmp(authority + 3, host) != 0;
}

static gboolean
is_navigation(const Exchange *exchange)
{
    return g_strcmp0(exchange_header(exchange, "Sec-Fetch-Mode"), "navigate") == 0;
}

static gboolean
is_foreign(const Exchange *exchange, RouteRole needed)
{
    if (needed == ROUTE_ROLE_CONTROL)
        return is_from_other_site(exchange) || has_other_origin(exchange);
    return is_from_other_site(exchange) && !is_navigation(exchange);
}

static gboolean
has_role(const Exchange *exchange, RouteRole needed)
{
    return needed != ROUTE_ROLE_CONTROL || exchange_role(exchange) == ROUTE_ROLE_CONTROL;
}

gboolean
guard_may(const Exchange *exchange, RouteRole needed)
{
    return has_role(exchange, needed) && !is_foreign(exchange, needed);
}

Answer *
guard_allow(const Exchange *exchange, RouteRole needed)
{
    if (!has_role(exchange, needed))
        return answer_new_failure(&(AnswerFailure){
            .status = 403,
            .code = "role_too_low",
            .message = "this changes the target, and the token may only read",
            .hint = "use a token with the role 'control'",
        });
    if (!is_foreign(exchange, needed))
        return NULL;
    return answer_new_failure(&(AnswerFailure){
        .status = 403,
        .code = "cross_site",
        .message = "a page of another site caused this request",
        .hint = "send it from this server's own pages, or with a tool that is not a browser",
    });
}
