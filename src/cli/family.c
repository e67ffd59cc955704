/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/family.h"

#include "target/candidates.h"

enum { ANCESTORS_MAX = 64 };

/* Processes that do not use jemalloc may be missing between two of FOUND. */
static uid_t
user_above(const Process *process, GHashTable *found)
{
    Process at = *process, top = *process;
    for (guint i = 0; i < ANCESTORS_MAX && at.parent > 1; i++) {
        const Candidate *candidate = g_hash_table_lookup(found, GINT_TO_POINTER(at.parent));
        if (!process_look(at.parent, &at))
            break;
        if (candidate != NULL && candidate->process.start_time == at.start_time)
            top = at;
    }
    return process_user(&top);
}

GArray *
families_users(const GPtrArray *found)
{
    GArray *users = g_array_new(FALSE, FALSE, sizeof(uid_t));
    g_autoptr(GHashTable) by_pid = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < found->len; i++) {
        Candidate *candidate = found->pdata[i];
        g_hash_table_insert(by_pid, GINT_TO_POINTER(candidate->process.pid), candidate);
    }
    for (guint i = 0; i < found->len; i++) {
        const uid_t user = user_above(&((const Candidate *)found->pdata[i])->process, by_pid);
        g_array_append_val(users, user);
    }
    return users;
}
