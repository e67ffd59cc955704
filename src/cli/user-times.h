/* SPDX-License-Identifier: Apache-2.0 */
/* The time that was spent on the processes of each account (confine/account.h). To be used by one thread at a time. */
#ifndef JESCOPE_CLI_USER_TIMES_H
#define JESCOPE_CLI_USER_TIMES_H

#include <glib.h>
#include <sys/types.h>

/* Account -> microseconds; g_hash_table_remove_all() sets all to 0. */
typedef GHashTable UserTimes;

UserTimes *user_times_new(void); /* to be freed with g_hash_table_unref() */

/* The microseconds that were spent on processes of ACCOUNT. */
gint64 user_times_of(UserTimes *times, uid_t account);

/* Adds the time since BEGIN_US (monotonic). */
void user_times_add_since(UserTimes *times, uid_t account, gint64 begin_us);

#endif
