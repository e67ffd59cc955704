/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of browsers that have signed in with a token: a cookie stands for the token, for a bounded time, and counts
 * only as long as the token does. Kept in memory. For one thread.
 *
 * On a loopback address a browser sends the cookie to every port, also to another user's server there. So a session
 * belongs to the user at the other end of the connection that began it, as the kernel reports it.
 */
#ifndef JESCOPE_HTTP_SESSIONS_H
#define JESCOPE_HTTP_SESSIONS_H

#include "http/tokens.h"

#include <sys/types.h>

enum {
    SESSION_SECONDS = 12 * 60 * 60,
    SESSIONS_OF_TOKEN_MAX = 32, /* then the oldest ends */
    SESSION_ID_DIGITS = 64,     /* hexadecimal */
};

typedef struct Sessions Sessions;

Sessions *sessions_new(void);
void sessions_free(Sessions *sessions);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sessions, sessions_free)

/* A new session of TOKEN for USER, at NOW_US (monotonic). Returns its id, which is random; to be freed. */
char *sessions_begin(Sessions *sessions, const char *token, uid_t user, gint64 now_us);

/* What a session stands for. */
typedef struct {
    guint8 token[TOKEN_DIGEST_SIZE]; /* tokens_digest() */
    gint64 expires_us;               /* monotonic */
    uid_t user;
} Session;

/* The session ID of USER; NULL: there is none, it has ended, or it is another user's. Valid until the next call. */
const Session *sessions_find(Sessions *sessions, const char *id, uid_t user, gint64 now_us);

void sessions_end(Sessions *sessions, const char *id);

/* Forgets those that have expired. Returns their number. */
guint sessions_expire(Sessions *sessions, gint64 now_us);

/* The id in COOKIE, a header (may be NULL), under NAME; to be freed. NULL: there is none, it is not an id, or there are
 * several: another server of this host may have set one of them. */
char *sessions_id_of_cookie(const char *cookie, const char *name);

#endif
