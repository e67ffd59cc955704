/* SPDX-License-Identifier: Apache-2.0 */
#include "service/scan.h"

#include "service/fleet.h"

#include "confine/account.h"
#include "confine/aside.h"
#include "target/candidates.h"
#include "target/discovery.h"
#include "target/open.h"
#include "target/target.h"
#include "target/user-name.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    REST_MAX = 16, /* maximum number of scans until a process is examined again */
    IMAGE_MAX = 64,
    ADDRESS_MAX = 8 << 10,
    LOOK_MS = 9000, /* total time of a scan for targets whose users can delay it, and the same for other processes */
};

/* A process that was examined. */
typedef struct {
    Process process;
    char *image;   /* read_image() */
    char *address; /* NULL: not a target */
    guint looks;   /* number of scans that it was in */
    guint scan;    /* the last scan that it was in */
    gboolean same; /* for a target, the result of look_at_targets() */
} Seen;

/* A target named by the options. */
typedef struct {
    char *name;
    gboolean found; /* PROCESS is valid */
    gboolean over;  /* it is a pid, whose process has exited */
    Process process;
    char *image;        /* read_image() of it */
    Identity *identity; /* identity of the first process found; NULL: none */
    char *trouble;      /* the last message reported */

    /* The following are for sources. */
    char *series;  /* NULL: not from a source */
    char *program; /* name of the next process to use when the pid's has exited */
    Fleet *fleet;  /* all processes of the name; NULL: a single one */
} Named;

struct Scanner {
    GPtrArray *named; /* of Named */
    gboolean discovers;
    GHashTable *seen; /* pid -> Seen */
    guint scan;
    guint per_user;          /* targets */
    GHashTable *counts;      /* account -> number of targets in this scan */
    GHashTable *crowded;     /* set of uids with too many targets that were reported */
    const ServiceRoot *root; /* NULL: scan in this process */
    gpointer remote;         /* root's scanner; NULL: not created yet, or ended */
};

static void
free_seen(gpointer data)
{
    Seen *seen = data;
    g_free(seen->image);
    g_free(seen->address);
    g_free(seen);
}

static void
free_named(gpointer data)
{
    Named *named = data;
    g_free(named->name);
    g_free(named->image);
    g_free(named->trouble);
    identity_free(named->identity);
    g_free(named->series);
    g_free(named->program);
    fleet_free(named->fleet);
    g_free(named);
}

Scanner *
scanner_new(const char *const *names, guint per_user)
{
    Scanner *scanner = g_new0(Scanner, 1);
    scanner->per_user = per_user;
    scanner->counts = g_hash_table_new(NULL, NULL);
    scanner->crowded = g_hash_table_new(NULL, NULL);
    scanner->named = g_ptr_array_new_with_free_func(free_named);
    scanner->seen = g_hash_table_new_full(NULL, NULL, NULL, free_seen);
    for (; names != NULL && *names != NULL; names++) {
        Named *named = g_new0(Named, 1);
        named->name = g_strdup(*names);
        g_ptr_array_add(scanner->named, named);
    }
    scanner->discovers = scanner->named->len == 0;
    return scanner;
}

Scanner *
scanner_new_of(const ServiceSource *sources, guint n)
{
    Scanner *scanner = scanner_new(NULL, 0);
    scanner->discovers = FALSE;
    for (guint i = 0; i < n; i++) {
        if (sources[i].kind == SERVICE_SOURCE_LOG)
            continue;
        Named *named = g_new0(Named, 1);
        named->name = g_strdup(sources[i].name);
        named->series = g_strdup(sources[i].series);
        named->program = g_strdup(sources[i].program);
        if (sources[i].kind == SERVICE_SOURCE_PROCESSES)
            named->fleet = fleet_new(sources[i].name, sources[i].series);
        g_ptr_array_add(scanner->named, named);
    }
    return scanner;
}

Scanner *
scanner_new_at(const ServiceRoot *root, guint per_user)
{
    Scanner *scanner = scanner_new(NULL, per_user);
    scanner->root = root;
    return scanner;
}

void
scanner_free(Scanner *scanner)
{
    if (scanner == NULL)
        return;
    if (scanner->remote != NULL)
        scanner->root->scanner_free(scanner->remote);
    g_ptr_array_unref(scanner->named);
    g_hash_table_unref(scanner->seen);
    g_hash_table_unref(scanner->counts);
    g_hash_table_unref(scanner->crowded);
    g_free(scanner);
}

/* Identifies the program of a process, and who may read its memory: changes with exec, but not when its file is
 * replaced. NULL: unknown. */
