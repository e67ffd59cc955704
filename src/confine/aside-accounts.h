/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the work of this process for each account (confine/account.h) has gone: what decides whether the next work for it
 * begins, and how long it may wait. Used by confine/aside.c alone; thread-safe.
 */
#ifndef JESCOPE_CONFINE_ASIDE_ACCOUNTS_H
#define JESCOPE_CONFINE_ASIDE_ACCOUNTS_H

#include "confine/aside.h"

enum {
    ASIDE_LEFT_MAX = 64, /* children that still exist, of all accounts; then only work for prompt ones begins */
};

/* MS of waiting for ACCOUNT; BUSY: for a child that was running. Returns whether the limit is reached. */
gboolean aside_account_note_waited(uid_t account, guint ms, gboolean busy);

/* Work in time; the account is prompt until work for it is given up. */
void aside_account_note_prompt(uid_t account);

/* Work that was given up. Takes ownership of CHILD, a pidfd; 0: it has ended. */
void aside_account_note_given_up(uid_t account, int child);

/* A child that has answered, but not ended in time. The same. */
void aside_account_note_left(uid_t account, int child);

/* The children that still exist, of all accounts. */
guint aside_children_left(void);

/* Whether work for ACCOUNT is not begun now. LEFT: aside_children_left(). */
gboolean aside_account_is_passed_over(uid_t account, guint left);

AsideManner aside_account_manner(uid_t account);

/* aside_is_delayed_by() of an account. */
gboolean aside_account_delays(uid_t account);

/* How long work for ACCOUNT may wait, in us. SHORT_OF_TIME: because of others. */
gint64 aside_account_patience(uid_t account, gboolean short_of_time);

#endif
