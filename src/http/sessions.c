/* SPDX-License-Identifier: Apache-2.0 */
#include "http/sessions.h"

#include "confine/keyed-hash.h"

#include <string.h>
#include <sys/random.h>

enum {
    ID_BYTES = SESSION_ID_DIGITS / 2,
};

struct Sessions {
    GHashTable *by_digest; /* digest of an id, so that the time of a lookup reveals nothing about ids -> Session */
};

Sessions *
sessions_new(void)
{
    Sessions *sessions = g_new0(Sessions, 1);
    sessions->by_digest = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, g_free);
    return sessions;
}

void
sessions_free(Sessions *sessions)
{
    g_hash_table_unref(sessions->by_digest);
    g_free(sessions);
}

static char *
key_of(const char *id)
{
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, id, -1);
}

static char *
new_id(void)
{
    guint8 bytes[ID_BYTES];
    GString *id = g_string_sized_new(SESSION_ID_DIGITS);
    /* getrandom() waits until the kernel's pool is initialized; then only larger requests can fail. */
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        g_error("the kernel has no random bytes for a session");
    for (gsize i = 0; i < sizeof(bytes); i++)
        g_string_append_printf(id, "%02x", bytes[i]);
    return g_string_free(id, FALSE);
}

static void
end_oldest(Sessions *sessions, const guint8 token[TOKEN_DIGEST_SIZE])
{
    GHashTableIter iterator;
    gpointer key, value;
    const char *oldest = NULL;
    gint64 expires_us = G_MAXINT64;
    guint n = 0;
    g_hash_table_iter_init(&iterator, sessions->by_digest);
    while (g_hash_table_iter_next(&iterator, &key, &value)) {
        const Session *session = value;
        if (memcmp(session->token, token, TOKEN_DIGEST_SIZE) != 0)
            continue;
        n++;
        if (session->expires_us < expires_us) {
            expires_us = session->expires_us;
            oldest = key;
        }
    }
    if (n >= SESSIONS_OF_TOKEN_MAX)
        g_hash_table_remove(sessions->by_digest, oldest);
}

char *
sessions_begin(Sessions *sessions, const char *token, uid_t user, gint64 now_us)
{
    Session *session = g_new0(Session, 1);
    char *id = new_id();
    tokens_digest(token, session->token);
    session->expires_us = now_us + (gint64)SESSION_SECONDS * G_USEC_PER_SEC;
    session->user = user;
    sessions_expire(sessions, now_us);
    end_oldest(sessions, session->token);
    g_hash_table_insert(sessions->by_digest, key_of(id), session);
    return id;
}

const Session *
sessions_find(Sessions *sessions, const char *id, uid_t user, gint64 now_us)
{
    g_autofree char *key = key_of(id);
    const Session *session = g_hash_table_lookup(sessions->by_digest, key);
    return session != NULL && session->expires_us > now_us && session->user == user ? session : NULL;
}

void
sessions_end(Sessions *sessions, const char *id)
{
    g_autofree char *key = key_of(id);
    g_hash_table_remove(sessions->by_digest, key);
}

static gboolean
has_expired(gpointer key, gpointer value, gpointer now_us)
{
    return ((const Session *)value)->expires_us <= *(const gint64 *)now_us;
}

guint
sessions_expire(Sessions *sessions, gint64 now_us)
{
    return g_hash_table_foreach_remove(sessions->by_digest, has_expired, &now_us);
}

static gboolean
is_id(const char *text)
{
    return strlen(text) == SESSION_ID_DIGITS && strspn(text, "0123456789abcdef") == SESSION_ID_DIGITS;
}

char *
sessions_id_of_cookie(const char *cookie, const char *name)
{
    g_autofree char *found = NULL;
    g_auto(GStrv) pairs = g_strsplit(cookie != NULL ? cookie : "", ";", -1);
    for (char **pair = pairs; *pair != NULL; pair++) {
        char *value = strchr(*pair, '=');
        if (value == NULL)
            continue;
        *value++ = '\0';
        if (strcmp(g_strstrip(*pair), name) != 0)
            continue;
        if (found != NULL)
            return NULL;
        found = g_strdup(g_strstrip(value));
    }
    return found != NULL && is_id(found) ? g_steal_pointer(&found) : NULL;
}
