/* SPDX-License-Identifier: Apache-2.0 */
#include "service/series-name.h"

typedef struct {
    SharedHistory *history;
    GHashTable *taken;
    const ScanFound *found;
} Choice;

/* The user who may see the samples; (uid_t)-1 for a process with differing ids (a file server that has taken on the id
 * of a user does not belong to him), or one whose memory the kernel keeps from its user. */
static uid_t
user_of(const Choice *choice)
{
    return process_viewer(&choice->found->process);
}

/* Sets *GRANTED as history_claim(); FALSE with ERROR if unknown. */
static gboolean
claim(const Choice *choice, const char *series, gboolean *granted, GError **error)
{
    const HistoryOwner owner = {.user = user_of(choice), .unit = choice->found->identity->unit};
    g_autoptr(HistoryHold) hold = shared_history_hold(choice->history);
    return history_claim(hold->history, series, &owner, granted, error);
}

/* Sets *IS_FREE; FALSE with ERROR if unknown. */
static gboolean
is_free(const Choice *choice, const char *series, gboolean *free, GError **error)
{
    *free = FALSE;
    return g_hash_table_contains(choice->taken, series) || claim(choice, series, free, error);
}

/* The operator decides that the process is in this series, even if it belongs to another user. A series without an
 * owner is claimed: those share the space of one user with the series of logs. */
static char *
choose_given(const Choice *choice)
{
    gboolean granted;
    claim(choice, choice->found->series, &granted, NULL);
    return g_strdup(choice->found->series);
}

static char *
name_of_user(const Choice *choice)
{
    const Process *process = &choice->found->process;
    return user_of(choice) != (uid_t)-1
               ? g_strdup_printf("%s.uid%u", process->name, user_of(choice))
               : g_strdup_printf("%s.uid%u-%u", process->name, process->uids[0], process->uids[1]);
}

static char *
choose_unnamed(const Choice *choice)
{
    const char *name = choice->found->process.name;
    const Identity *identity = choice->found->identity;
    int pid = (int)choice->found->process.pid;
    gboolean free;
    g_auto(GStrv) names = g_new0(char *, 4);
    names[0] = g_strdup(name);
    names[1] = identity->unit[0] != '\0' ? g_strdup_printf("%s.%s", name, identity->unit) : name_of_user(choice);
    names[2] = g_strdup_printf("%s-%d", name, pid);
    gboolean namesake = g_hash_table_contains(choice->taken, name);
    for (guint i = namesake ? 2 : 0; names[i] != NULL; i++)
        if (is_free(choice, names[i], &free, NULL) && free)
            return g_strdup(names[i]);
    return g_strdup_printf("%s-%d.%" G_GUINT64_FORMAT, name, pid, choice->found->process.start_time);
}

/* The series with samples of this process; NULL without an error if there is none. */
static char *
find_earlier(const Choice *choice, GError **error)
{
    char *series = NULL;
    HistoryLife life = {
        .target = choice->found->series,
        .source = HISTORY_SOURCE_LIVE,
        .pid = choice->found->process.pid,
        .start_ticks = choice->found->process.start_time,
        .boot = shared_history_boot(choice->history),
    };
    g_autoptr(HistoryHold) hold = shared_history_hold(choice->history);
    if (!history_find_series(hold->history, &life, &series, error))
        return NULL;
    if (series != NULL && g_hash_table_contains(choice->taken, series))
        g_clear_pointer(&series, g_free);
    return series;
}

static char *
choose_numbered(const Choice *choice, GError **error)
{
    const char *name = choice->found->series;
    for (guint number = 1; number <= SERIES_NUMBERS_MAX; number++) {
        gboolean free;
        g_autofree char *series = number == 1 ? g_strdup(name) : g_strdup_printf("%s/%u", name, number);
        if (!is_free(choice, series, &free, error))
            return NULL;
        if (free)
            return g_steal_pointer(&series);
    }
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FULL, "%u series of '%s' are in use; this process is left out",
                (guint)SERIES_NUMBERS_MAX, name);
    return NULL;
}

char *
series_name_choose(SharedHistory *history, GHashTable *taken, const ScanFound *found, GError **error)
{
    const Choice choice = {.history = history, .taken = taken, .found = found};
    GError *cause = NULL;
    if (found->series == NULL)
        return choose_unnamed(&choice);
    if (!found->numbered)
        return choose_given(&choice);
    char *earlier = find_earlier(&choice, &cause);
    if (earlier != NULL)
        return earlier;
    if (cause != NULL) {
        g_propagate_error(error, cause);
        return NULL;
    }
    return choose_numbered(&choice, error);
}
