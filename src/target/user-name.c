/* SPDX-License-Identifier: Apache-2.0 */
#include "target/user-name.h"

#include "confine/account.h"
#include "confine/keyed-hash.h"

#include <pwd.h>

enum {
    ENTRY_MAX = 4096, /* buffer for an entry of the user database */
    KEPT_MAX = 4096,  /* names */
    MINUTE_US = 60 * G_USEC_PER_SEC,
    BUDGET_US = 5 * G_USEC_PER_SEC,
};

struct UserNames {
    char *(*lookup)(uid_t uid);
    gint64 budget_us;
    GMutex lock;      /* protects the following */
    GHashTable *kept; /* uid -> name, NULL: it has none. Of this minute */
    gint64 begun_us;  /* monotonic: of this minute */
    gint64 spent_us;
};

UserNames *
user_names_new(char *(*lookup)(uid_t uid), gint64 budget_us)
{
    UserNames *names = g_new0(UserNames, 1);
    *names = (UserNames){.lookup = lookup, .budget_us = budget_us};
    g_mutex_init(&names->lock);
    names->kept = g_hash_table_new_full(keyed_hash_pointer, NULL, NULL, g_free);
    names->begun_us = g_get_monotonic_time();
    return names;
}

void
user_names_free(UserNames *names)
{
    if (names == NULL)
        return;
    g_hash_table_unref(names->kept);
    g_mutex_clear(&names->lock);
    g_free(names);
}

static void
begin_minute(UserNames *names)
{
    const gint64 now_us = g_get_monotonic_time();
    if (now_us - names->begun_us < MINUTE_US)
        return;
    g_hash_table_remove_all(names->kept);
    names->begun_us = now_us;
    names->spent_us = 0;
}

/* FALSE: the database may be asked. */
static gboolean
recall(UserNames *names, uid_t uid, char **name)
{
    gpointer kept = NULL;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&names->lock);
    begin_minute(names);
    const gboolean known = g_hash_table_lookup_extended(names->kept, GUINT_TO_POINTER(uid), NULL, &kept);
    *name = g_strdup(kept);
    return known || names->spent_us >= names->budget_us;
}

static void
keep(UserNames *names, uid_t uid, const char *name, gint64 took_us)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&names->lock);
    names->spent_us += took_us;
    if (g_hash_table_size(names->kept) >= KEPT_MAX)
        g_hash_table_remove_all(names->kept);
    g_hash_table_replace(names->kept, GUINT_TO_POINTER(uid), g_strdup(name));
}

char *
user_names_get(UserNames *names, uid_t uid)
{
    char *name = NULL;
    if (account_of(uid) == uid && !recall(names, uid, &name)) {
        const gint64 begun_us = g_get_monotonic_time();
        name = names->lookup(uid);
        keep(names, uid, name, g_get_monotonic_time() - begun_us);
    }
    return name != NULL ? name : g_strdup_printf("%u", uid);
}

static char *
look_up(uid_t uid)
{
    char buffer[ENTRY_MAX];
    struct passwd entry, *found = NULL;
    getpwuid_r(uid, &entry, buffer, sizeof(buffer), &found);
    return found != NULL ? g_strdup(found->pw_name) : NULL;
}

char *
user_name(uid_t uid)
{
    static gsize once;
    static UserNames *names;
    if (g_once_init_enter(&once)) {
        names = user_names_new(look_up, BUDGET_US);
        g_once_init_leave(&once, 1);
    }
    return user_names_get(names, uid);
}
