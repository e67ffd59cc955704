/* SPDX-License-Identifier: Apache-2.0 */
/* Signing in: a browser exchanges a token for a cookie that scripts cannot read and that other sites cannot send. */
#include "site/site.h"
#include "site/table.h"

#include "routes/native-parameters.h"
#include "routes/reply.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* COOKIE: Set-Cookie; NULL: none. */
static Answer *
answer_new_json(unsigned status, json_t *document, const char *cookie)
{
    char *text = json_dumps(document, JSON_COMPACT | JSON_ENSURE_ASCII);
    Answer *answer =
        answer_new(status, REPLY_JSON, g_bytes_new_with_free_func(text, strlen(text), free, text), ANSWER_PLAIN);
    json_decref(document);
    answer_set_header(answer, "Cache-Control", "no-store");
    if (cookie != NULL)
        answer_add_header(answer, "Set-Cookie", cookie);
    return answer;
}

/* The permissions of the client with ROLE and NAME; SECONDS: the remaining time of its session, -1: it has none. */
static json_t *
describe(const Site *site, const char *role, const char *name, gint64 seconds)
{
    json_t *document = json_pack("{s:s, s:s?, s:b, s:b}", "role", role, "name", name, "tokens",
                                 site->rules.tokens != NULL, "session", seconds >= 0);
    json_object_set_new(document, "remaining_seconds", seconds >= 0 ? json_integer(seconds) : json_null());
    return document;
}

static const char *
word_of(RouteRole role)
{
    return role == ROUTE_ROLE_CONTROL ? "control" : "read";
}

static void
answer_state(Site *site, Exchange *exchange)
{
    gboolean stranger = exchange_viewer(exchange) == VIEWER_NONE;
    const Session *session =
        stranger || exchange_header(exchange, "Authorization") != NULL ? NULL : guard_session(&site->rules, exchange);
    gint64 seconds = session != NULL ? (session->expires_us - g_get_monotonic_time()) / G_USEC_PER_SEC : -1;
    const char *role = stranger ? "none" : word_of(exchange_role(exchange));
    exchange_answer(
        exchange, answer_new_json(200, describe(site, role, stranger ? NULL : exchange_who(exchange), seconds), NULL));
}

/* ---- the cookie ---- */

/* The cookie VALUE for SECONDS. Without TLS a browser may reject "Secure", so it is omitted there; sign_in() has
 * checked that the connection does not leave this machine. */
static char *
set_cookie(const Exchange *exchange, const char *name, const char *value, guint seconds)
{
    gboolean secure = (exchange_listener(exchange) & EXCHANGE_TLS) != 0;
    return g_strdup_printf("%s=%s; Path=/; Max-Age=%u; HttpOnly; SameSite=Strict%s", name, value, seconds,
                           secure ? "; Secure" : "");
}

/* The client's previous session, if any. */
static gboolean
end_session(Site *site, const Exchange *exchange, const char *name)
{
    g_autofree char *id = sessions_id_of_cookie(exchange_header(exchange, "Cookie"), name);
    if (id == NULL || guard_session(&site->rules, exchange) == NULL)
        return FALSE;
    sessions_end(site->sessions, id);
    server_end_streams(site->server, guard_session_is_over, &site->rules);
    return TRUE;
}

/* ---- signing in and out ---- */

/* NULL: the client may sign in; else the error. *name: of the cookie, to be freed. */
static Answer *
check_browser(const Exchange *exchange, char **name)
{
    Answer *foreign = guard_check_origin(exchange);
    *name = NULL;
    if (foreign != NULL)
        return foreign;
    *name = guard_cookie_name(exchange);
    if (*name == NULL)
        return answer_new_failure(&(AnswerFailure){.status = 400,
                                                   .code = "bad_request",
                                                   .message = "a session needs a Host header",
                                                   .hint = "send HTTP/1.1, as browsers do"});
    return NULL;
}

