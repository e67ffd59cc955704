/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a server on this machine is one that may have a token or a profile unencrypted. Any user may listen on
 * a port above 1023 while the server that a URL means is not running, so the address alone does not tell.
 */
#ifndef JESCOPE_CLIENT_LOOPBACK_H
#define JESCOPE_CLIENT_LOOPBACK_H

#include "client/curl-library.h"

#include <glib.h>
#include <netinet/in.h>
#include <sys/types.h>

#define LOOPBACK_ANY_SYSTEM_USER ((uid_t)-1)

enum {
    LOOPBACK_REFUSED_MAX = 8, /* addresses of a name that are refused, beyond which no other is tried */
};

/* For CURLOPT_PREREQFUNCTION. */
typedef struct {
    uid_t named; /* the only user besides root who may listen; LOOPBACK_ANY_SYSTEM_USER: the caller's own, or one of
                    the system's (below 1000) */
    gboolean is_only_noted; /* a user who may not be trusted is not refused: nothing is sent that he may not have */
    gboolean is_strange;    /* it is such a user... */
    gboolean is_refused;    /* ...who was refused */
    uid_t stranger;
    char refused[LOOPBACK_REFUSED_MAX][INET6_ADDRSTRLEN]; /* the addresses where he listens */
    guint n_refused;
} Loopback;

/* Whether the server at ADDRESS and PORT, connected with OWN_ADDRESS and OWN_PORT, may be sent a request: it is not on
 * a loopback address, or its user may be trusted. If no
 * process of this network namespace listens, root has redirected the connection. Otherwise sets is_strange, is_refused
 * and stranger, and returns is_only_noted. */
gboolean loopback_may_have(Loopback *loopback, const char *address, int port, const char *own_address, int own_port);

/* The same for a server on a unix socket, of a known user. */
gboolean loopback_user_may_have(Loopback *loopback, uid_t server);

/* A sentence with the user whose server it is if it is_strange, to be freed; else NULL. */
char *loopback_note(const Loopback *loopback, const char *server);

/* Has CURL open no socket for an address that LOOPBACK has refused: it tries the next one of the name. */
void loopback_skip_refused(Loopback *loopback, CURL *curl);

/* Calls curl_easy_perform(), and again while an address is refused: a user who listens on one address of a name does
 * not keep the caller from another. DEADLINE_MS is for all together; 0: CURL's own for each. */
CURLcode loopback_perform(Loopback *loopback, CURL *curl, guint deadline_ms);

/* Describes a refusal; to be freed. REMEDY: what to do if the server is right. */
char *loopback_refusal(const Loopback *loopback, const char *server, const char *remedy);

/* Parses TEXT, a user name or a number, into *USER, as for Loopback.named. FALSE if no user has the name. */
gboolean loopback_parse_user(const char *text, uid_t *user);

#endif
