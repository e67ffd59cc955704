/* SPDX-License-Identifier: Apache-2.0 */
#include "target/candidates.h"

#include "confine/aside.h"
#include "target/diagnosis.h"
#include "target/discovery.h"
#include "target/obstacle.h"
#include "target/target.h"
#include "target/user-name.h"
#include "text/printable.h"
#include "text/suggest.h"

#include <string.h>
#include <unistd.h>

enum {
    LISTED_MAX = 16,     /* candidates listed in an error */
    LISTED_COLUMNS = 79, /* per line */
    LISTED_USER = 8,
    PREFIX_MIN = 3,  /* minimum letters of a prefix for a suggestion */
    LOOK_MS = 15000, /* total time for examining processes whose users can delay it, */
    NAME_MS = 6000,  /* and for reading their arguments */
};

void
candidate_free(Candidate *candidate)
{
    if (candidate == NULL)
        return;
    g_free(candidate->socket);
    g_free(candidate->obstacle);
    g_free(candidate);
}

/* Determines how a process without a socket, with OBJECTS, can be reached. */
static Reach
judge(const Process *process, MappedObjects objects, GError **obstacle)
{
    if (objects.jemalloc == JEMALLOC_ABSENT)
        return REACH_NO_JEMALLOC;
    if (objects.jemalloc == JEMALLOC_PRESENT)
        return obstacle_may_attach(process, obstacle) ? REACH_ATTACH : REACH_NOT;
    diagnosis_set_no_agent(process, obstacle);
    return REACH_NOT;
}

static Candidate *
look(const Process *process)
{
    Candidate *candidate = g_new0(Candidate, 1);
    g_autoptr(GError) obstacle = NULL;
    candidate->process = *process;
    candidate->socket = process_is_ours(process) ? discovery_socket(process) : NULL;
    if (candidate->socket == NULL) {
        MappedObjects objects = {.jemalloc = JEMALLOC_HIDDEN};
        if (process_is_ours(process))
            objects = diagnosis_mapped(process);
        candidate->hidden = objects.jemalloc == JEMALLOC_HIDDEN;
        candidate->reach = judge(process, objects, &obstacle);
    }
    candidate->obstacle = obstacle != NULL ? g_strdup(obstacle->message) : NULL;
    return candidate;
}

/* ---- processes whose users can delay their examination ---- */

enum { TEXT_MAX = 4096 };

/* The part of a Candidate that a child process transfers. */
typedef struct {
    gint32 reach, hidden;
    gint32 has_socket, has_obstacle;
    char socket[TEXT_MAX], obstacle[TEXT_MAX];
} Looked;

typedef struct {
    GArray *processes; /* Process */
    GPtrArray *candidates;
} Looks;

static void
look_aside(gpointer data, guint i, gpointer answer)
{
    Looked *looked = answer;
    g_autoptr(Candidate) candidate = look(&g_array_index(((const Looks *)data)->processes, Process, i));
    looked->reach = (gint32)candidate->reach;
    looked->hidden = candidate->hidden;
    looked->has_socket = candidate->socket != NULL;
    looked->has_obstacle = candidate->obstacle != NULL;
    g_strlcpy(looked->socket, candidate->socket != NULL ? candidate->socket : "", TEXT_MAX);
    g_strlcpy(looked->obstacle, candidate->obstacle != NULL ? candidate->obstacle : "", TEXT_MAX);
}

static uid_t
user_of(gconstpointer data, guint i)
{
    return g_array_index(((const Looks *)data)->processes, Process, i).uids[1];
}

