/* SPDX-License-Identifier: Apache-2.0 */
#include "service/registry.h"

#include "service/doorbell.h"
#include "service/scan.h"
#include "service/target.h"

#include <gio/gio.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    SLOW_SCAN_S = 10,
    SOON_MS = 20, /* several may come at once */
    GONE_MAX = 32,
    LISTED_MAX = 8, /* names in an error */
    SHOWN_MAX = 64, /* bytes of what was asked for */
};

struct Registry {
    Service *service;  /* not a reference: it owns this */
    GPtrArray *live;   /* of ServiceTarget, by pid */
    GHashTable *exits; /* ServiceTarget -> GSource of its pidfd */
    GPtrArray *gone;   /* latest first */
    Scanner *scanner;  /* lent to a thread while scanning */
    gboolean scanning;
    gboolean again;
    gboolean renew_names;
    gboolean looked; /* a scan has ended */
    GArray *hints;   /* of pid_t, for the next scan */
    Doorbell *doorbell;
    guint slow_scan;
    guint soon;
};

/* What a scan on a thread holds; the registry may be gone when it ends. */
typedef struct {
    Service *service;
    Scanner *scanner;
    GArray *hints;
    ScanResult *result;
} Scan;

static void scan_soon(Registry *registry, guint ms);

/* ---- coming and going ---- */

static ServiceTarget *
find(const GPtrArray *targets, gboolean (*is)(const ServiceTarget *target, gconstpointer key), gconstpointer key)
{
    for (guint i = 0; i < targets->len; i++)
        if (is(targets->pdata[i], key))
            return targets->pdata[i];
    return NULL;
}

static gboolean
is_unique(const ServiceTarget *target, gconstpointer key)
{
    return strcmp(target->unique, key) == 0;
}

static gboolean
is_id(const ServiceTarget *target, gconstpointer key)
{
    return strcmp(target->id, key) == 0;
}

static gboolean
is_series(const ServiceTarget *target, gconstpointer key)
{
    return strcmp(target->series, key) == 0;
}

/* The name of the process, if no other live target goes by it. */
static char *
choose_series(Registry *registry, const Process *process)
{
    return find(registry->live, is_series, process->name) == NULL
               ? g_strdup(process->name)
               : g_strdup_printf("%s-%d", process->name, (int)process->pid);
}

static gpointer
close_target(const RouteHost *host, gpointer data)
{
    target_disconnect(work_target(host->data));
    return NULL;
}

static gboolean
has_kept(ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    return target->has_kept || target->recordings.running;
}

static void
set_gone(Registry *registry, ServiceTarget *target)
{
    g_autoptr(ServiceTarget) held G_GNUC_UNUSED = service_target_ref(target);
    ServiceWork work = {.pace = SERVICE_QUICK, .func = close_target};
    ServiceEvent event = {.type = SERVICE_EVENT_TARGET_GONE};
    GSource *exit = g_hash_table_lookup(registry->exits, target);
    if (exit != NULL)
        g_source_destroy(exit);
    g_hash_table_remove(registry->exits, target);
    g_ptr_array_remove(registry->live, target);
    target_set_gone(target);
    target_tell(target, &event);
    recordings_end(target);
    work_submit_own(target, &work, NULL, NULL);
    if (!has_kept(target))
        return;
    g_ptr_array_insert(registry->gone, 0, service_target_ref(target));
    if (registry->gone->len > GONE_MAX)
        g_ptr_array_set_size(registry->gone, GONE_MAX);
}

typedef struct {
    ServiceTarget *target;
    int pidfd;
} Exit;

static void
free_exit(gpointer data)
{
    Exit *exit = data;
    close(exit->pidfd);
    g_free(exit);
}

static gboolean
on_exit_fd(int fd, GIOCondition condition, gpointer data)
{
    ServiceTarget *target = ((const Exit *)data)->target;
    Registry *registry = target->service->registry;
    set_gone(registry, target);
    scan_soon(registry, SOON_MS);
    return G_SOURCE_REMOVE;
}

/* Without a pidfd (an old kernel, no descriptor left) the slow scan notices. */
static void
watch_exit(Registry *registry, ServiceTarget *target)
{
    int pidfd = (int)syscall(SYS_pidfd_open, target->process.pid, 0);
    if (pidfd < 0)
        return;
    Exit *exit = g_new0(Exit, 1);
    exit->target = target;
    exit->pidfd = pidfd;
    GSource *source = g_unix_fd_source_new(pidfd, G_IO_IN);
    g_source_set_callback(source, (GSourceFunc)(void (*)(void))on_exit_fd, exit, free_exit);
    g_source_attach(source, registry->service->context);
    g_hash_table_insert(registry->exits, target, source);
}

static int
compare_pids(gconstpointer a, gconstpointer b)
{
    const ServiceTarget *left = *(ServiceTarget *const *)a, *right = *(ServiceTarget *const *)b;
    return (left->process.pid > right->process.pid) - (left->process.pid < right->process.pid);
}

