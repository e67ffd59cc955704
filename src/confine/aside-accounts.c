/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/aside-accounts.h"

#include <poll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WAITED_MOST_MS = 9000, /* of waiting for one account, until it expires; or of running longer than expected */
    WAITED_KEPT = 64,
    WAITED_FOR_ALL_MS =
        9000, /* of waiting for all accounts if there is an end, after which PATIENCE_SHORT_US applies */
    PATIENCE_US = 3 * G_USEC_PER_SEC,
    PATIENCE_SHORT_US = 100000,
    PATIENCE_AGAIN_US = 1 * G_USEC_PER_SEC, /* for an account with work that was given up */
    FORGOTTEN_US = 60 * G_USEC_PER_SEC,
    GIVEN_UP_MOST = 3, /* for one account, until they expire */
    PROMPT_KEPT = 256, /* accounts, each of whom may have another such child */
    GIVEN_UP_KEPT = ASIDE_LEFT_MAX + PROMPT_KEPT,
};

/* Work that was given up, and its account; a ring. A child that waits for a file system's answer does not end by
 * SIGKILL: it counts as long as it exists, also if it has answered. */
static GMutex lock;
static struct {
    uid_t account;
    gint64 forgotten_us; /* 0: its child has answered */
    int child;           /* a pidfd; 0: it has ended */
} given_up[GIVEN_UP_KEPT];
static guint n_given_up;

/* Accounts for whom work was done in time, and none was given up since. Protected by the lock. */
static uid_t prompt[PROMPT_KEPT];
static guint n_prompt;

/* How long answers for an account have been waited for: items that each answer just in time would delay a list by their
 * number, as would large memory maps, which keep the reader busy. Protected by the lock. */
static struct {
    uid_t account;
    gint64 forgotten_us; /* 0: none */
    guint ms, busy_ms;
} waited[WAITED_KEPT];

static gint64 the_end_us;       /* 0: none */
static guint waited_for_all_ms; /* since it was set */

/* Whether the child still exists. The caller holds the lock. */
static gboolean
is_there(guint i)
{
    struct pollfd end = {.fd = given_up[i].child, .events = POLLIN};
    if (end.fd > 0 && poll(&end, 1, 0) != 0) {
        waitid(P_PIDFD, (id_t)end.fd, &(siginfo_t){0}, WEXITED | WNOHANG);
        close(end.fd);
        given_up[i].child = 0;
    }
    return given_up[i].child > 0;
}

static guint
find_waited(uid_t account, gint64 now)
{
    guint oldest = 0;
    for (guint i = 0; i < WAITED_KEPT; i++) {
        if (waited[i].account == account && waited[i].forgotten_us > now)
            return i;
        oldest = waited[i].forgotten_us < waited[oldest].forgotten_us ? i : oldest;
    }
    return oldest;
}

/* The caller holds the lock. */
static gboolean
is_too_much(guint i)
{
    return waited[i].ms >= WAITED_MOST_MS || waited[i].busy_ms >= WAITED_MOST_MS;
}

gboolean
aside_account_note_waited(uid_t account, guint ms, gboolean busy)
{
    const gint64 now = g_get_monotonic_time();
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    const guint i = find_waited(account, now);
    if (waited[i].account != account || waited[i].forgotten_us <= now) {
        waited[i].account = account;
        waited[i].forgotten_us = now + FORGOTTEN_US;
        waited[i].ms = waited[i].busy_ms = 0;
    }
    *(busy ? &waited[i].busy_ms : &waited[i].ms) += ms;
    waited_for_all_ms += busy ? 0 : ms;
    return is_too_much(i);
}

/* The caller holds the lock. */
static gboolean
is_waited_for(uid_t account)
{
    const gint64 now = g_get_monotonic_time();
    const guint i = find_waited(account, now);
    return waited[i].account == account && waited[i].forgotten_us > now && is_too_much(i);
}

static guint
count_given_up(uid_t account)
{
    const gint64 now = g_get_monotonic_time();
    guint n = 0;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    for (guint i = 0; i < GIVEN_UP_KEPT; i++)
        n += given_up[i].account == account && (given_up[i].forgotten_us > now || is_there(i));
    return n;
}

gboolean
aside_account_delays(uid_t account)
{
    if (count_given_up(account) >= GIVEN_UP_MOST)
        return TRUE;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    return is_waited_for(account);
}

void
aside_set_end(gint64 end_us)
{
    the_end_us = end_us;
    waited_for_all_ms = 0;
}

gboolean
aside_has_ended(void)
{
    return the_end_us != 0 && g_get_monotonic_time() >= the_end_us;
}

/* Its index in PROMPT, or N_PROMPT. The caller holds the lock. */
static guint
find_prompt(uid_t account)
{
    guint i = 0;
    while (i < n_prompt && prompt[i] != account)
        i++;
    return i;
}

void
aside_account_note_prompt(uid_t account)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    if (find_prompt(account) == n_prompt && n_prompt < PROMPT_KEPT)
        prompt[n_prompt++] = account;
}

guint
aside_children_left(void)
{
    guint n = 0;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    for (guint i = 0; i < GIVEN_UP_KEPT; i++)
        n += given_up[i].child > 0 && is_there(i);
    return n;
}

/* No more such children for ACCOUNT: a user may have thousands of user ids, and they take memory as long as they exist.
 * LEFT: aside_children_left(). */
static gboolean
is_full_for(uid_t account, guint left)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    return left >= GIVEN_UP_KEPT || (left >= ASIDE_LEFT_MAX && find_prompt(account) == n_prompt);
}

AsideManner
aside_account_manner(uid_t account)
{
    if (aside_account_delays(account) || count_given_up(account) > 0)
        return ASIDE_SLOW;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    return find_prompt(account) < n_prompt ? ASIDE_PROMPT : ASIDE_UNKNOWN;
}

gboolean
aside_account_is_passed_over(uid_t account, guint left)
{
    return aside_has_ended() || is_full_for(account, left) || aside_account_delays(account);
}

gint64
aside_account_patience(uid_t account, gboolean short_of_time)
{
    if (short_of_time || (the_end_us != 0 && waited_for_all_ms >= WAITED_FOR_ALL_MS))
        return PATIENCE_SHORT_US;
    return count_given_up(account) > 0 ? PATIENCE_AGAIN_US : PATIENCE_US;
}

/* Takes ownership of CHILD, a pidfd; 0: it has ended. The caller holds the lock. */
static void
keep_child(uid_t account, int child, gint64 forgotten_us)
{
    for (guint i = 0; i < GIVEN_UP_KEPT && is_there(n_given_up); i++)
        n_given_up = (n_given_up + 1) % GIVEN_UP_KEPT;
    if (given_up[n_given_up].child > 0)
        close(given_up[n_given_up].child);
    given_up[n_given_up].account = account;
    given_up[n_given_up].forgotten_us = forgotten_us;
    given_up[n_given_up].child = child;
    n_given_up = (n_given_up + 1) % GIVEN_UP_KEPT;
}

void
aside_account_note_given_up(uid_t account, int child)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    const guint known = find_prompt(account);
    if (known < n_prompt)
        prompt[known] = prompt[--n_prompt];
    keep_child(account, child, g_get_monotonic_time() + FORGOTTEN_US);
}

void
aside_account_note_left(uid_t account, int child)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    if (child > 0)
        keep_child(account, child, 0);
}
