/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may ask for what (docs/serve.md):
 *
 * - On a loopback address or a unix socket nobody needs a token, unless RULES say so; elsewhere everybody does, unless
 *   they say otherwise. A token that is sent counts everywhere, and a wrong one is refused.
 * - Without a token, Host must name this server: a page whose name was made to resolve to 127.0.0.1 (DNS rebinding)
 *   names itself.
 * - What a browser says was caused by another site is refused if it changes anything, whatever its method, and if it
 *   loads a part of a page; following a link is not.
 */
#ifndef JESCOPE_HTTP_GUARD_H
#define JESCOPE_HTTP_GUARD_H

#include "http/exchange.h"
#include "http/tokens.h"

typedef struct {
    const Tokens *tokens;          /* NULL: there are none */
    const char *const *hosts;      /* further names of this server, NULL at the end; may be NULL */
    gboolean local_needs_token;    /* on loopback addresses and unix sockets too */
    gboolean others_need_no_token; /* --insecure */
} GuardRules;

/* Whether EXCHANGE comes from somebody who may ask at all. NULL: yes, and the exchange knows who it is and what role it
 * has; else the answer. */
Answer *guard_admit(const GuardRules *rules, Exchange *exchange);

/* Whether EXCHANGE, which was admitted, may do what needs the role NEEDED. NULL: yes. */
Answer *guard_allow(const Exchange *exchange, RouteRole needed);

/* The same without an answer. */
gboolean guard_may(const Exchange *exchange, RouteRole needed);

/* Whether HOST, a Host header, names this server for a client that came in through DOOR to the address LOCAL (NULL: a
 * unix socket). */
gboolean guard_host_is_ours(const GuardRules *rules, const char *host, ExchangeDoor door, const char *local);

#endif
