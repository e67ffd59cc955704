/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of browsers that have signed in with a token: a cookie replaces the token, for a limited time and only while
 * the token is valid. Kept in memory. For one thread.
 *
 * On a loopback address, a browser sends the cookie to every port, including another user's server. So a session
 * belongs to the user, as reported by the kernel, at the other end of the connection that began it.
 */
#ifndef JESCOPE_HTTP_SESSIONS_H
#define JESCOPE_HTTP_SESSIONS_H

#include "http/tokens.h"

#include <sys/types.h>

enum {
    SESSION_SECONDS = 12 * 60 * 60,
    SESSIONS_OF_TOKEN_MAX = 32, /* beyond it, the oldest ends */
    SESSION_ID_DIGITS = 64,     /* hexadecimal */
};

typedef struct Sessions Sessions;

Sessions *sessions_new(void);
void sessions_free(Sessions *sessions);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sessions, sessions_free)

/* A new session of TOKEN for USER, at NOW_US (monotonic). Returns its id, which is random; to be freed. */
char *sessions_begin(Sessions *sessions, const char *token, uid_t user, gint64 now_us);

/* The properties of a session. */
typedef struct {
    guint8 token[TOKEN_DIGEST_SIZE]; /* tokens_digest() */
    gint64 expires_us;               /* monotonic */
    uid_t user;
} Session;

/* Finds the session ID of USER; NULL if there is none, it has ended or it is another user's. Valid until the next
 * call. */
const Session *sessions_find(Sessions *sessions, const char *id, uid_t user, gint64 now_us);

void sessions_end(Sessions *sessions, const char *id);

/* Removes expired sessions. Returns their number. */
guint sessions_expire(Sessions *sessions, gint64 now_us);

/* The session id NAME in COOKIE, a header (may be NULL); to be freed. NULL if it is absent, malformed or present
 * several times, since another server of this host may have set one of them. */
char *sessions_id_of_cookie(const char *cookie, const char *name);

#endif
