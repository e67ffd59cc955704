/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/family.h"

#include "target/candidates.h"

enum { ANCESTORS_MAX = 64 };

static const uid_t SEVERAL = (uid_t)-1;

/* Processes that do not use jemalloc may be missing between two of FOUND. A parent that is there but not in the list,
 * which took too long to read, is of another user; one that is not has ended since. */
static uid_t
user_above(const Process *process, GHashTable *found, GHashTable *all)
{
    const Process *at = process, *top = process;
    for (guint i = 0; i < ANCESTORS_MAX && at->parent > 1; i++) {
        const Process *parent = g_hash_table_lookup(all, GINT_TO_POINTER(at->parent));
        if (parent == NULL && process_start_time(at->parent) != 0)
            return SEVERAL;
        if (parent == NULL)
            break;
        at = parent;
        const Process *same = g_hash_table_lookup(found, GINT_TO_POINTER(at->pid));
        if (same != NULL && same->start_time == at->start_time)
            top = at;
    }
    return process_user(top);
}

GArray *
families_users(const GPtrArray *found, const GArray *all)
{
    GArray *users = g_array_new(FALSE, FALSE, sizeof(uid_t));
    g_autoptr(GHashTable) found_by_pid = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) all_by_pid = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < found->len; i++) {
        Process *process = &((Candidate *)found->pdata[i])->process;
        g_hash_table_insert(found_by_pid, GINT_TO_POINTER(process->pid), process);
    }
    for (guint i = 0; i < all->len; i++) {
        Process *process = &g_array_index(all, Process, i);
        g_hash_table_insert(all_by_pid, GINT_TO_POINTER(process->pid), process);
    }
    for (guint i = 0; i < found->len; i++) {
        const uid_t user = user_above(&((const Candidate *)found->pdata[i])->process, found_by_pid, all_by_pid);
        g_array_append_val(users, user);
    }
    return users;
}
