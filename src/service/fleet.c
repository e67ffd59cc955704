/* SPDX-License-Identifier: Apache-2.0 */
#include "service/fleet.h"

#include "confine/keyed-hash.h"
#include "service/series-name.h"

#include "confine/account.h"
#include "target/candidates.h"
#include "target/process-change.h"

#include <errno.h>

/* Remarks are kept in the history as those of the series' user, and any user can start any number of processes of the
 * name. */
enum {
    REMARKS_MAX = 8, /* about processes that are left out, at once */
    REMARK_S = 300,  /* after which there may be one more */
};

struct Fleet {
    char *program;
    char *series;
    GArray *members;      /* of Process */
    GHashTable *left_out; /* set of "PID START" of processes with a remark, or too many for one */
    guint remarks;        /* that there may still be */
    gint64 since_us;      /* monotonic; when a remark was last added to them */
    guint untold;         /* processes since the last remark */
};

Fleet *
fleet_new(const char *program, const char *series)
{
    Fleet *fleet = g_new0(Fleet, 1);
    fleet->program = g_strdup(program);
    fleet->series = g_strdup(series);
    fleet->members = g_array_new(FALSE, FALSE, sizeof(Process));
    fleet->left_out = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    fleet->remarks = REMARKS_MAX;
    fleet->since_us = g_get_monotonic_time();
    return fleet;
}

void
fleet_free(Fleet *fleet)
{
    if (fleet == NULL)
        return;
    g_array_unref(fleet->members);
    g_hash_table_unref(fleet->left_out);
    g_free(fleet->program);
    g_free(fleet->series);
    g_free(fleet);
}

/* Used to bound the set, since any user can start any number of processes of the name. */
static gboolean
has_ended(gpointer key, gpointer value, gpointer data)
{
    char *end;
    const pid_t pid = (pid_t)g_ascii_strtoll(key, &end, 10);
    return !process_alive(pid, g_ascii_strtoull(end, NULL, 10));
}

static void
lose_ended(Fleet *fleet, ScanResult *result)
{
    g_hash_table_foreach_remove(fleet->left_out, has_ended, NULL);
    for (guint i = fleet->members->len; i-- > 0;) {
        const Process *member = &g_array_index(fleet->members, Process, i);
        if (process_alive(member->pid, member->start_time) && process_change_check(member) != EPERM)
            continue;
        scan_result_add_lost(result, member);
        g_array_remove_index(fleet->members, i);
    }
}

/* The index of PROCESS, or -1. */
static gint
find_member(const Fleet *fleet, const Process *process)
{
    for (guint i = 0; i < fleet->members->len; i++) {
        const Process *known = &g_array_index(fleet->members, Process, i);
        if (known->pid == process->pid && known->start_time == process->start_time)
            return (gint)i;
    }
    return -1;
}

static void
join(Fleet *fleet, const Process *process, ScanResult *result)
{
    g_autofree char *address = g_strdup_printf("%d", (int)process->pid);
    g_array_append_val(fleet->members, *process);
    scan_result_add_found(
        result, &(ScanFound){
                    .process = *process, .address = address, .named = TRUE, .series = fleet->series, .numbered = TRUE});
}

static gboolean
may_remark(Fleet *fleet)
{
    const gint64 gained = (g_get_monotonic_time() - fleet->since_us) / (REMARK_S * G_USEC_PER_SEC);
    fleet->since_us += gained * REMARK_S * G_USEC_PER_SEC;
    fleet->remarks = (guint)MIN(fleet->remarks + gained, REMARKS_MAX);
    if (fleet->remarks == 0)
        return FALSE;
    fleet->remarks--;
    return TRUE;
}

static void
remark_left_out(Fleet *fleet, const Process *process, const char *why, ScanResult *result)
{
    if (!may_remark(fleet)) {
        fleet->untold++;
        return;
    }
    g_autofree char *before = fleet->untold > 0 ? g_strdup_printf(", and %u before", fleet->untold) : g_strdup("");
    g_autofree char *text = g_strdup_printf("left out %s (%d)%s: %s", process->name, (int)process->pid, before, why);
    fleet->untold = 0;
    scan_result_add_remark(result, &(ScanRemark){.series = fleet->series, .text = text});
}

void
fleet_leave_out(Fleet *fleet, const Process *process, const char *why, ScanResult *result)
{
    g_autofree char *key = g_strdup_printf("%d %" G_GUINT64_FORMAT, (int)process->pid, process->start_time);
    gint member = find_member(fleet, process);
    if (member >= 0)
        g_array_remove_index(fleet->members, (guint)member);
    if (g_hash_table_add(fleet->left_out, g_steal_pointer(&key)))
        remark_left_out(fleet, process, why, result);
}

guint
fleet_count_left_out(const Fleet *fleet)
{
    return g_hash_table_size(fleet->left_out);
}

/* Limits the processes per user: otherwise one could use up all numbers of the series. */
static gboolean
has_room(const Fleet *fleet, uid_t user)
{
    guint n = 0;
    for (guint i = 0; i < fleet->members->len; i++)
        n += account_of(g_array_index(fleet->members, Process, i).uids[1]) == account_of(user);
    return n < SERIES_NUMBERS_OF_USER;
}

static void
consider(Fleet *fleet, const Candidate *candidate, ScanResult *result)
{
    const Process *process = &candidate->process;
    if (find_member(fleet, process) >= 0)
        return;
    if (candidate->reach == REACH_NO_JEMALLOC)
        fleet_leave_out(fleet, process, "it does not use jemalloc", result);
    else if (candidate->reach == REACH_NOT)
        fleet_leave_out(fleet, process, candidate->obstacle, result);
    else if (has_room(fleet, process->uids[1]))
        join(fleet, process, result);
    else
        fleet_leave_out(fleet, process, "as many processes of its user as can be are followed", result);
}

static gboolean
has(const GPtrArray *candidates, pid_t pid)
{
    for (guint i = 0; i < candidates->len; i++)
        if (((const Candidate *)candidates->pdata[i])->process.pid == pid)
            return TRUE;
    return FALSE;
}

static gint
compare_age(gconstpointer a, gconstpointer b)
{
    const Process *left = &(*(const Candidate *const *)a)->process;
    const Process *right = &(*(const Candidate *const *)b)->process;
    if (left->start_time != right->start_time)
        return left->start_time > right->start_time ? 1 : -1;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

/* Considers candidates, those that were started by another candidate last. */
static void
consider_all(Fleet *fleet, GPtrArray *candidates, ScanResult *result)
{
    g_ptr_array_sort(candidates, compare_age);
    for (guint workers = 0; workers < 2; workers++)
        for (guint i = 0; i < candidates->len; i++) {
            const Candidate *candidate = candidates->pdata[i];
            if (has(candidates, candidate->process.parent) == (workers == 1))
                consider(fleet, candidate, result);
        }
}

void
fleet_look(Fleet *fleet, ScanResult *result)
{
    g_autoptr(GError) error = NULL;
    lose_ended(fleet, result);
    g_autoptr(GPtrArray) candidates = candidates_find(fleet->program, CANDIDATES_JEMALLOC, &error);
    if (candidates != NULL)
        consider_all(fleet, candidates, result);
    if (fleet->members->len > 0)
        return;
    g_autofree char *why = error != NULL ? g_strdup(error->message)
                                         : g_strdup_printf("no process named '%s' can be sampled", fleet->program);
    scan_result_add_remark(result, &(ScanRemark){.series = fleet->series, .text = why, .missing = TRUE});
}
