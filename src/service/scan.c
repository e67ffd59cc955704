/* SPDX-License-Identifier: Apache-2.0 */
#include "service/scan.h"

#include "service/fleet.h"

#include "confine/aside.h"
#include "target/candidates.h"
#include "target/discovery.h"
#include "target/open.h"
#include "target/target.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    REST_MAX = 16, /* maximum number of scans until a process is examined again */
    IMAGE_MAX = 64,
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
    GHashTable *counts;      /* uid -> number of targets in this scan */
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

/* Identifies the program of a process: changes with exec, but not when its file is replaced. NULL: unknown. */
static char *
read_image(pid_t pid)
{
    struct stat file;
    g_autofree char *link = g_strdup_printf("/proc/%d/exe", (int)pid);
    if (stat(link, &file) != 0)
        return NULL;
    return g_strdup_printf("%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT, (guint64)file.st_dev, (guint64)file.st_ino);
}

/* ---- discovery ---- */

static void
read_image_aside(gpointer process, ChannelMessage *answer)
{
    g_autofree char *image = read_image(((const Process *)process)->pid);
    g_strlcpy(answer->bytes, image != NULL ? image : "", IMAGE_MAX);
}

static char *
look_at_image(Process *process)
{
    char image[IMAGE_MAX] = "";
    ChannelMessage answer = {.bytes = image, .size = sizeof(image)};
    if (!discovery_may_be_delayed(process))
        return read_image(process->pid);
    if (aside_run(read_image_aside, process, process->uids[1], &answer) != ASIDE_DONE)
        return NULL;
    channel_close_fds(&answer);
    image[IMAGE_MAX - 1] = '\0';
    return image[0] != '\0' ? g_strdup(image) : NULL;
}

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
    const AsideList list = {
        .n = delayed->len, .size = sizeof(guint64), .data = delayed, .each = look_aside, .user = user_of_seen};
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
    return GPOINTER_TO_UINT(g_hash_table_lookup(scanner->counts, GUINT_TO_POINTER(user)));
}

static void
count_one(Scanner *scanner, uid_t user)
{
    g_hash_table_insert(scanner->counts, GUINT_TO_POINTER(user), GUINT_TO_POINTER(count_of(scanner, user) + 1));
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
    if (g_hash_table_add(scanner->crowded, GUINT_TO_POINTER(user)) && result->trouble == NULL)
        result->trouble = g_strdup_printf("user %u has more than %u processes with an agent; the others are ignored",
                                          user, scanner->per_user);
    return FALSE;
}

static void
examine(Scanner *scanner, Seen *seen, ScanResult *result)
{
    uid_t user = seen->process.uids[1];
    if (!process_is_ours(&seen->process) || seen->process.state == 'Z')
        return;
    seen->address = discovery_socket(&seen->process);
    if (seen->address == NULL)
        return;
    if (!has_room(scanner, user, result)) {
        g_clear_pointer(&seen->address, g_free);
        return;
    }
    count_one(scanner, user);
    g_free(seen->image);
    seen->image = look_at_image(&seen->process);
    scan_result_add_found(result, &(ScanFound){.process = seen->process, .address = seen->address});
}

/* Examines process PID; NULL if it does not exist. */
static Seen *
look_anew(Scanner *scanner, pid_t pid)
{
    Process process;
    if (!process_read(pid, &process))
        return NULL;
    Seen *seen = g_new0(Seen, 1);
    seen->process = process;
    g_hash_table_replace(scanner->seen, GINT_TO_POINTER(pid), seen);
    return seen;
}

static void
look_at(Scanner *scanner, pid_t pid, gboolean hinted, ScanResult *result)
{
    Seen *seen = g_hash_table_lookup(scanner->seen, GINT_TO_POINTER(pid));
    gboolean known = seen != NULL;
    if (known && seen->address != NULL) {
        if (is_still_target(seen)) {
            seen->scan = scanner->scan;
            return;
        }
        scan_result_add_lost(result, &seen->process);
        known = FALSE;
    }
    if (known && !hinted && !is_due(seen->looks + 1) && process_start_time(pid) == seen->process.start_time) {
        seen->looks++;
        seen->scan = scanner->scan;
        return;
    }
    guint looks = known ? seen->looks : 0;
    guint64 start_time = known ? seen->process.start_time : 0;
    seen = look_anew(scanner, pid);
    if (seen == NULL)
        return;
    seen->looks = start_time == seen->process.start_time ? looks + 1 : 1;
    seen->scan = scanner->scan;
    examine(scanner, seen, result);
}

static void
forget_ended(Scanner *scanner, ScanResult *result)
{
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, scanner->seen);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Seen *seen = value;
        if (seen->scan == scanner->scan)
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
    const char *name;
    count_known(scanner);
    look_at_targets(scanner);
    while (proc != NULL && (name = g_dir_read_name(proc)) != NULL) {
        pid_t pid = g_ascii_isdigit(name[0]) ? (pid_t)atoi(name) : 0;
        if (pid > 0 && pid != getpid())
            look_at(scanner, pid, is_hinted(hints, pid), result);
    }
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
        return TRUE;
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
    g_autoptr(GPtrArray) all = candidates_find(named->name, CANDIDATES_NAMED, error);
    if (all == NULL)
        return FALSE;
    g_autoptr(GPtrArray) successors = keep_successors(all, named->identity);
    if (successors->len == 0) {
        g_autofree char *user = process_user_name(named->identity->user);
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_PROCESS,
                    "'%s' is now the name of another service; the earlier one was %s, of user %s%s%s; if this is "
                    "intended, give a pid, or restart jescope",
                    named->name, named->identity->program, user, named->identity->unit[0] != '\0' ? ", in " : "",
                    named->identity->unit);
        return FALSE;
    }
    const Candidate *chosen = candidates_choose(successors, named->name, error);
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

/* A pid or socket is eventually reused by another program. */
static char *
find_of_source(const Named *named, Process *process, GError **error)
{
    g_autofree char *address = find_by_name(named, process, NULL);
    if (address != NULL && strcmp(process->name, named->program) == 0)
        return g_steal_pointer(&address);
    return open_find_process(named->program, process, error) ? address_of_pid(process) : NULL;
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
