/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/closing.h"

#include "confine/aside.h"

#include <sys/resource.h>

enum {
    MOST = 4096,      /* sockets that are to be closed, */
    SHARE = 4,        /* but no more than 1/SHARE of the descriptors that this process may have */
    PAUSE_US = 10000, /* between two processes, each of which closes all that have come until then */
};

typedef struct {
    int fd;
    uid_t user;
} Entry;

static struct {
    GMutex lock;
    GArray *entries; /* of Entry; NULL: there is no thread */
} closing;

/* Moves what the user of the first entry has to FDS. */
static uid_t
take_of_one_user(GArray *fds)
{
    GArray *entries = closing.entries;
    const uid_t user = g_array_index(entries, Entry, 0).user;
    guint left = 0;
    for (guint i = 0; i < entries->len; i++) {
        const Entry entry = g_array_index(entries, Entry, i);
        if (entry.user == user)
            g_array_append_val(fds, entry.fd);
        else
            g_array_index(entries, Entry, left++) = entry;
    }
    g_array_set_size(entries, left);
    return user;
}

/* FALSE: there are none, and this thread ends. */
static gboolean
take(GArray *fds, uid_t *user)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&closing.lock);
    if (closing.entries->len == 0) {
        g_clear_pointer(&closing.entries, g_array_unref);
        return FALSE;
    }
    *user = take_of_one_user(fds);
    return TRUE;
}

static gpointer
run(gpointer data)
{
    g_autoptr(GArray) fds = g_array_new(FALSE, FALSE, sizeof(int));
    for (uid_t user; take(fds, &user); g_array_set_size(fds, 0)) {
        aside_close((const int *)(const void *)fds->data, fds->len, user);
        g_usleep(PAUSE_US);
    }
    return NULL;
}

/* Without a thread, FD stays open. */
void
closing_add(int fd, uid_t user)
{
    const Entry entry = {fd, user};
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&closing.lock);
    if (closing.entries == NULL) {
        GThread *thread = g_thread_try_new("closing", run, NULL, NULL);
        if (thread == NULL)
            return;
        g_thread_unref(thread);
        closing.entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    }
    g_array_append_val(closing.entries, entry);
}

static rlim_t
find_most(void)
{
    struct rlimit files;
    return getrlimit(RLIMIT_NOFILE, &files) == 0 ? MIN(files.rlim_cur / SHARE, MOST) : MOST;
}

gboolean
closing_has_room(void)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&closing.lock);
    return closing.entries == NULL || closing.entries->len < find_most();
}