static void
add_found(Registry *registry, const ScanFound *found)
{
    g_autofree char *series = choose_series(registry, &found->process);
    TargetFacts facts = {
        .process = &found->process, .address = found->address, .named = found->named, .series = series};
    ServiceEvent event = {.type = SERVICE_EVENT_TARGET_CAME};
    ServiceTarget *target = target_new(registry->service, &facts);
    ServiceTarget *before = find(registry->live, is_unique, target->unique);
    if (before != NULL)
        set_gone(registry, before);
    ServiceTarget *earlier = find(registry->gone, is_unique, target->unique);
    if (earlier != NULL)
        g_ptr_array_remove(registry->gone, earlier);
    g_ptr_array_add(registry->live, target);
    g_ptr_array_sort(registry->live, compare_pids);
    watch_exit(registry, target);
    target_tell(target, &event);
}

static void
take_lost(Registry *registry, const ScanLost *lost)
{
    g_autofree char *unique = g_strdup_printf("%d.%" G_GUINT64_FORMAT, (int)lost->pid, lost->start_time);
    ServiceTarget *target = find(registry->live, is_unique, unique);
    if (target != NULL)
        set_gone(registry, target);
}

static void
take_result(Registry *registry, const ScanResult *result)
{
    for (guint i = 0; i < result->lost->len; i++)
        take_lost(registry, &g_array_index(result->lost, ScanLost, i));
    for (guint i = 0; i < result->found->len; i++)
        add_found(registry, &g_array_index(result->found, ScanFound, i));
    if (result->trouble != NULL)
        service_say(registry->service, "%s", result->trouble);
}

/* ---- scans ---- */

static void
free_scan(gpointer data)
{
    Scan *scan = data;
    scanner_free(scan->scanner);
    scan_result_free(scan->result);
    if (scan->hints != NULL)
        g_array_unref(scan->hints);
    service_unref(scan->service);
    g_free(scan);
}

/* All that are live now are of names that may be no more: they are found anew, or lost. */
static void
replace_scanner(Registry *registry)
{
    registry->renew_names = FALSE;
    g_clear_pointer(&registry->scanner, scanner_free);
    registry->scanner = scanner_new((const char *const *)registry->service->names);
    while (registry->live->len > 0)
        set_gone(registry, registry->live->pdata[0]);
}

static gboolean
on_scanned(gpointer data)
{
    Scan *scan = data;
    Registry *registry = scan->service->registry;
    registry->scanning = FALSE;
    registry->scanner = g_steal_pointer(&scan->scanner);
    if (registry->renew_names)
        replace_scanner(registry);
    else
        take_result(registry, scan->result);
    registry->looked = TRUE;
    if (registry->again)
        scan_soon(registry, 0);
    return G_SOURCE_REMOVE;
}

static void
run_scan(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    Scan *scan = data;
    scan->result = scanner_run(scan->scanner, scan->hints);
    service_post(scan->service, on_scanned, scan, free_scan);
}

static void
begin_scan(Registry *registry)
{
    registry->again = registry->scanning;
    if (registry->scanning)
        return;
    registry->scanning = TRUE;
    Scan *scan = g_new0(Scan, 1);
    scan->service = service_ref(registry->service);
    scan->scanner = g_steal_pointer(&registry->scanner);
    scan->hints = g_steal_pointer(&registry->hints);
    g_autoptr(GTask) task = g_task_new(NULL, NULL, NULL, NULL);
    g_task_set_task_data(task, scan, NULL);
    g_task_run_in_thread(task, run_scan);
}

static gboolean
on_soon(gpointer data)
{
    Registry *registry = data;
    registry->soon = 0;
    begin_scan(registry);
    return G_SOURCE_REMOVE;
}

static gboolean
on_slow_scan(gpointer data)
{
    Registry *registry = data;
    doorbell_renew(registry->doorbell);
    begin_scan(registry);
    return G_SOURCE_CONTINUE;
}

static guint
attach_timeout(Registry *registry, guint ms, GSourceFunc func)
{
    g_autoptr(GSource) source = g_timeout_source_new(ms);
    g_source_set_callback(source, func, registry, NULL);
    return g_source_attach(source, registry->service->context);
}

static void
detach(Registry *registry, guint *id)
{
    GSource *source = *id != 0 ? g_main_context_find_source_by_id(registry->service->context, *id) : NULL;
    if (source != NULL)
        g_source_destroy(source);
    *id = 0;
}

static void
scan_soon(Registry *registry, guint ms)
{
    if (registry->soon == 0)
        registry->soon = attach_timeout(registry, ms, on_soon);
}

static void
on_ring(pid_t pid, gpointer data)
{
    Registry *registry = data;
    if (registry->hints == NULL)
        registry->hints = g_array_new(FALSE, FALSE, sizeof(pid_t));
    g_array_append_val(registry->hints, pid);
    scan_soon(registry, SOON_MS);
}

/* ---- the registry ---- */

