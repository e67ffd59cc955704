/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/closing.h"

#include "confine/account.h"
#include "confine/last-close.h"

#include <sys/resource.h>
#include <sys/wait.h>

enum {
    MOST = 4096,          /* sockets that wait for a child, */
    SHARE = 4,            /* but no more than 1/SHARE of the descriptors that this process may have */
    PAUSE_US = 10000,     /* between two children of an account, each of which closes all that have come until then */
    EACH = 8,             /* sockets that must wait for another child of an account, for each that it has */
    CHILDREN_MOST = 1024, /* of all accounts; their memory is free already */
    BUSY = 64,            /* sockets of an account */
};

typedef struct {
    uid_t account;
    GArray *fds;    /* that wait for a child */
    guint children; /* that end, one beside the other */
    guint sockets;  /* of FDS and of the children */
} Account;

typedef struct {
    pid_t pid;
    uid_t account;
    guint sockets;
} Child;

static struct {
    GMutex lock;
    gboolean running; /* there is a thread */
    GArray *accounts; /* of Account, all that have sockets; NULL: none yet; the thread alone removes some */
    GArray *children; /* of Child; NULL: none yet */
    guint waiting;    /* sockets of all accounts that wait for a child */
} closing;

/* The caller has the lock. */
static Account *
find(uid_t account)
{
    for (guint i = 0; closing.accounts != NULL && i < closing.accounts->len; i++) {
        Account *found = &g_array_index(closing.accounts, Account, i);
        if (found->account == account)
            return found;
    }
    return NULL;
}

/* The same. */
static Account *
find_or_add(uid_t account)
{
    Account *found = find(account);
    if (found != NULL)
        return found;
    const Account added = {.account = account, .fds = g_array_new(FALSE, FALSE, sizeof(int))};
    g_array_append_val(closing.accounts, added);
    return &g_array_index(closing.accounts, Account, closing.accounts->len - 1);
}

/* The same. */
static void
forget_ended(void)
{
    for (guint i = closing.children->len; i-- > 0;) {
        const Child child = g_array_index(closing.children, Child, i);
        if (waitpid(child.pid, NULL, WNOHANG) == 0)
            continue;
        Account *account = find_or_add(child.account);
        account->children--;
        account->sockets -= child.sockets;
        g_array_remove_index_fast(closing.children, i);
    }
    for (guint i = closing.accounts->len; i-- > 0;) {
        const Account *account = &g_array_index(closing.accounts, Account, i);
        if (account->sockets > 0)
            continue;
        g_array_unref(account->fds);
        g_array_remove_index_fast(closing.accounts, i);
    }
}

/* Takes what waits from the Ith account, if it may have another child: otherwise *FDS is NULL. FALSE: there are no
 * more accounts. */
static gboolean
take(guint i, uid_t *user, GArray **fds)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&closing.lock);
    if (i >= closing.accounts->len)
        return FALSE;
    Account *account = &g_array_index(closing.accounts, Account, i);
    *user = account->account;
    if (account->fds->len <= account->children * EACH || closing.children->len >= CHILDREN_MOST)
        return TRUE;
    *fds = account->fds;
    account->fds = g_array_new(FALSE, FALSE, sizeof(int));
    return TRUE;
}

static void
start_child(uid_t user, GArray *fds)
{
    const Child child = {last_close_start((const int *)(const void *)fds->data, fds->len), user, fds->len};
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&closing.lock);
    Account *account = find_or_add(user);
    if (child.pid < 0) {
        g_array_append_vals(account->fds, fds->data, fds->len);
        return;
    }
    g_array_append_val(closing.children, child);
    account->children++;
    closing.waiting -= fds->len;
}

static void
start_children(void)
{
    g_autoptr(GArray) fds = NULL;
    uid_t user;
    for (guint i = 0; take(i, &user, &fds); i++) {
        if (fds != NULL)
            start_child(user, fds);
        g_clear_pointer(&fds, g_array_unref);
    }
}

static gboolean
goes_on(void)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&closing.lock);
    forget_ended();
    closing.running = closing.accounts->len > 0;
    return closing.running;
}

static gpointer
run(gpointer data)
{
    do {
        start_children();
        g_usleep(PAUSE_US);
    } while (goes_on());
    return NULL;
}

/* Without a thread, what waits is left open until the next call. The caller has the lock. */
static void
start_thread(void)
{
    if (closing.running || closing.waiting == 0)
        return;
    GThread *thread = g_thread_try_new("closing", run, NULL, NULL);
    closing.running = thread != NULL;
    if (thread != NULL)
        g_thread_unref(thread);
}

void
closing_add(int fd, uid_t user)
{
    const uid_t account = account_of(user);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&closing.lock);
    if (closing.accounts == NULL) {
        closing.accounts = g_array_new(FALSE, FALSE, sizeof(Account));
        closing.children = g_array_new(FALSE, FALSE, sizeof(Child));
    }
    Account *found = find_or_add(account);
    g_array_append_val(found->fds, fd);
    found->sockets++;
    closing.waiting++;
    start_thread();
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
    start_thread();
    return closing.waiting < find_most();
}

gboolean
closing_is_busy_for(uid_t user)
{
    const uid_t account = account_of(user);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&closing.lock);
    const Account *found = find(account);
    return found != NULL && found->sockets >= BUSY;
}
