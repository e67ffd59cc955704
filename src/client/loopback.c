/* SPDX-License-Identifier: Apache-2.0 */
#include "client/loopback.h"

#include "confine/peer-user.h"

#include <arpa/inet.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SYSTEM_USERS = 1000, /* SYS_UID_MAX of login.defs(5), and one */
    NOBODY = 65534,      /* whom a server becomes that has no user of its own */
};

static gboolean
is_trusted(const Loopback *loopback, uid_t uid)
{
    if (uid == 0 || uid == loopback->named)
        return TRUE;
    return loopback->named == LOOPBACK_ANY_SYSTEM_USER && (uid == geteuid() || uid < SYSTEM_USERS);
}

gboolean
loopback_parse_user(const char *text, uid_t *user)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];
    guint64 number;
    if (g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32 - 1, &number, NULL)) {
        *user = (uid_t)number;
        return TRUE;
    }
    if (getpwnam_r(text, &entry, buffer, sizeof(buffer), &found) != 0 || found == NULL)
        return FALSE;
    *user = found->pw_uid;
    return TRUE;
}

/* FALSE if it is refused. */
static gboolean
note_stranger(Loopback *loopback, const char *address, uid_t stranger)
{
    loopback->is_strange = TRUE;
    loopback->is_refused = !loopback->is_only_noted;
    loopback->stranger = stranger;
    if (!loopback->is_only_noted && address != NULL && loopback->n_refused < LOOPBACK_REFUSED_MAX)
        g_strlcpy(loopback->refused[loopback->n_refused++], address, INET6_ADDRSTRLEN);
    return loopback->is_only_noted;
}

gboolean
loopback_user_may_have(Loopback *loopback, uid_t server)
{
    return is_trusted(loopback, server) || note_stranger(loopback, NULL, server);
}

gboolean
loopback_may_have(Loopback *loopback, const char *address, int port, const char *own_address, int own_port)
{
    const PeerEnds ends = {own_address, address, (guint16)own_port, (guint16)port};
    uid_t listener = NOBODY, peer = NOBODY;
    loopback->is_refused = FALSE;
    if (!peer_ends_are_loopback(&ends))
        return TRUE;
    const gboolean listens = peer_user_find_listener(&ends, &listener);
    const gboolean is_accepted = peer_user_find_between(&ends, &peer);
    if (listens && !is_trusted(loopback, listener))
        return note_stranger(loopback, address, listener);
    /* A process that root's listener has handed the connection to; or one whose listener another user has replaced in
     * between. */
    if (is_accepted && !is_trusted(loopback, peer) && !(listens && (peer == listener || peer == NOBODY)))
        return note_stranger(loopback, address, peer);
    return TRUE;
}

/* "alice (1000)" */
static char *
describe_stranger(const Loopback *loopback)
{
    struct passwd entry, *found = NULL;
    char text[4096];
    if (getpwuid_r(loopback->stranger, &entry, text, sizeof(text), &found) != 0 || found == NULL)
        return g_strdup_printf("%u", (unsigned)loopback->stranger);
    return g_strdup_printf("%s (%u)", found->pw_name, (unsigned)loopback->stranger);
}

static gboolean
was_refused(const Loopback *loopback, const struct sockaddr *address)
{
    const void *bytes = address->sa_family == AF_INET
                            ? (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr
                            : (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    char text[INET6_ADDRSTRLEN];
    if (inet_ntop(address->sa_family, bytes, text, sizeof(text)) == NULL)
        return FALSE;
    for (guint i = 0; i < loopback->n_refused; i++)
        if (strcmp(loopback->refused[i], text) == 0)
            return TRUE;
    return FALSE;
}

static curl_socket_t
open_unless_refused(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    if (was_refused(user, &address->addr))
        return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

void
loopback_skip_refused(Loopback *loopback, CURL *curl)
{
    curl_library.curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_unless_refused);
    curl_library.curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, loopback);
}

CURLcode
loopback_perform(Loopback *loopback, CURL *curl, guint deadline_ms)
{
    const gint64 until_us = g_get_monotonic_time() + (gint64)deadline_ms * 1000;
    CURLcode code;
    guint before;
    loopback->is_refused = FALSE;
    loopback->n_refused = 0;
    do {
        const gint64 left_ms = (until_us - g_get_monotonic_time()) / 1000;
        if (deadline_ms != 0)
            curl_library.curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)MAX(left_ms, 1));
        before = loopback->n_refused;
        code = curl_library.curl_easy_perform(curl);
    } while (code == CURLE_ABORTED_BY_CALLBACK && loopback->n_refused > before);
    return code;
}

char *
loopback_refusal(const Loopback *loopback, const char *server, const char *remedy)
{
    g_autofree char *user = describe_stranger(loopback);
    return g_strdup_printf("nothing was sent to %s: the listener belongs to user %s, who may not be trusted with it; "
                           "%s",
                           server, user, remedy);
}

char *
loopback_note(const Loopback *loopback, const char *server)
{
    g_autofree char *user = loopback->is_strange ? describe_stranger(loopback) : NULL;
    return user != NULL ? g_strdup_printf("%s is a server of user %s", server, user) : NULL;
}
