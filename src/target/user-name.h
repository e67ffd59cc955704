/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of users. The user database may be a directory service that takes its time for each question, above all for ids
 * that it does not know, and others choose how many ids and processes there are: answers are kept, and the time of all
 * questions is bounded.
 */
#ifndef JESCOPE_TARGET_USER_NAME_H
#define JESCOPE_TARGET_USER_NAME_H

#include <glib.h>
#include <sys/types.h>

/* The name of UID in the user database, to be freed. The number, if it has none, is subordinate to a user
 * (confine/account.h), or if questions have taken 5 s in the last minute. Thread-safe. */
char *user_name(uid_t uid);

/* The same for another database. */
typedef struct UserNames UserNames;

/* LOOKUP returns the name of a user, to be freed, or NULL. Questions may take BUDGET_US in a minute. */
UserNames *user_names_new(char *(*lookup)(uid_t uid), gint64 budget_us);
void user_names_free(UserNames *names);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(UserNames, user_names_free)

char *user_names_get(UserNames *names, uid_t uid);

#endif
