/* SPDX-License-Identifier: Apache-2.0 */
#include "client/loopback.h"

#include "confine/peer-user.h"

#include <pwd.h>
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
note_stranger(Loopback *loopback, uid_t stranger)
{
    loopback->is_strange = TRUE;
    loopback->is_refused = !loopback->is_only_noted;
    loopback->stranger = stranger;
    return loopback->is_only_noted;
}

gboolean
loopback_user_may_have(Loopback *loopback, uid_t server)
{
    return is_trusted(loopback, server) || note_stranger(loopback, server);
}

gboolean
loopback_may_have(Loopback *loopback, const char *address, int port, const char *own_address, int own_port)
{
    const PeerEnds ends = {own_address, address, (guint16)own_port, (guint16)port};
    uid_t listener = NOBODY, peer = NOBODY;
    if (!peer_ends_are_loopback(&ends))
        return TRUE;
    const gboolean listens = peer_user_find_listener(&ends, &listener);
    const gboolean is_accepted = peer_user_find_between(&ends, &peer);
    if (listens && !is_trusted(loopback, listener))
        return note_stranger(loopback, listener);
    /* A process that root's listener has handed the connection to; or one whose listener another user has replaced in
     * between. */
    if (is_accepted && !is_trusted(loopback, peer) && !(listens && (peer == listener || peer == NOBODY)))
        return note_stranger(loopback, peer);
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