static char *
read_image(pid_t pid)
{
    struct stat file;
    Process process;
    g_autofree char *link = g_strdup_printf("/proc/%d/exe", (int)process_thread(pid));
    if (stat(link, &file) != 0 || !process_look(pid, &process))
        return NULL;
    return g_strdup_printf("%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT "%s", (guint64)file.st_dev, (guint64)file.st_ino,
                           process.closed ? ":closed" : "");
}

/* ---- discovery ---- */

static gboolean
has_its_socket_and_image(const Seen *seen)
{
    if (access(seen->address, F_OK) != 0)
        return FALSE;
    g_autofree char *image = read_image(seen->process.pid);
    return g_strcmp0(image, seen->image) == 0;
}

/* A target remains one while its process, its program and its agent's socket are the same. */
static gboolean
is_still_target(const Seen *seen)
{
    return process_alive(seen->process.pid, seen->process.start_time) && seen->same;
}

static void
look_aside(gpointer seen, guint i, gpointer answer)
{
    *(guint64 *)answer = has_its_socket_and_image(((const GPtrArray *)seen)->pdata[i]);
}

static uid_t
user_of_seen(gconstpointer seen, guint i)
{
    return ((const Seen *)((const GPtrArray *)seen)->pdata[i])->process.uids[1];
}

/* Takes the result of a look; a process whose user delays the look counts as unchanged. */
static void
take_look(gpointer seen, guint i, gconstpointer answer)
{
    ((Seen *)((const GPtrArray *)seen)->pdata[i])->same = answer == NULL || *(const guint64 *)answer != 0;
}

static void
look_at_targets(Scanner *scanner)
{
    g_autoptr(GPtrArray) delayed = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, scanner->seen);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Seen *seen = value;
        if (seen->address == NULL)
            continue;
        if (discovery_may_be_delayed(&seen->process))
            g_ptr_array_add(delayed, seen);
        else
            seen->same = has_its_socket_and_image(seen);
    }
    const AsideList list = {.n = delayed->len,
                            .size = sizeof(guint64),
                            .data = delayed,
                            .each = look_aside,
                            .user = user_of_seen,
                            .most_ms = LOOK_MS};
    aside_each(&list, take_look);
}

/* Whether to examine the process at this scan: the 1st, 2nd, 4th, 8th, 16th, 32nd, 48th... */
static gboolean
is_due(guint looks)
{
    return looks % REST_MAX == 0 || (looks & (looks - 1)) == 0;
}

static gboolean
is_hinted(const GArray *hints, pid_t pid)
{
    for (guint i = 0; hints != NULL && i < hints->len; i++)
        if (g_array_index(hints, pid_t, i) == pid)
            return TRUE;
    return FALSE;
}

/* ---- limits per user ---- */

static guint
count_of(const Scanner *scanner, uid_t user)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(scanner->counts, GUINT_TO_POINTER(account_of(user))));
}

static void
count_one(Scanner *scanner, uid_t user)
{
    g_hash_table_insert(scanner->counts, GUINT_TO_POINTER(account_of(user)),
                        GUINT_TO_POINTER(count_of(scanner, user) + 1));
}

static void
count_known(Scanner *scanner)
{
    GHashTableIter iter;
    gpointer value;
    g_hash_table_remove_all(scanner->counts);
    g_hash_table_iter_init(&iter, scanner->seen);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        if (((const Seen *)value)->address != NULL)
            count_one(scanner, ((const Seen *)value)->process.uids[1]);
}

/* Limits targets per user, since each uses descriptors, memory and rows. Ignored ones are examined again like other
 * processes. */
static gboolean
has_room(Scanner *scanner, uid_t user, ScanResult *result)
{
    if (count_of(scanner, user) < scanner->per_user)
        return TRUE;
    if (g_hash_table_add(scanner->crowded, GUINT_TO_POINTER(account_of(user))) && result->trouble == NULL)
        result->trouble = g_strdup_printf("user %u has more than %u processes with an agent; the others are ignored",
                                          user, scanner->per_user);
    return FALSE;
}

/* ---- examination ---- */

typedef struct {
    Scanner *scanner;
    GArray *due; /* of Process: those to be examined in this scan */
    ScanResult *result;
} Examination;

/* What is found out about a process, in a child if its user can delay it. */
typedef struct {
    Process process; /* with its whole name */
    char image[IMAGE_MAX];
    char address[ADDRESS_MAX]; /* "": not a target */
} Examined;

