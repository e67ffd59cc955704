/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/user-times.h"

UserTimes *
user_times_new(void)
{
    return g_hash_table_new(NULL, NULL);
}

gint64
user_times_of(UserTimes *times, uid_t account)
{
    return (gint64)GPOINTER_TO_SIZE(g_hash_table_lookup(times, GUINT_TO_POINTER(account)));
}

void
user_times_add_since(UserTimes *times, uid_t account, gint64 begin_us)
{
    const gint64 us = user_times_of(times, account) + g_get_monotonic_time() - begin_us;
    g_hash_table_insert(times, GUINT_TO_POINTER(account), GSIZE_TO_POINTER((gsize)us));
}