static void
load_gone(Registry *registry)
{
    g_autoptr(GArray) lives = keep_lives(registry->service->keep, GONE_MAX);
    for (guint i = 0; lives != NULL && i < lives->len; i++)
        g_ptr_array_add(registry->gone, target_new_kept(registry->service, &g_array_index(lives, HistoryKept, i)));
}

Registry *
registry_new(Service *service)
{
    Registry *registry = g_new0(Registry, 1);
    registry->service = service;
    registry->live = g_ptr_array_new_with_free_func((GDestroyNotify)service_target_unref);
    registry->gone = g_ptr_array_new_with_free_func((GDestroyNotify)service_target_unref);
    registry->exits = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_source_unref);
    registry->scanner = scanner_new((const char *const *)service->names);
    registry->doorbell = doorbell_new(service->context, on_ring, registry);
    registry->slow_scan = attach_timeout(registry, SLOW_SCAN_S * 1000, on_slow_scan);
    load_gone(registry);
    scan_soon(registry, 0);
    return registry;
}

void
registry_free(Registry *registry)
{
    GHashTableIter iter;
    gpointer exit;
    detach(registry, &registry->slow_scan);
    detach(registry, &registry->soon);
    doorbell_free(registry->doorbell);
    g_hash_table_iter_init(&iter, registry->exits);
    while (g_hash_table_iter_next(&iter, NULL, &exit))
        g_source_destroy(exit);
    g_hash_table_unref(registry->exits);
    for (guint i = 0; i < registry->live->len; i++)
        target_stop_timers(registry->live->pdata[i]);
    g_ptr_array_unref(registry->live);
    g_ptr_array_unref(registry->gone);
    scanner_free(registry->scanner);
    if (registry->hints != NULL)
        g_array_unref(registry->hints);
    g_free(registry);
}

void
registry_set_names(Registry *registry)
{
    registry->renew_names = TRUE;
    if (!registry->scanning)
        replace_scanner(registry);
    scan_soon(registry, 0);
}

GPtrArray *
registry_list(Registry *registry)
{
    GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)service_target_unref);
    const GPtrArray *const parts[] = {registry->live, registry->gone};
    for (gsize part = 0; part < G_N_ELEMENTS(parts); part++)
        for (guint i = 0; i < parts[part]->len; i++)
            g_ptr_array_add(list, service_target_ref(parts[part]->pdata[i]));
    return list;
}

gboolean
registry_has_looked(const Registry *registry)
{
    return registry->looked;
}

const GPtrArray *
registry_live(const Registry *registry)
{
    return registry->live;
}

/* ---- looking up ---- */

static char *
describe_live(const Registry *registry)
{
    if (registry->live->len == 0)
        return g_strdup("there is no target");
    g_autoptr(GString) text = g_string_new("there are ");
    for (guint i = 0; i < registry->live->len && i < LISTED_MAX; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", service_target_label(registry->live->pdata[i]));
    if (registry->live->len > LISTED_MAX)
        g_string_append(text, ", ...");
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static ServiceTarget *
find_named(const Registry *registry, const char *name, guint *count)
{
    ServiceTarget *found = NULL;
    *count = 0;
    for (guint i = 0; i < registry->live->len; i++)
        if (strcmp(service_target_name(registry->live->pdata[i]), name) == 0) {
            found = registry->live->pdata[i];
            ++*count;
        }
    return found;
}

ServiceTarget *
registry_lookup(Registry *registry, const char *text, GError **error)
{
    guint count = 0;
    ServiceTarget *found = find(registry->live, is_id, text);
    if (found == NULL)
        found = find(registry->live, is_unique, text);
    if (found == NULL)
        found = find(registry->gone, is_unique, text);
    if (found == NULL)
        found = find(registry->gone, is_id, text);
    if (found == NULL)
        found = find_named(registry, text, &count);
    if (found != NULL && count < 2)
        return found;
    g_autofree char *there = describe_live(registry);
    g_autofree char *shown = g_utf8_make_valid(text, (gssize)strnlen(text, SHOWN_MAX));
    if (count > 1)
        g_set_error(error, SERVICE_ERROR, SERVICE_ERROR_AMBIGUOUS, "%u targets are named '%s'; %s", count, shown,
                    there);
    else
        g_set_error(error, SERVICE_ERROR, SERVICE_ERROR_UNKNOWN, "no target '%s'; %s", shown, there);
    return NULL;
}

ServiceTarget *
registry_default(Registry *registry, GError **error)
{
    const char *chosen = registry->service->options.default_target;
    if (chosen != NULL)
        return registry_lookup(registry, chosen, error);
    if (registry->live->len == 1)
        return registry->live->pdata[0];
    g_autofree char *there = describe_live(registry);
    if (registry->live->len > 1)
        g_set_error(error, SERVICE_ERROR, SERVICE_ERROR_AMBIGUOUS,
                    "several targets; name one with /targets/ID before the path, or serve with --default: %s", there);
    else
        g_set_error(error, SERVICE_ERROR, SERVICE_ERROR_UNKNOWN, "%s; start one with 'jescope run'", there);
    return NULL;
}
