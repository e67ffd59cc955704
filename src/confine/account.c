/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/account.h"

#include <pwd.h>

enum {
    FRESH_S = 60,    /* at least, and */
    SHARE = 100,     /* this many times as long as reading takes: a directory service may be asked for the names */
    USER_MAX = 4096, /* buffer for a user's entry in the user database */
};

static gboolean
find_user(const char *name, uid_t *user)
{
    char buffer[USER_MAX];
    struct passwd entry, *found = NULL;
    guint64 number;
    if (g_ascii_string_to_unsigned(name, 10, 0, G_MAXUINT32, &number, NULL)) {
        *user = (uid_t)number;
        return TRUE;
    }
    if (getpwnam_r(name, &entry, buffer, sizeof(buffer), &found) != 0 || found == NULL)
        return FALSE;
    *user = entry.pw_uid;
    return TRUE;
}

/* Whether the ids of this user are those of containers of several owners: of all that root has, or of those that a
 * program takes from this user, which has no processes of its own. */
static gboolean
is_for_containers(const char *name)
{
    static const char *const names[] = {"containers" /* Podman */, "dockremap" /* Docker */, "kubelet", NULL};
    return g_strv_contains(names, name);
}

/* LINE is NAME:FIRST:COUNT. */
static gboolean
parse_line(const char *line, AccountRange *range)
{
    g_auto(GStrv) parts = g_strsplit(line, ":", -1);
    guint64 count;
    if (g_strv_length(parts) != 3 || is_for_containers(parts[0]) ||
        !g_ascii_string_to_unsigned(parts[1], 10, 0, G_MAXUINT32, &range->first, NULL) ||
        !g_ascii_string_to_unsigned(parts[2], 10, 1, G_MAXUINT32, &count, NULL) || !find_user(parts[0], &range->user))
        return FALSE;
    range->end = range->first + count;
    return range->user != 0;
}

GArray *
account_ranges_parse(const char *text)
{
    GArray *ranges = g_array_new(FALSE, FALSE, sizeof(AccountRange));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        AccountRange range;
        if (parse_line(*line, &range))
            g_array_append_val(ranges, range);
    }
    return ranges;
}

uid_t
account_in(const GArray *ranges, uid_t uid)
{
    for (guint i = 0; i < ranges->len; i++) {
        const AccountRange *range = &g_array_index(ranges, AccountRange, i);
        if (uid >= range->first && uid < range->end)
            return range->user;
    }
    return uid;
}

static GArray *
read_ranges(void)
{
    g_autofree char *text = NULL;
    g_file_get_contents("/etc/subuid", &text, NULL, NULL);
    return account_ranges_parse(text != NULL ? text : "");
}

uid_t
account_of(uid_t uid)
{
    static GMutex mutex;
    static GArray *ranges;  /* guarded by MUTEX, like UNTIL_US */
    static gint64 until_us; /* monotonic */
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&mutex);
    const gint64 begun_us = g_get_monotonic_time();
    if (ranges == NULL || begun_us > until_us) {
        g_clear_pointer(&ranges, g_array_unref);
        ranges = read_ranges();
        const gint64 end_us = g_get_monotonic_time();
        until_us = end_us + MAX(FRESH_S * G_USEC_PER_SEC, SHARE * (end_us - begun_us));
    }
    return account_in(ranges, uid);
}