static void
examine(const Process *process, Examined *examined)
{
    examined->process = *process;
    if (!process_read_again(&examined->process))
        return;
    g_autofree char *address = discovery_socket(&examined->process);
    g_autofree char *image = address != NULL ? read_image(process->pid) : NULL;
    g_strlcpy(examined->address, address != NULL ? address : "", ADDRESS_MAX);
    g_strlcpy(examined->image, image != NULL ? image : "", IMAGE_MAX);
}

static void
note_examined(const Examination *examination, const Examined *examined)
{
    Scanner *scanner = examination->scanner;
    Seen *seen = g_hash_table_lookup(scanner->seen, GINT_TO_POINTER(examined->process.pid));
    const uid_t user = examined->process.uids[1];
    seen->process = examined->process;
    if (examined->address[0] == '\0' || !has_room(scanner, user, examination->result))
        return;
    count_one(scanner, user);
    seen->address = g_strdup(examined->address);
    seen->image = examined->image[0] != '\0' ? g_strdup(examined->image) : NULL;
    scan_result_add_found(examination->result, &(ScanFound){.process = seen->process, .address = seen->address});
}

static const Process *
due_at(const Examination *examination, guint i)
{
    return &g_array_index(examination->due, Process, i);
}

static void
examine_aside(gpointer data, guint i, gpointer answer)
{
    examine(due_at(data, i), answer);
}

static uid_t
user_of_due(gconstpointer data, guint i)
{
    return due_at(data, i)->uids[1];
}

/* What there was no time for is new to the next scan. */
static void
take_examined(gpointer data, guint i, gconstpointer answer)
{
    const Examination *examination = data;
    const Process *process = due_at(examination, i);
    if (answer != NULL)
        note_examined(examination, answer);
    else if (aside_list_has_ended() && aside_manner(process->uids[1]) != ASIDE_SLOW)
        g_hash_table_remove(examination->scanner->seen, GINT_TO_POINTER(process->pid));
}

/* All at once, since any user may have thousands of user ids, each of which may delay its first process. */
static void
examine_due(Scanner *scanner, GArray *due, ScanResult *result)
{
    Examination examination = {scanner, due, result};
    const AsideList list = {.n = due->len,
                            .size = sizeof(Examined),
                            .data = &examination,
                            .each = examine_aside,
                            .user = user_of_due,
                            .most_ms = LOOK_MS};
    aside_each(&list, take_examined);
}

/* Examines a process now if its user cannot delay it, else with the others. */
static void
begin_examination(Scanner *scanner, const Process *process, GArray *due, ScanResult *result)
{
    const Examination examination = {scanner, due, result};
    if (!process_is_ours(process) || process_has_ended(process))
        return;
    if (discovery_may_be_delayed(process)) {
        g_array_append_vals(due, process, 1);
        return;
    }
    g_autofree Examined *examined = g_new0(Examined, 1);
    examine(process, examined);
    note_examined(&examination, examined);
}

/* The pids to be looked at in this scan. */
typedef struct {
    GArray *first; /* of pid_t: of processes that are new, or were targets */
    GArray *again;
} Pids;

static void
look_at(Scanner *scanner, pid_t pid, gboolean hinted, const Pids *pids, ScanResult *result)
{
    Seen *seen = g_hash_table_lookup(scanner->seen, GINT_TO_POINTER(pid));
    if (seen != NULL && seen->address != NULL) {
        if (is_still_target(seen)) {
            seen->scan = scanner->scan;
            return;
        }
        scan_result_add_lost(result, &seen->process);
        g_clear_pointer(&seen->address, g_free);
        seen->looks = 0;
    }
    const gboolean known = seen != NULL && seen->looks > 0;
    if (known && !hinted && !is_due(seen->looks + 1) && process_start_time(pid) == seen->process.start_time) {
        seen->looks++;
        seen->scan = scanner->scan;
        return;
    }
    g_array_append_val(known && !hinted ? pids->again : pids->first, pid);
}

/* Remembers PROCESS, which is to be examined. */
static void
note_look(Scanner *scanner, const Process *process)
{
    const gpointer pid = GINT_TO_POINTER(process->pid);
    const Seen *before = g_hash_table_lookup(scanner->seen, pid);
    const gboolean same = before != NULL && before->process.start_time == process->start_time;
    Seen *seen = g_new0(Seen, 1);
    seen->process = *process;
    seen->looks = same ? before->looks + 1 : 1;
    seen->scan = scanner->scan;
    g_hash_table_replace(scanner->seen, pid, seen);
}