static void
take_looked(gpointer data, guint i, gconstpointer answer)
{
    const Looks *looks = data;
    const Looked *looked = answer;
    Candidate *candidate = g_new0(Candidate, 1);
    candidate->process = g_array_index(looks->processes, Process, i);
    g_ptr_array_add(looks->candidates, candidate);
    if (looked != NULL) {
        candidate->reach = (Reach)looked->reach;
        candidate->hidden = looked->hidden;
        candidate->socket = looked->has_socket ? g_strdup(looked->socket) : NULL;
        candidate->obstacle = looked->has_obstacle ? g_strdup(looked->obstacle) : NULL;
        return;
    }
    candidate->reach = REACH_NOT;
    candidate->left_out =
        !aside_is_delayed_by(candidate->process.uids[1]) && (aside_has_ended() || aside_list_has_ended());
    if (candidate->left_out) {
        candidate->obstacle = g_strdup_printf("%s (%d): not examined, since processes of other users took all the time",
                                              candidate->process.name, (int)candidate->process.pid);
        return;
    }
    g_autofree char *user = user_name(candidate->process.uids[1]);
    candidate->obstacle =
        g_strdup_printf("%s (%d): its files (/proc/%d/exe, maps, root) do not answer in time: user %s keeps them on a "
                        "file system that does not, or has processes with too many mappings; end the process, or run "
                        "jescope as that user",
                        candidate->process.name, (int)candidate->process.pid, (int)candidate->process.pid, user);
}

GPtrArray *
candidates_look(const GArray *processes)
{
    GPtrArray *all = g_ptr_array_new_with_free_func((GDestroyNotify)candidate_free);
    g_autoptr(GArray) slow = g_array_new(FALSE, FALSE, sizeof(Process));
    Looks looks = {slow, all};
    for (guint i = 0; i < processes->len; i++) {
        const Process *process = &g_array_index(processes, Process, i);
        if (discovery_may_be_delayed(process) && !aside_is_inside())
            g_array_append_val(slow, *process);
        else
            g_ptr_array_add(all, look(process));
    }
    const AsideList list = {.n = slow->len,
                            .size = sizeof(Looked),
                            .data = &looks,
                            .each = look_aside,
                            .user = user_of,
                            .most_ms = LOOK_MS};
    aside_each(&list, take_looked);
    return all;
}

Candidate *
candidate_new(const Process *process)
{
    g_autoptr(GArray) one = g_array_new(FALSE, FALSE, sizeof(Process));
    g_array_append_val(one, *process);
    g_autoptr(GPtrArray) found = candidates_look(one);
    g_ptr_array_set_free_func(found, NULL);
    return found->pdata[0];
}

/* ---- names ---- */

static gboolean
is_called(char *called, const char *name)
{
    g_autofree char *owned G_GNUC_UNUSED = called;
    return called != NULL && strcmp(called, name) == 0;
}

gboolean
process_goes_by(const Process *process, const char *name)
{
    return process_name_is(process->name, name) || is_called(process_called(process->pid), name) ||
           is_called(process_executable(process->pid), name);
}

static gboolean
is_living(const Process *process)
{
    return !process_has_ended(process);
}

/* Removes the PROCESSES that KEEP rejects, unless it rejects all. */
static void
prefer(GArray *processes, gboolean (*keep)(const Process *process))
{
    g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(Process));
    for (guint i = 0; i < processes->len; i++)
        if (keep(&g_array_index(processes, Process, i)))
            g_array_append_val(kept, g_array_index(processes, Process, i));
    if (kept->len == 0)
        return;
    g_array_set_size(processes, 0);
    g_array_append_vals(processes, kept->data, kept->len);
}

typedef struct {
    GArray *unsure; /* of Process: their users can delay reading their arguments */
    const char *name;
    GArray *named;
    guint unread; /* processes that there was no time for */
} Naming;

static void
name_aside(gpointer data, guint i, gpointer answer)
{
    const Naming *naming = data;
    *(guint64 *)answer = process_goes_by(&g_array_index(naming->unsure, Process, i), naming->name);
}

static uid_t
user_of_unsure(gconstpointer data, guint i)
{
    return g_array_index(((const Naming *)data)->unsure, Process, i).uids[1];
}

/* A process whose arguments cannot be read does not match. */
static void
take_name(gpointer data, guint i, gconstpointer answer)
{
    Naming *naming = data;
    const Process *process = &g_array_index(naming->unsure, Process, i);
    if (answer != NULL && *(const guint64 *)answer != 0)
        g_array_append_val(naming->named, *process);
    naming->unread += answer == NULL && aside_list_has_ended() && !aside_is_delayed_by(process->uids[1]);
}

