/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access control (docs/serve.md):
 *
 * - On a unix socket no token is needed, unless RULES say so. On a loopback address neither, but a client can do
 *   only what its user could do without us: root and our own user may do all, another user sees its own targets, and a
 *   client whose user is not known needs a token. Elsewhere every client needs one, unless RULES say otherwise. A token
 * that is sent counts everywhere, and a wrong one is refused.
 * - Without a token, Host must name this server: a page whose name was made to resolve to 127.0.0.1 (DNS rebinding)
 *   names itself.
 * - A browser that has signed in sends a cookie, which counts as the token that it signed in with.
 * - What changes something, whatever its method, is refused from a browser unless the browser says that a page of this
 *   server caused it, or a token was sent. What another site caused is refused if it loads a part of a page; following
 * a link is not.
 */
#ifndef JESCOPE_HTTP_GUARD_H
#define JESCOPE_HTTP_GUARD_H

#include "http/exchange.h"
#include "http/sessions.h"
#include "http/tokens.h"

typedef struct {
    const Tokens *tokens;          /* NULL: none */
    Sessions *sessions;            /* of browsers that signed in with one of them */
    const char *const *hosts;      /* further names of this server, NULL at the end; may be NULL */
    gboolean local_needs_token;    /* on loopback addresses and unix sockets too */
    gboolean others_need_no_token; /* --insecure */
    gboolean local_is_trusted;     /* --trust-local: every user of this machine may do all on loopback addresses */
} GuardRules;

/* Whether the client of EXCHANGE is admitted. NULL: yes, and the exchange has its name, role and viewer; else the
 * answer. */
Answer *guard_admit(const GuardRules *rules, Exchange *exchange);

/* The same of a client without a token for what shows nothing of a target: it is shown none (VIEWER_NONE) and may not
 * change anything. */
Answer *guard_admit_stranger(const GuardRules *rules, Exchange *exchange);

/* The name of the cookie with which the browser of EXCHANGE sends its session; to be freed. NULL: its Host is invalid.
 */
char *guard_cookie_name(const Exchange *exchange);

/* The session of EXCHANGE, if it has one that counts; NULL: none. */
const Session *guard_session(const GuardRules *rules, const Exchange *exchange);

/* Whether EXCHANGE was admitted by a session that has ended since. An ExchangeTest of RULES. */
gboolean guard_session_is_over(const Exchange *exchange, gconstpointer rules);

/* Whether EXCHANGE may change something as far as its origin is concerned, whatever its role. NULL: yes. */
Answer *guard_check_origin(const Exchange *exchange);

/* Whether EXCHANGE, which was admitted, has the role NEEDED. NULL: yes. */
Answer *guard_allow(const Exchange *exchange, RouteRole needed);

/* Whether HOST, a Host header, names this server for a client that connected through DOOR to the address LOCAL (NULL: a
 * unix socket). */
gboolean guard_host_is_ours(const GuardRules *rules, const char *host, ExchangeListener listener, const char *local);

#endif