/* What there is no time for is not seen in this scan, and so new to the next one. */
static void
look_at_all(Scanner *scanner, const Pids *pids, GArray *due, ScanResult *result)
{
    g_array_append_vals(pids->first, pids->again->data, pids->again->len);
    g_autoptr(GArray) processes = process_look_each(pids->first, NULL);
    for (guint i = 0; i < processes->len; i++) {
        const Process *process = &g_array_index(processes, Process, i);
        note_look(scanner, process);
        begin_examination(scanner, process, due, result);
    }
}

static void
forget_ended(Scanner *scanner, ScanResult *result)
{
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, scanner->seen);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Seen *seen = value;
        /* A target may be missing from a list that could not be read. */
        if (seen->scan == scanner->scan || (seen->address != NULL && is_still_target(seen)))
            continue;
        if (seen->address != NULL)
            scan_result_add_lost(result, &seen->process);
        g_hash_table_iter_remove(&iter);
    }
}

static int
compare_found(gconstpointer a, gconstpointer b)
{
    pid_t left = ((const ScanFound *)a)->process.pid, right = ((const ScanFound *)b)->process.pid;
    return (left > right) - (left < right);
}

static void
discover(Scanner *scanner, const GArray *hints, ScanResult *result)
{
    g_autoptr(GDir) proc = g_dir_open("/proc", 0, NULL);
    g_autoptr(GArray) due = g_array_new(FALSE, FALSE, sizeof(Process));
    g_autoptr(GArray) first = g_array_new(FALSE, FALSE, sizeof(pid_t));
    g_autoptr(GArray) again = g_array_new(FALSE, FALSE, sizeof(pid_t));
    const Pids pids = {first, again};
    const char *name;
    count_known(scanner);
    look_at_targets(scanner);
    while (proc != NULL && (name = g_dir_read_name(proc)) != NULL) {
        pid_t pid = g_ascii_isdigit(name[0]) ? (pid_t)atoi(name) : 0;
        if (pid > 0 && pid != getpid())
            look_at(scanner, pid, is_hinted(hints, pid), &pids, result);
    }
    look_at_all(scanner, &pids, due, result);
    examine_due(scanner, due, result);
    forget_ended(scanner, result);
    g_array_sort(result->found, compare_found);
}

/* ---- named targets ---- */

static gboolean
is_pid(const char *name)
{
    return strspn(name, "0123456789") == strlen(name);
}

/* Finds the process that answers at unix:PATH. */
static gboolean
find_behind_socket(const char *name, Process *process, GError **error)
{
    g_autoptr(Target) target = target_open(name, error);
    if (target == NULL)
        return FALSE;
    if (process_read(target_pid(target), process))
        return target_check_unchanged(target, error);
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_PROCESS,
                "the process at '%s' is not visible in this pid namespace; run jescope in the process's", name);
    return FALSE;
}

/* The processes of ALL that are restarts of the process with IDENTITY. */
static GPtrArray *
keep_successors(GPtrArray *all, const Identity *identity)
{
    GPtrArray *kept = g_ptr_array_new();
    for (guint i = 0; i < all->len; i++) {
        Candidate *candidate = all->pdata[i];
        g_autoptr(Identity) own = identity_new(&candidate->process);
        if (identity_continues(identity, own))
            g_ptr_array_add(kept, candidate);
    }
    return kept;
}

/* Once resolved, a name stays with the successors of its process, even if others have the name. */
static gboolean
find_successor(const Named *named, Process *process, GError **error)
{
    const char *name = named->program != NULL ? named->program : named->name;
    g_autoptr(GPtrArray) all = candidates_find(name, CANDIDATES_NAMED, error);
    if (all == NULL)
        return FALSE;
    g_autoptr(GPtrArray) successors = keep_successors(all, named->identity);
    if (successors->len == 0) {
        g_autofree char *user = user_name(named->identity->user);
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_PROCESS,
                    "'%s' is now the name of another service; the earlier one was %s, of user %s%s%s; if this is "
                    "intended, give a pid, or restart jescope",
                    name, named->identity->program, user, named->identity->unit[0] != '\0' ? ", in " : "",
                    named->identity->unit);
        return FALSE;
    }
    const Candidate *chosen = candidates_choose(successors, name, error);
    if (chosen == NULL)
        return FALSE;
    *process = chosen->process;
    return TRUE;
}

static char *
address_of_pid(const Process *process)
{
    return g_strdup_printf("%d", (int)process->pid);
}