/* NULL: TOKEN may be sent over this connection; else the error. */
static Answer *
check_token(const Site *site, Exchange *exchange, const QueryValue *token, const char **name, RouteRole *role)
{
    if (site->rules.tokens == NULL)
        return answer_new_failure(&(AnswerFailure){.status = 409,
                                                   .code = "no_tokens",
                                                   .message = "this server has no tokens",
                                                   .hint = "start it with --token-file=FILE, or use it without"});
    if ((exchange_listener(exchange) & (EXCHANGE_LOCAL | EXCHANGE_TLS)) == 0)
        return answer_new_failure(
            &(AnswerFailure){.status = 403,
                             .code = "not_encrypted",
                             .message = "a session is not begun over an unencrypted connection of another machine",
                             .hint = "start the server with --tls-cert and --tls-key, or connect through 'ssh -L'"});
    *name = token->state == QUERY_GIVEN ? tokens_find(site->rules.tokens, token->text, role) : NULL;
    if (*name != NULL)
        return NULL;
    exchange_note_failure(exchange);
    return answer_new_failure(&(AnswerFailure){.status = 401,
                                               .code = "unauthorized",
                                               .message = "the token is not one of this server's",
                                               .hint = "sign in with a token of the server's --token-file"});
}

static void
refuse(const Site *site, Exchange *exchange, Answer *refusal)
{
    audit_refusal(site->audit, exchange, refusal);
    exchange_answer(exchange, refusal);
}

static void
audit(const Site *site, const Exchange *exchange, const Answer *answer)
{
    g_autofree char *about = audit_describe(exchange, NULL);
    audit_change(site->audit, about, answer);
}

/* The id is new whatever cookie was sent, and the old session ends: only this client knows the new id. */
static void
begin_session(Site *site, Exchange *exchange, const char *cookie_name, const QueryValue *token)
{
    g_autofree char *id = sessions_begin(site->sessions, token->text, exchange_user(exchange), g_get_monotonic_time());
    g_autofree char *cookie = set_cookie(exchange, cookie_name, id, SESSION_SECONDS);
    server_end_streams(site->server, guard_session_is_over,
                       &site->rules); /* those of a session that exceeded the limit */
    Answer *answer = answer_new_json(
        201, describe(site, word_of(exchange_role(exchange)), exchange_who(exchange), SESSION_SECONDS), cookie);
    audit(site, exchange, answer);
    exchange_answer(exchange, answer);
}

static void
sign_in(Site *site, Exchange *exchange)
{
    const RouteRequest *request = exchange_request(exchange);
    g_autofree char *cookie_name = NULL;
    const char *name = NULL;
    RouteRole role;
    QueryValue token;
    native_find(request, "token", &token);
    Answer *refusal = check_browser(exchange, &cookie_name);
    if (refusal == NULL && !audit_takes_change(site->audit, exchange))
        refusal = answer_new_failure(&(AnswerFailure){.status = 429,
                                                      .code = "crowded",
                                                      .message = "this peer makes more than 50 changes per second",
                                                      .hint = "wait a second"});
    if (refusal == NULL)
        refusal = check_token(site, exchange, &token, &name, &role);
    if (refusal != NULL) {
        refuse(site, exchange, refusal);
        return;
    }
    end_session(site, exchange, cookie_name);
    g_autofree char *who = g_strdup_printf("%s (%s)", name, peer_name(exchange_peer(exchange)));
    exchange_set_who(exchange, who);
    exchange_set_role(exchange, role);
    begin_session(site, exchange, cookie_name, &token);
    explicit_bzero(&token, sizeof(token));
}

static void
sign_out(Site *site, Exchange *exchange)
{
    g_autofree char *cookie_name = NULL;
    Answer *refusal = check_browser(exchange, &cookie_name);
    if (refusal != NULL) {
        refuse(site, exchange, refusal);
        return;
    }
    gboolean ended = end_session(site, exchange, cookie_name);
    g_autofree char *cookie = set_cookie(exchange, cookie_name, "", 0);
    Answer *answer = answer_new_json(200, describe(site, "none", NULL, -1), cookie);
    if (ended)
        audit(site, exchange, answer);
    exchange_answer(exchange, answer);
}

static const RouteParameter parameters[] = {
    {"token", "secret", "a token of the server's --token-file"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/session", "what this client may do, and how long its session remains",
     .flags = ROUTE_OPEN, .serve = answer_state},
    {ROUTE_DIALECT_NATIVE, "POST", "/api/v1/session", "sign in: a cookie for a token", .parameters = parameters,
     .flags = ROUTE_OPEN, .serve = sign_in},
    {ROUTE_DIALECT_NATIVE, "DELETE", "/api/v1/session", "sign out", .flags = ROUTE_OPEN, .serve = sign_out},
};

const RouteTable session_routes = {rows, G_N_ELEMENTS(rows)};
