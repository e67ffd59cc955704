/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access control (docs/serve.md):
 *
 * - On unix sockets and loopback addresses, no token is needed unless the rules demand one. On loopback addresses, a
 *   client without a token can only do what its user could do without jescope: root and our own user may do everything,
 *   another user sees its own targets, and a client of an unknown user needs a token. On other addresses, every client
 *   needs a token unless the rules say otherwise. A token that is sent applies everywhere, and an invalid one is
 *   refused.
 * - Without a token, Host must name this server: a page whose name was made to resolve to 127.0.0.1 (DNS rebinding)
 *   sends its own name. "localhost" names it where no other user can listen at an address of this name and our port:
 *   a page from there would be of our origin.
 * - A browser that has signed in sends a cookie, which is equivalent to the token used for signing in.
 * - A request for a change, with any method, is refused from a browser unless the browser reports that a page of this
 *   server caused it, or a token was sent. A request caused by another site is refused if it loads a part of a page,
 *   but not if the user follows a link.
 */
#ifndef JESCOPE_HTTP_GUARD_H
#define JESCOPE_HTTP_GUARD_H

#include "http/exchange.h"
#include "http/sessions.h"
#include "http/tokens.h"

typedef struct {
    const Tokens *tokens;          /* NULL: none */
    Sessions *sessions;            /* of browsers that signed in with a token */
    const char *const *hosts;      /* further names of this server, NULL-terminated; may be NULL */
    gboolean local_needs_token;    /* also on loopback addresses and unix sockets */
    gboolean others_need_no_token; /* --insecure */
    gboolean localhost_is_shared;  /* other users can listen at our ports of the name "localhost", which is not ours */
    gboolean local_is_trusted; /* --trust-local: every user of this machine may do everything on loopback addresses */
} GuardRules;

/* Returns NULL unless a browser asks for the script of a service worker. This server has none: what the browser has was
 * registered by another server of the port, of another user perhaps, and answers for this one. The answer is a worker
 * in its place that removes itself, since a failure would leave it there. */
Answer *guard_replace_worker(const Exchange *exchange);

/* Returns NULL if the client of EXCHANGE is admitted, and sets its name, role and viewer; otherwise the answer. */
Answer *guard_admit(const GuardRules *rules, Exchange *exchange);

/* The same for a client without a token and a request that shows nothing of a target: it sees no target (VIEWER_NONE)
 * and may not change anything. */
Answer *guard_admit_stranger(const GuardRules *rules, Exchange *exchange);

/* The name of the session cookie of EXCHANGE's browser, to be freed; NULL if Host is invalid. */
char *guard_cookie_name(const Exchange *exchange);

/* The valid session of EXCHANGE, or NULL. */
const Session *guard_session(const GuardRules *rules, const Exchange *exchange);

/* Whether EXCHANGE was admitted by a session that has ended since. An ExchangeTest with RULES as its data. */
gboolean guard_session_is_over(const Exchange *exchange, gconstpointer rules);

/* Returns NULL if the origin of EXCHANGE permits a change, whatever its role; otherwise the answer. */
Answer *guard_check_origin(const Exchange *exchange);

/* Returns NULL if EXCHANGE, which was admitted, has the role NEEDED, and its origin permits it; otherwise the answer.
 * IS_OPEN: it shows nothing of a target. */
Answer *guard_allow(const Exchange *exchange, RouteRole needed, gboolean is_open);

/* Whether HOST, a Host header, names this server for a client that connected through LISTENER to the address LOCAL
 * (NULL: a unix socket). */
gboolean guard_host_is_ours(const GuardRules *rules, const char *host, ExchangeListener listener, const char *local);

#endif
