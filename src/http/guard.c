/* SPDX-License-Identifier: Apache-2.0 */
#include "http/guard.h"

#include "http/authority.h"

#include "target/reach.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

/* ---- Host ---- */

static gboolean
is_localhost(const char *name)
{
    return g_ascii_strcasecmp(name, "localhost") == 0;
}

static gboolean
is_loopback_address(const char *name)
{
    struct in_addr v4;
    struct in6_addr v6;
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

/* Whether a page at NAME may be another user's, who listens at one of its addresses. With TLS, that user has no key. */
static gboolean
is_shared(const GuardRules *rules, const char *name, ExchangeListener listener)
{
    return rules->localhost_is_shared && (listener & (EXCHANGE_UNIX | EXCHANGE_TLS)) == 0 && is_localhost(name);
}

/* Whether NAME is one that every server has which only this machine can connect to. */
static gboolean
is_local_name(const GuardRules *rules, const char *name, ExchangeListener listener)
{
    return (listener & EXCHANGE_LOCAL) != 0 &&
           (is_loopback_address(name) || (is_localhost(name) && !is_shared(rules, name, listener)));
}

gboolean
guard_host_is_ours(const GuardRules *rules, const char *host, ExchangeListener listener, const char *local)
{
    g_autofree char *name = authority_host(host);
    if (name == NULL)
        return FALSE;
    return is_local_name(rules, name, listener) || g_strcmp0(name, local) == 0 || is_configured(rules, name);
}

static Answer *
check_host(const GuardRules *rules, const Exchange *exchange)
{
    const char *host = exchange_header(exchange, "Host");
    /* HTTP/1.0 does not require Host, and no browser uses it. */
    if (host == NULL)
        return NULL;
    /* The usual names are checked first, without a system call. */
    if (guard_host_is_ours(rules, host, exchange_listener(exchange), NULL))
        return NULL;
    g_autofree char *local = exchange_local_host(exchange);
    if (local != NULL && guard_host_is_ours(rules, host, exchange_listener(exchange), local))
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

/* The text after "Bearer", or NULL. */
static const char *
bearer_of(const char *authorization)
{
    static const char scheme[] = "Bearer ";
    if (g_ascii_strncasecmp(authorization, scheme, strlen(scheme)) != 0)
        return NULL;
    return authorization + strlen(scheme) + strspn(authorization + strlen(scheme), " ");
}

/* Admits the client of EXCHANGE, which has the token NAME with ROLE. */
static void
admit_as(Exchange *exchange, const char *name, RouteRole role)
{
    g_autofree char *who = g_strdup_printf("%s (%s)", name, exchange_who(exchange));
    exchange_set_who(exchange, who);
    exchange_set_role(exchange, role);
    exchange_set_viewer(exchange, VIEWER_ALL);
}

static Answer *
admit_token(const GuardRules *rules, Exchange *exchange, const char *authorization)
{
    const char *token = bearer_of(authorization);
    RouteRole role;
    const char *name = token != NULL ? tokens_find(rules->tokens, token, &role) : NULL;
    if (name == NULL) {
        exchange_note_failure(exchange);
        return ask_for_token("the token is not one of this server's");
    }
    admit_as(exchange, name, role);
    return NULL;
}

/* ---- sessions ---- */

char *
guard_cookie_name(const Exchange *exchange)
{
    const char *host = exchange_header(exchange, "Host");
    g_autofree char *name = host != NULL ? authority_host(host) : NULL;
    if (name == NULL)
        return NULL;
    /* Browsers keep one cookie per name for all ports of a host, and accept "__Host-" only with TLS. */
    return g_strdup_printf("%sjescope-session-%s", exchange_listener(exchange) & EXCHANGE_TLS ? "__Host-" : "",
                           authority_port(host));
}

/* Whether the cookies of EXCHANGE may have been sent by another user's page. */
static gboolean
has_shared_cookies(const GuardRules *rules, const Exchange *exchange)
{
    const char *host = exchange_header(exchange, "Host");
    g_autofree char *name = host != NULL ? authority_host(host) : NULL;
    return name != NULL && is_shared(rules, name, exchange_listener(exchange)) && !is_configured(rules, name);
}

const Session *
guard_session(const GuardRules *rules, const Exchange *exchange)
{
    if (has_shared_cookies(rules, exchange))
        return NULL;
    g_autofree char *name = guard_cookie_name(exchange);
    g_autofree char *id = name != NULL ? sessions_id_of_cookie(exchange_header(exchange, "Cookie"), name) : NULL;
    return id != NULL && rules->sessions != NULL
               ? sessions_find(rules->sessions, id, exchange_user(exchange), g_get_monotonic_time())
               : NULL;
}

/* Admits EXCHANGE by its session. FALSE if it has none, or its token was withdrawn. */
static gboolean
admit_session(const GuardRules *rules, Exchange *exchange)
{
    const Session *session = guard_session(rules, exchange);
    RouteRole role;
    const char *name = session != NULL ? tokens_find_digest(rules->tokens, session->token, &role) : NULL;
    if (name == NULL)
        return FALSE;
    admit_as(exchange, name, role);
    exchange_note_session(exchange);
    return TRUE;
}

gboolean
guard_session_is_over(const Exchange *exchange, gconstpointer rules)
{
    return exchange_has_session(exchange) && guard_session(rules, exchange) == NULL;
}

/* ---- access control ---- */

static gboolean
needs_token(const GuardRules *rules, ExchangeListener listener)
{
    return (listener & EXCHANGE_LOCAL) != 0 ? rules->local_needs_token : !rules->others_need_no_token;
}

/* The targets that are visible to a client without a token. */
static Viewer
viewer_of(const GuardRules *rules, const Exchange *exchange)
{
    ExchangeListener listener = exchange_listener(exchange);
    uid_t user = exchange_user(exchange);
    if ((listener & EXCHANGE_UNIX) != 0 || (listener & EXCHANGE_LOCAL) == 0 || rules->local_is_trusted)
        return VIEWER_ALL;
    if (user == PEERS_USER_UNKNOWN)
        return VIEWER_NONE;
    return user == 0 || user == reach_user() ? VIEWER_ALL : (Viewer)user;
}

Answer *
guard_admit(const GuardRules *rules, Exchange *exchange)
{
    const char *authorization = exchange_header(exchange, "Authorization");
    if (rules->tokens != NULL && authorization != NULL)
        return admit_token(rules, exchange, authorization);
    if (rules->tokens != NULL && admit_session(rules, exchange))
        return NULL;
    if (needs_token(rules, exchange_listener(exchange)))
        return ask_for_token("a token is required on this address of the server");
    Viewer viewer = viewer_of(rules, exchange);
    if (viewer == VIEWER_NONE)
        return ask_for_token("a token is required, since the kernel does not report the user of this connection");
    exchange_set_viewer(exchange, viewer);
    exchange_set_role(exchange, ROUTE_ROLE_CONTROL);
    return check_host(rules, exchange);
}

Answer *
guard_admit_stranger(const GuardRules *rules, Exchange *exchange)
{
    exchange_set_viewer(exchange, VIEWER_NONE);
    exchange_set_role(exchange, ROUTE_ROLE_READ);
    return check_host(rules, exchange);
}

/* ---- the request ---- */

Answer *
guard_replace_worker(const Exchange *exchange)
{
    static const char script[] = "self.addEventListener('install', () => self.skipWaiting());\n"
                                 "self.addEventListener('activate', () => self.registration.unregister());\n";
    if (exchange_header(exchange, "Service-Worker") == NULL)
        return NULL;
    Answer *answer = answer_new(200, "text/javascript", g_bytes_new_static(script, sizeof(script) - 1), ANSWER_PLAIN);
    answer_set_header(answer, "Cache-Control", "no-store");
    return answer;
}

/* The origin of a request. Another site's page can make a browser send a request, but cannot control the headers Fetch
 * Metadata, Origin and Referer. */
typedef enum {
    SENDER_TOOL,      /* no sign of a browser */
    SENDER_OWN_PAGE,  /* a page of this server */
    SENDER_TOKEN,     /* a client that added a header that no other site's page can add */
    SENDER_BROWSER,   /* a browser that does not say what caused the request: a link in a mail, or an old browser */
    SENDER_OTHER_SITE /* a page of another site */
} Sender;

static gboolean
has_bearer(const Exchange *exchange)
{
    const char *authorization = exchange_header(exchange, "Authorization");
    return authorization != NULL && bearer_of(authorization) != NULL;
}

/* Whether URL, from Origin or Referer, is of this server. A proxy may terminate TLS, but does not add it. */
static gboolean
is_own_url(const Exchange *exchange, const char *url)
{
    const char *host = exchange_header(exchange, "Host");
    const char *authority = strstr(url, "://");
    if (authority == NULL || host == NULL ||
        ((exchange_listener(exchange) & EXCHANGE_TLS) != 0 && g_ascii_strncasecmp(url, "https://", 8) != 0))
        return FALSE;
    gsize size = strcspn(authority + 3, "/?#");
    return size == strlen(host) && g_ascii_strncasecmp(authority + 3, host, size) == 0;
}

static gboolean
is_safe_method(const Exchange *exchange)
{
    const char *method = exchange_request(exchange)->method;
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* Whether the request has headers that every browser and no tool sends. (fetch() of Node.js sends "*".) A page of
 * another site can choose the languages and what it accepts, but not the name of the browser. */
static gboolean
looks_like_a_browser(const Exchange *exchange)
{
    const char *language = exchange_header(exchange, "Accept-Language");
    const char *mode = exchange_header(exchange, "Sec-Fetch-Mode");
    const char *accept = exchange_header(exchange, "Accept");
    const char *agent = exchange_header(exchange, "User-Agent");
    if (agent != NULL && g_str_has_prefix(agent, "Mozilla/"))
        return TRUE;
    if (exchange_header(exchange, "Upgrade-Insecure-Requests") != NULL || exchange_header(exchange, "Cookie") != NULL ||
        (language != NULL && strcmp(language, "*") != 0) || (mode != NULL && strcmp(mode, "cors") != 0))
        return TRUE;
    return accept != NULL && is_safe_method(exchange) &&
           (strstr(accept, "text/html") != NULL || g_str_has_prefix(accept, "image/"));
}

/* Whether a browser loads the answer before its user has asked for it, as a page of any site can have it do: Chromium
 * says then that no site caused the request (Sec-Fetch-Site: none). Purpose and X-Moz are of older browsers. */
static gboolean
is_ahead_of_its_user(const Exchange *exchange)
{
    static const char *const headers[] = {"Sec-Purpose", "Purpose", "X-Moz"};
    for (gsize i = 0; i < G_N_ELEMENTS(headers); i++)
        if (exchange_header(exchange, headers[i]) != NULL)
            return TRUE;
    return FALSE;
}

/* Origin or, without it, Referer. */
static const char *
url_of_sender(const Exchange *exchange)
{
    const char *origin = exchange_header(exchange, "Origin");
    return origin != NULL ? origin : exchange_header(exchange, "Referer");
}

static Sender
sender_of(const Exchange *exchange)
{
    const char *site = exchange_header(exchange, "Sec-Fetch-Site");
    const char *url = url_of_sender(exchange);
    if (site != NULL && strcmp(site, "none") != 0)
        return strcmp(site, "same-origin") == 0 ? SENDER_OWN_PAGE : SENDER_OTHER_SITE;
    if (is_ahead_of_its_user(exchange))
        return SENDER_OTHER_SITE;
    if (url != NULL)
        return is_own_url(exchange, url) ? SENDER_OWN_PAGE : SENDER_OTHER_SITE;
    if (has_bearer(exchange))
        return SENDER_TOKEN;
    return site != NULL || looks_like_a_browser(exchange) ? SENDER_BROWSER : SENDER_TOOL;
}

/* Whether the user follows a link. Frames and objects, which a page can hide and repeat, are navigations too, but
 * are rejected since the user would not see them. So is what a script begins without the user, who
 * does not see it if the script stops it before the answer; but not where IS_OPEN, since a page is loaded again without
 * the user's mark. */
static gboolean
is_link(const Exchange *exchange, gboolean is_open)
{
    const char *destination = exchange_header(exchange, "Sec-Fetch-Dest");
    return g_strcmp0(exchange_header(exchange, "Sec-Fetch-Mode"), "navigate") == 0 &&
           (destination == NULL || strcmp(destination, "document") == 0) &&
           (is_open || g_strcmp0(exchange_header(exchange, "Sec-Fetch-User"), "?1") == 0);
}

/* Whether the user typed the address in, or the like. A request that names a page of another server has a cause. */
static gboolean
is_of_no_site(const Exchange *exchange)
{
    const char *url = url_of_sender(exchange);
    return g_strcmp0(exchange_header(exchange, "Sec-Fetch-Site"), "none") == 0 &&
           (url == NULL || is_own_url(exchange, url));
}

/* A page of another site may link here, but not load parts of a page or read data. Without Fetch Metadata, as with
 * Chromium's WebSocket, Origin tells who caused the request; a link has none. */
static gboolean
may_read(const Exchange *exchange, gboolean is_open)
{
    const char *site = exchange_header(exchange, "Sec-Fetch-Site");
    const char *origin = exchange_header(exchange, "Origin");
    /* The page itself may be prerendered while its address is typed in. */
    if (g_strcmp0(site, "same-origin") == 0)
        return TRUE;
    if (!is_open && is_ahead_of_its_user(exchange))
        return FALSE;
    if (site == NULL)
        return origin == NULL || is_own_url(exchange, origin) || has_bearer(exchange);
    return is_of_no_site(exchange) || is_link(exchange, is_open);
}

/* The reason to refuse EXCHANGE for its origin, or NULL. */
static const AnswerFailure *
find_foreign(const Exchange *exchange, RouteRole needed, gboolean is_open)
{
    static const AnswerFailure cross_site = {
        .status = 403,
        .code = "cross_site",
        .message = "a page of another site caused this request",
        .hint = "send it from this server's own pages, or with a tool that is not a browser",
    };
    static const AnswerFailure no_origin = {
        .status = 403,
        .code = "origin_unknown",
        .message =
            "a browser sent a request that changes something without saying that a page of this server caused it",
        .hint = "follow a link on this server's own pages, send a token, or use a tool that is not a browser",
    };
    if (needed != ROUTE_ROLE_CONTROL)
        return may_read(exchange, is_open) ? NULL : &cross_site;
    Sender sender = sender_of(exchange);
    return sender == SENDER_OTHER_SITE ? &cross_site : sender == SENDER_BROWSER ? &no_origin : NULL;
}

Answer *
guard_check_origin(const Exchange *exchange)
{
    const AnswerFailure *failure = find_foreign(exchange, ROUTE_ROLE_CONTROL, FALSE);
    return failure != NULL ? answer_new_failure(failure) : NULL;
}

Answer *
guard_allow(const Exchange *exchange, RouteRole needed, gboolean is_open)
{
    if (needed == ROUTE_ROLE_CONTROL && exchange_role(exchange) != ROUTE_ROLE_CONTROL)
        return answer_new_failure(&(AnswerFailure){
            .status = 403,
            .code = "role_too_low",
            .message = "this changes the target, and the token may only read",
            .hint = "use a token with the role 'control'",
        });
    const AnswerFailure *failure = find_foreign(exchange, needed, is_open);
    return failure != NULL ? answer_new_failure(failure) : NULL;
}