/* Finds the process that NAME denotes. Returns the address for target_open(). */
static char *
find_by_name(const Named *named, Process *process, GError **error)
{
    if (strchr(named->name, ':') != NULL)
        return find_behind_socket(named->name, process, error) ? g_strdup(named->name) : NULL;
    return open_find_process(named->name, process, error) ? address_of_pid(process) : NULL;
}

/* Whether PROCESS has the source's name, and the identity of the process that was found first, if any. */
static gboolean
is_of_source(const Named *named, const Process *process)
{
    g_autoptr(Identity) own = identity_new(process);
    return strcmp(process->name, named->program) == 0 &&
           (named->identity == NULL || identity_continues(named->identity, own));
}

/* A pid or socket is eventually reused by another program, and any user may start one of the name. */
static char *
find_of_source(const Named *named, Process *process, GError **error)
{
    g_autofree char *address = find_by_name(named, process, NULL);
    if (address != NULL && is_of_source(named, process))
        return g_steal_pointer(&address);
    const gboolean found = named->identity != NULL ? find_successor(named, process, error)
                                                   : open_find_process(named->program, process, error);
    return found ? address_of_pid(process) : NULL;
}

static char *
find_named(const Named *named, Process *process, GError **error)
{
    if (named->program != NULL)
        return find_of_source(named, process, error);
    if (named->identity != NULL && !is_pid(named->name) && strchr(named->name, ':') == NULL)
        return find_successor(named, process, error) ? address_of_pid(process) : NULL;
    return find_by_name(named, process, error);
}

static void
tell_trouble(Named *named, const GError *error, ScanResult *result)
{
    if (named->series != NULL) {
        scan_result_add_remark(result, &(ScanRemark){.series = named->series, .text = error->message, .missing = TRUE});
        return;
    }
    if (g_strcmp0(named->trouble, error->message) == 0)
        return;
    g_free(named->trouble);
    named->trouble = g_strdup(error->message);
    g_free(result->trouble);
    result->trouble = g_strdup(error->message);
}

/* A process that has executed another program has a different name and jemalloc: searches again. */
static void
check_found(Named *named, ScanResult *result)
{
    gboolean alive = process_alive(named->process.pid, named->process.start_time);
    g_autofree char *image = alive ? read_image(named->process.pid) : NULL;
    if (alive && g_strcmp0(image, named->image) == 0)
        return;
    scan_result_add_lost(result, &named->process);
    named->found = FALSE;
    named->over = !alive && is_pid(named->name) && named->program == NULL;
}

static void
look_for(Named *named, ScanResult *result)
{
    g_autoptr(GError) error = NULL;
    if (named->found)
        check_found(named, result);
    if (named->found || named->over)
        return;
    g_autofree char *address = find_named(named, &named->process, &error);
    if (address == NULL) {
        tell_trouble(named, error, result);
        return;
    }
    named->found = TRUE;
    g_free(named->image);
    named->image = read_image(named->process.pid);
    if (named->identity == NULL)
        named->identity = identity_new(&named->process);
    g_clear_pointer(&named->trouble, g_free);
    scan_result_add_found(
        result, &(ScanFound){.process = named->process, .address = address, .named = TRUE, .series = named->series});
}

static void
look_at_name(Named *named, ScanResult *result)
{
    if (named->fleet != NULL)
        fleet_look(named->fleet, result);
    else
        look_for(named, result);
}

void
scanner_leave_out(Scanner *scanner, const ScanFound *found, const char *why, ScanResult *result)
{
    for (guint i = 0; i < scanner->named->len; i++) {
        const Named *named = scanner->named->pdata[i];
        if (named->fleet != NULL && strcmp(named->series, found->series) == 0)
            fleet_leave_out(named->fleet, &found->process, why, result);
    }
}

/* Without an answer, assumes that nothing has changed. */
static ScanResult *
scan_remotely(Scanner *scanner, const GArray *hints)
{
    if (scanner->remote == NULL)
        scanner->remote = scanner->root->scanner_new(scanner->per_user);
    ScanResult *result = scanner->remote != NULL ? scanner->root->scan(scanner->remote, hints) : NULL;
    return result != NULL ? result : scan_result_new();
}

ScanResult *
scanner_run(Scanner *scanner, const GArray *hints)
{
    if (scanner->root != NULL)
        return scan_remotely(scanner, hints);
    ScanResult *result = scan_result_new();
    scanner->scan++;
    if (scanner->discovers)
        discover(scanner, hints, result);
    for (guint i = 0; i < scanner->named->len; i++)
        look_at_name(scanner->named->pdata[i], result);
    return result;
}
