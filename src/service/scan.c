/* SPDX-License-Identifier: Apache-2.0 */
#include "service/scan.h"

#include "target/discovery.h"
#include "target/open.h"
#include "target/target.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    REST_MAX = 16, /* scans that go by at most until a process is looked at again */
};

/* A process that was looked at. */
typedef struct {
    Process process;
    char *image;   /* /proc/PID/exe: another one after exec */
    char *address; /* NULL: it is no target */
    guint looks;   /* how often it was in a scan */
    guint scan;    /* the last one it was in */
} Seen;

/* A target the options name. */
typedef struct {
    char *name;
    gboolean found; /* PROCESS is it */
    gboolean over;  /* its pid was one process's, and that has ended */
    Process process;
    char *trouble; /* what was said last */
} Named;

struct Scanner {
    GPtrArray *named; /* of Named; empty: discovers */
    GHashTable *seen; /* pid -> Seen */
    guint scan;
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
    g_free(named->trouble);
    g_free(named);
}

Scanner *
scanner_new(const char *const *names)
{
    Scanner *scanner = g_new0(Scanner, 1);
    scanner->named = g_ptr_array_new_with_free_func(free_named);
    scanner->seen = g_hash_table_new_full(NULL, NULL, NULL, free_seen);
    for (; names != NULL && *names != NULL; names++) {
        Named *named = g_new0(Named, 1);
        named->name = g_strdup(*names);
        g_ptr_array_add(scanner->named, named);
    }
    return scanner;
}

void
scanner_free(Scanner *scanner)
{
    if (scanner == NULL)
        return;
    g_ptr_array_unref(scanner->named);
    g_hash_table_unref(scanner->seen);
    g_free(scanner);
}

static void
clear_found(gpointer data)
{
    g_free(((ScanFound *)data)->address);
}

static ScanResult *
new_result(void)
{
    ScanResult *result = g_new0(ScanResult, 1);
    result->found = g_array_new(FALSE, TRUE, sizeof(ScanFound));
    result->lost = g_array_new(FALSE, TRUE, sizeof(ScanLost));
    g_array_set_clear_func(result->found, clear_found);
    return result;
}

void
scan_result_free(ScanResult *result)
{
    if (result == NULL)
        return;
    g_array_unref(result->found);
    g_array_unref(result->lost);
    g_free(result->trouble);
    g_free(result);
}

static void
add_found(ScanResult *result, const Process *process, const char *address, gboolean named)
{
    ScanFound found = {.process = *process, .address = g_strdup(address), .named = named};
    g_array_append_val(result->found, found);
}

static void
add_lost(ScanResult *result, const Process *process)
{
    ScanLost lost = {.pid = process->pid, .start_time = process->start_time};
    g_array_append_val(result->lost, lost);
}

/* ---- discovery ---- */

static char *
read_image(pid_t pid)
{
    g_autofree char *link = g_strdup_printf("/proc/%d/exe", (int)pid);
    return g_file_read_link(link, NULL);
}

/* A target stays one while its process, its program and its agent's socket are the same. */
static gboolean
is_still_target(const Seen *seen)
{
    if (!process_alive(seen->process.pid, seen->process.start_time) || access(seen->address, F_OK) != 0)
        return FALSE;
    g_autofree char *image = read_image(seen->process.pid);
    return g_strcmp0(image, seen->image) == 0;
}

/* 1, 2, 4, 8, 16, 32, 48, ... */
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

static void
examine(Seen *seen, ScanResult *result)
{
    if (!process_is_ours(&seen->process) || seen->process.state == 'Z')
        return;
    seen->address = discovery_socket(&seen->process);
    if (seen->address == NULL)
        return;
    g_free(seen->image);
    seen->image = read_image(seen->process.pid);
    add_found(result, &seen->process, seen->address, FALSE);
}

/* NULL: there is no such process. */
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
        add_lost(result, &seen->process);
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
    examine(seen, result);
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
            add_lost(result, &seen->process);
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
    while (proc != NULL && (name = g_dir_read_name(proc)) != NULL) {
        pid_t pid = g_ascii_isdigit(name[0]) ? (pid_t)atoi(name) : 0;
        if (pid > 0 && pid != getpid())
            look_at(scanner, pid, is_hinted(hints, pid), result);
    }
    forget_ended(scanner, result);
    g_array_sort(result->found, compare_found);
}

/* ---- targets that are named ---- */

static gboolean
is_pid(const char *name)
{
    return strspn(name, "0123456789") == strlen(name);
}

/* Behind unix:PATH is who answers there. */
static gboolean
find_behind_socket(const char *name, Process *process, GError **error)
{
    g_autoptr(Target) target = target_open(name, error);
    if (target == NULL)
        return FALSE;
    if (process_read(target_pid(target), process))
        return TRUE;
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_NO_PROCESS,
                "the process behind '%s' cannot be seen from here; run jescope in its pid namespace", name);
    return FALSE;
}

static gboolean
find_named(const char *name, Process *process, GError **error)
{
    return strchr(name, ':') != NULL ? find_behind_socket(name, process, error)
                                     : open_find_process(name, process, error);
}

static void
tell_trouble(Named *named, const GError *error, ScanResult *result)
{
    if (g_strcmp0(named->trouble, error->message) == 0)
        return;
    g_free(named->trouble);
    named->trouble = g_strdup(error->message);
    g_free(result->trouble);
    result->trouble = g_strdup(error->message);
}

static void
look_for(Named *named, ScanResult *result)
{
    g_autoptr(GError) error = NULL;
    if (named->found && !process_alive(named->process.pid, named->process.start_time)) {
        add_lost(result, &named->process);
        named->found = FALSE;
        named->over = is_pid(named->name);
    }
    if (named->found || named->over)
        return;
    if (!find_named(named->name, &named->process, &error)) {
        tell_trouble(named, error, result);
        return;
    }
    named->found = TRUE;
    g_clear_pointer(&named->trouble, g_free);
    g_autofree char *address =
        strchr(named->name, ':') != NULL ? g_strdup(named->name) : g_strdup_printf("%d", (int)named->process.pid);
    add_found(result, &named->process, address, TRUE);
}

ScanResult *
scanner_run(Scanner *scanner, const GArray *hints)
{
    ScanResult *result = new_result();
    scanner->scan++;
    if (scanner->named->len == 0)
        discover(scanner, hints, result);
    for (guint i = 0; i < scanner->named->len; i++)
        look_for(scanner->named->pdata[i], result);
    return result;
}