/* *UNREAD: of how many others the names are not known. */
static GArray *
select_named(const GArray *all, const char *name, guint *unread)
{
    GArray *named = g_array_new(FALSE, FALSE, sizeof(Process));
    g_autoptr(GArray) unsure = g_array_new(FALSE, FALSE, sizeof(Process));
    Naming naming = {.unsure = unsure, .name = name, .named = named};
    for (guint i = 0; i < all->len; i++) {
        const Process *process = &g_array_index(all, Process, i);
        if (process->pid == getpid())
            continue;
        if (discovery_may_be_delayed(process) && !process_name_is(process->name, name))
            g_array_append_val(unsure, *process);
        else if (process_goes_by(process, name))
            g_array_append_val(named, *process);
    }
    const AsideList list = {.n = unsure->len,
                            .size = sizeof(guint64),
                            .data = &naming,
                            .each = name_aside,
                            .user = user_of_unsure,
                            .most_ms = NAME_MS};
    aside_each(&list, take_name);
    prefer(named, is_living);
    prefer(named, process_is_ours);
    *unread = naming.unread;
    return named;
}

/* Adds the children of each, also of those added, in a time that any user's number of processes multiplies only once.
 */
static void
add_descendants(GArray *family, const GArray *all)
{
    g_autoptr(GHashTable) members = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) children = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
    for (guint i = 0; i < family->len; i++)
        g_hash_table_add(members, GINT_TO_POINTER(g_array_index(family, Process, i).pid));
    for (guint i = 0; i < all->len; i++) {
        Process *process = &g_array_index(all, Process, i);
        GPtrArray *siblings = g_hash_table_lookup(children, GINT_TO_POINTER(process->parent));
        if (siblings == NULL) {
            siblings = g_ptr_array_new();
            g_hash_table_insert(children, GINT_TO_POINTER(process->parent), siblings);
        }
        g_ptr_array_add(siblings, process);
    }
    for (guint i = 0; i < family->len; i++) { /* it grows */
        const gpointer parent = GINT_TO_POINTER(g_array_index(family, Process, i).pid);
        const GPtrArray *found = g_hash_table_lookup(children, parent);
        for (guint j = 0; found != NULL && j < found->len; j++) {
            const Process *child = found->pdata[j];
            if (is_living(child) && g_hash_table_add(members, GINT_TO_POINTER(child->pid)))
                g_array_append_vals(family, child, 1);
        }
    }
}

static void
keep_jemalloc(GPtrArray *candidates)
{
    guint with = 0;
    for (guint i = 0; i < candidates->len; i++)
        with += ((const Candidate *)candidates->pdata[i])->reach != REACH_NO_JEMALLOC;
    for (guint i = candidates->len; with > 0 && i-- > 0;)
        if (((const Candidate *)candidates->pdata[i])->reach == REACH_NO_JEMALLOC)
            g_ptr_array_remove_index(candidates, i);
}

static gint
compare_pids(gconstpointer a, gconstpointer b)
{
    const Candidate *left = *(const Candidate *const *)a;
    const Candidate *right = *(const Candidate *const *)b;
    return (left->process.pid > right->process.pid) - (left->process.pid < right->process.pid);
}

static GPtrArray *
look_at(const GArray *processes, CandidatesFlags flags)
{
    GPtrArray *candidates = candidates_look(processes);
    g_ptr_array_sort(candidates, compare_pids);
    if ((flags & CANDIDATES_JEMALLOC) != 0)
        keep_jemalloc(candidates);
    return candidates;
}

/* The name in ALL that the user may have meant with NAME: one that begins with NAME, contains it, or is similar. */
static const char *
near_name(const GArray *all, const char *name)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; i < all->len; i++) {
        const Process *process = &g_array_index(all, Process, i);
        if (process->pid == getpid() || !is_living(process) || !process_is_ours(process))
            continue;
        if (strlen(name) >= PREFIX_MIN && strstr(process->name, name) != NULL)
            return process->name;
        g_ptr_array_add(names, (gpointer)(guintptr)process->name);
    }
    g_ptr_array_add(names, NULL);
    return suggest(name, (const char *const *)(void *)names->pdata);
}

static void
set_none(const GArray *all, const char *name, GError **error)
{
    const char *meant = near_name(all, name);
    if (meant != NULL)
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_PROCESS, "no process is named '%s'; did you mean '%s'?", name,
                    meant);
    else
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_PROCESS,
                    "no process is named '%s'; 'jescope ps' lists those that use jemalloc", name);
}

