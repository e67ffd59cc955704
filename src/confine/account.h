/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is responsible for what the processes of a user id cost. In a user namespace, a user may have processes of
 * thousands of subordinate ids (subuid(5)): limits and turns for each user count them as that user's own.
 */
#ifndef JESCOPE_CONFINE_ACCOUNT_H
#define JESCOPE_CONFINE_ACCOUNT_H

#include <glib.h>
#include <sys/types.h>

/* The user to whom UID is subordinate, or UID itself. Ids of containers, which are subordinate to root or to the user
 * of a program that runs containers of several owners, count for themselves. Reads /etc/subuid, again after a
 * minute, or later if that takes long. Thread-safe. */
uid_t account_of(uid_t uid);

/* Subordinate ids. */
typedef struct {
    uid_t user;
    guint64 first, end;
} AccountRange;

/* The ranges in TEXT, the content of /etc/subuid, except those of containers and of unknown users, as a GArray of
 * AccountRange. Invalid lines are skipped. */
GArray *account_ranges_parse(const char *text);

/* The user of the first of RANGES that has UID, or UID. */
uid_t account_in(const GArray *ranges, uid_t uid);

#endif