/* One of them may be the one that is meant, and what was found another user's. */
static void
set_unread(guint n, const char *name, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_AMBIGUOUS,
                "which process is named '%s' cannot be said: processes of other users took all the time, and the names "
                "of %u were not read; give a pid",
                name, n);
}

static GArray *
find_pid(const char *text, GError **error)
{
    pid_t pid;
    guint64 start;
    Process process;
    GArray *found = g_array_new(FALSE, FALSE, sizeof(Process));
    if (process_operand_parse(text, &pid, &start) && process_read(pid, &process) &&
        (start == 0 || process.start_time == start))
        return g_array_append_val(found, process);
    g_array_unref(found);
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_PROCESS,
                "no process with pid %s; 'jescope ps' lists those that use jemalloc", text);
    return NULL;
}

GPtrArray *
candidates_find_among(const GArray *all, const ProcessListGaps *gaps, const char *name, CandidatesFlags flags,
                      GError **error)
{
    const gboolean pid = process_operand_is_number(name);
    guint unread = 0;
    g_autoptr(GArray) found = pid ? find_pid(name, error) : select_named(all, name, &unread);
    if (found == NULL)
        return NULL;
    unread += pid ? 0 : gaps->unread;
    if (unread > 0 && (found->len == 0 || (flags & CANDIDATES_FAMILY) == 0)) {
        set_unread(unread, name, error);
        return NULL;
    }
    if (found->len == 0) {
        set_none(all, name, error);
        return NULL;
    }
    if ((flags & CANDIDATES_FAMILY) != 0)
        add_descendants(found, all);
    return look_at(found, flags);
}

GPtrArray *
candidates_find(const char *name, CandidatesFlags flags, GError **error)
{
    const gboolean alone = process_operand_is_number(name) && (flags & CANDIDATES_FAMILY) == 0;
    ProcessListGaps gaps = {0};
    g_autoptr(GArray) all = alone ? NULL : process_list(&gaps);
    return candidates_find_among(all, &gaps, name, flags, error);
}

static void
append_listed(GString *list, const Candidate *candidate)
{
    static const char *const words[] = {[REACH_AGENT] = "agent",
                                        [REACH_ATTACH] = "attach",
                                        [REACH_NOT] = "unreachable",
                                        [REACH_NO_JEMALLOC] = "no jemalloc"};
    const Process *process = &candidate->process;
    g_autofree char *user = user_name(process->uids[1]);
    g_autofree char *user_field = text_field(user, LISTED_USER);
    g_autofree char *arguments = process_arguments(process->pid);
    g_autofree char *line = g_strdup_printf("%7d %s %7d %6.0f MiB %-11s %s", (int)process->pid, user_field,
                                            (int)process->parent, (double)process_rss(process->pid) / (1 << 20),
                                            words[candidate->reach], arguments[0] != '\0' ? arguments : process->name);
    g_autofree char *cut = text_cut(line, LISTED_COLUMNS);
    g_string_append_printf(list, "\n%s", cut);
}

static void
set_ambiguous(const GPtrArray *all, const char *name, GError **error)
{
    g_autoptr(GString) list = g_string_new("\n    PID USER      PARENT        RSS REACH       COMMAND");
    for (guint i = 0; i < all->len && i < LISTED_MAX; i++)
        append_listed(list, all->pdata[i]);
    if (all->len > LISTED_MAX)
        g_string_append_printf(list, "\n        and %u more", all->len - LISTED_MAX);
    g_set_error(error, TARGET_ERROR, OUTCOME_AMBIGUOUS, "%u processes are named '%s'; give one of these pids:%s",
                all->len, name, list->str);
}

const Candidate *
candidates_choose(const GPtrArray *all, const char *name, GError **error)
{
    const Candidate *first = all->pdata[0];
    const Candidate *chosen = first;
    guint using = 0;
    gboolean one_user = TRUE;
    for (guint i = 0; i < all->len; i++) {
        const Candidate *candidate = all->pdata[i];
        one_user = one_user && candidate->process.uids[1] == first->process.uids[1];
        if (candidate->reach == REACH_NO_JEMALLOC)
            continue;
        chosen = candidate;
        using ++;
    }
    if (all->len == 1 || (using == 1 && one_user))
        return chosen;
    set_ambiguous(all, name, error);
    return NULL;
}
