/* SPDX-License-Identifier: Apache-2.0 */
#include "service/registry.h"

#include "service/live.h"
#include "service/recordings.h"
#include "service/scan.h"
#include "service/series-name.h"
#include "service/wakeup.h"
#include "service/work.h"

#include "confine/keyed-hash.h"
#include "confine/thread-time.h"

#include <glib-unix.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    SLOW_SCAN_S = 10,
    SCAN_LEAST_MS = 1000, /* minimum interval of reading all of /proc */
    SOON_MS = 20,         /* delay that combines several arrivals */
    GONE_MAX = 32,
    LISTED_MAX = 8,   /* names listed in an error */
    HINTS_MAX = 1024, /* processes that the next scan examines although they are not due */
    SHOWN_MAX = 64,   /* bytes of the key quoted in an error */
    EXITS_AT_ONCE = 64,
    LOOKS_MS = 250, /* processor time for looking at the processes of a user for one answer; a thousand take 40 ms */
};

struct Registry {
    Service *service;           /* borrowed: it owns this */
    GPtrArray *live;            /* of ServiceTarget, by pid */
    GHashTable *exits;          /* ServiceTarget -> its pidfd */
    int exits_ended;            /* epoll descriptor of all pidfds; -1: none */
    GSource *exits_source;      /* its source; NULL: none */
    GPtrArray *gone;            /* latest first */
    ServiceTarget *latest_gone; /* the target that exited last, even without kept data; NULL: none */
    Scanner *scanner;           /* lent to a thread while scanning */
    gboolean scanning;
    gboolean again;
    gboolean renew_names;
    gboolean looked; /* a scan has completed */
    GArray *hints;   /* of pid_t, for the next scan */
    Wakeup *wakeup;
    guint slow_scan;
    guint soon;
};

/* The data of a scan on a thread; the registry may be freed before its end. */
typedef struct {
    Service *service;
    Scanner *scanner;
    GArray *hints;
    GHashTable *series; /* series in use, later including those found -> unique id of the live target, or NULL */
    ScanResult *result;
    GPtrArray *names; /* series of the elements of result->found */
} Scan;

static void scan_soon(Registry *registry, guint ms);

/* ---- arrivals and exits ---- */

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
    return strcmp(service_target_unique(target), key) == 0;
}

static gboolean
is_id(const ServiceTarget *target, gconstpointer key)
{
    return strcmp(service_target_id(target), key) == 0;
}

static char *
unique_of(const ScanLost *lost)
{
    return g_strdup_printf("%d.%" G_GUINT64_FORMAT, (int)lost->pid, lost->start_time);
}

static gboolean
has_value(gpointer series, gpointer unique, gpointer wanted)
{
    return g_strcmp0(unique, wanted) == 0;
}

static void
free_series_of(Scan *scan, const ScanLost *lost)
{
    g_autofree char *unique = unique_of(lost);
    g_hash_table_foreach_remove(scan->series, has_value, unique);
}

/* Called on the scan's thread, since the history may be busy for a long time. */
static void
name_found(Scan *scan)
{
    scan->names = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < scan->result->lost->len; i++)
        free_series_of(scan, &g_array_index(scan->result->lost, ScanLost, i));
    for (guint i = 0; i < scan->result->found->len; i++) {
        const ScanFound *found = &g_array_index(scan->result->found, ScanFound, i);
        g_autoptr(GError) error = NULL;
        char *series = series_name_choose(scan->service->history, scan->series, found, &error);
        g_ptr_array_add(scan->names, series);
        if (series != NULL)
            g_hash_table_insert(scan->series, g_strdup(series), NULL);
        else
            scanner_leave_out(scan->scanner, found, error->message, scan->result);
    }
}

static void
remark_on(Registry *registry, const ServiceTarget *target, RemarkKind kind, const char *text)
{
    const CollectedRemark remark = {.kind = kind,
                                    .series = service_target_series(target),
                                    .subject = live_subject(target),
                                    .text = text,
                                    .target = target};
    service_hand_remark(registry->service, &remark);
}

static void
remark_end(Registry *registry, const ServiceTarget *target)
{
    g_autofree char *text = g_strdup_printf("%s has ended", service_target_label(target));
    remark_on(registry, target, live_is_followed(target) ? REMARK_ENDED : REMARK_OVER, text);
}

/* Remarks that a process begins, except for the first of a name. */
static void
remark_beginning(Registry *registry, const ServiceTarget *target, const ScanFound *found)
{
    g_autofree char *text = g_strdup_printf("process %s", service_target_id(target));
    if (found->series != NULL && strcmp(found->series, service_target_series(target)) != 0)
        remark_on(registry, target, REMARK_NOTE, text);
}

static gpointer
close_target(const RouteHost *host, gpointer data)
{
    live_disconnect(work_target(host->data));
    return NULL;
}

/* Removes the pidfd explicitly: a child that is being created may have a copy, so closing it is not sufficient. */
static void
unwatch_exit(Registry *registry, const ServiceTarget *target)
{
    gpointer pidfd;
    if (!g_hash_table_lookup_extended(registry->exits, target, NULL, &pidfd))
        return;
    epoll_ctl(registry->exits_ended, EPOLL_CTL_DEL, GPOINTER_TO_INT(pidfd), NULL);
    g_hash_table_remove(registry->exits, target);
}

/* Forgets the oldest exited target of the user with the most, so that many short-lived processes of one user do not
 * displace those of others. */
static void
forget_one_gone(Registry *registry)
{
    guint found = 0, most = 0;
    for (guint i = registry->gone->len; i-- > 0;) {
        uid_t user = live_account(registry->gone->pdata[i]);
        guint count = 0;
        for (guint other = 0; other < registry->gone->len; other++)
            count += live_account(registry->gone->pdata[other]) == user;
        if (count > most) {
            most = count;
            found = i;
        }
    }
    g_ptr_array_remove_index(registry->gone, found);
}

static void
set_gone(Registry *registry, ServiceTarget *target)
{
    g_autoptr(ServiceTarget) held G_GNUC_UNUSED = service_target_ref(target);
    ServiceWork work = {.pace = SERVICE_QUICK, .func = close_target};
    ServiceEvent event = {.type = SERVICE_EVENT_TARGET_GONE};
    unwatch_exit(registry, target);
    g_ptr_array_remove(registry->live, target);
    live_set_gone(target);
    remark_end(registry, target);
    live_emit(target, &event);
    recordings_end(target);
    work_submit_own(target, &work, NULL, NULL);
    g_clear_pointer(&registry->latest_gone, service_target_unref);
    registry->latest_gone = service_target_ref(target);
    if (!live_has_kept(target) && !recordings_any(target))
        return;
    g_ptr_array_insert(registry->gone, 0, service_target_ref(target));
    if (registry->gone->len > GONE_MAX)
        forget_one_gone(registry);
}

static gboolean
on_exits(int fd, GIOCondition condition, gpointer data)
{
    Registry *registry = data;
    struct epoll_event events[EXITS_AT_ONCE];
    int n = epoll_wait(registry->exits_ended, events, EXITS_AT_ONCE, 0);
    for (int i = 0; i < n; i++)
        set_gone(registry, events[i].data.ptr);
    if (n > 0)
        scan_soon(registry, SOON_MS);
    return G_SOURCE_CONTINUE;
}

/* Without a pidfd (an old kernel, no descriptors left), the slow scan detects the exit. */
static void
watch_exit(Registry *registry, ServiceTarget *target)
{
    int pidfd = (int)syscall(SYS_pidfd_open, live_process(target)->pid, 0);
    struct epoll_event ended = {.events = EPOLLIN, .data.ptr = target};
    if (pidfd < 0)
        return;
    if (epoll_ctl(registry->exits_ended, EPOLL_CTL_ADD, pidfd, &ended) == 0)
        g_hash_table_insert(registry->exits, target, GINT_TO_POINTER(pidfd));
    else
        close(pidfd);
}

static void
close_exit(gpointer pidfd)
{
    close(GPOINTER_TO_INT(pidfd));
}

/* Combines all pidfds in one descriptor, since the main context polls each of its descriptors in every iteration. */
static void
watch_exits(Registry *registry)
{
    registry->exits = g_hash_table_new_full(NULL, NULL, NULL, close_exit);
    registry->exits_ended = epoll_create1(EPOLL_CLOEXEC);
    if (registry->exits_ended < 0)
        return;
    registry->exits_source = g_unix_fd_source_new(registry->exits_ended, G_IO_IN);
    g_source_set_callback(registry->exits_source, (GSourceFunc)(void (*)(void))on_exits, registry, NULL);
    g_source_attach(registry->exits_source, registry->service->context);
}

static void
unwatch_exits(Registry *registry)
{
    g_hash_table_unref(registry->exits);
    if (registry->exits_source == NULL)
        return;
    g_source_destroy(registry->exits_source);
    g_source_unref(registry->exits_source);
    close(registry->exits_ended);
}

static int
compare_pids(gconstpointer a, gconstpointer b)
{
    const ServiceTarget *left = *(ServiceTarget *const *)a, *right = *(ServiceTarget *const *)b;
    return (live_process(left)->pid > live_process(right)->pid) - (live_process(left)->pid < live_process(right)->pid);
}

static gpointer
limit_threads(const RouteHost *host, gpointer data)
{
    const ServiceTarget *target = work_target(host->data);
    Failure failure = {0};
    Outcome result =
        host->ops->write(host->data, "max_background_threads", WIRE_TYPE_SIZE, GPOINTER_TO_UINT(data), &failure);
    if (result != OUTCOME_DONE && result != OUTCOME_GONE && result != OUTCOME_NO_JEMALLOC)
        service_say_of(live_service(target), live_account(target), "cannot set max_background_threads of %s: %s",
                       service_target_label(target), failure.why);
    return NULL;
}

static void
set_up(const Registry *registry, ServiceTarget *target)
{
    guint threads = registry->service->options.background_threads;
    ServiceWork work = {.pace = SERVICE_QUICK, .func = limit_threads, .data = GUINT_TO_POINTER(threads)};
    if (threads != 0)
        work_submit_own(target, &work, NULL, NULL);
}

static void
add_found(Registry *registry, const ScanFound *found, const char *series)
{
    LiveFacts facts = {.process = &found->process,
                       .address = found->address,
                       .named = found->named,
                       .series = series,
                       .followed = found->series != NULL,
                       .about = found->facts};
    ServiceEvent event = {.type = SERVICE_EVENT_TARGET_CAME};
    ServiceTarget *target = live_new(registry->service, &facts);
    ServiceTarget *before = find(registry->live, is_unique, service_target_unique(target));
    if (before != NULL)
        set_gone(registry, before);
    ServiceTarget *earlier = find(registry->gone, is_unique, service_target_unique(target));
    if (earlier != NULL)
        g_ptr_array_remove(registry->gone, earlier);
    g_ptr_array_add(registry->live, target); /* the caller sorts them */
    watch_exit(registry, target);
    live_emit(target, &event);
    remark_beginning(registry, target, found);
    set_up(registry, target);
}

static void
take_lost(Registry *registry, const ScanLost *lost)
{
    g_autofree char *unique = unique_of(lost);
    ServiceTarget *target = find(registry->live, is_unique, unique);
    if (target != NULL)
        set_gone(registry, target);
}

static void
take_remark(Registry *registry, const ScanRemark *found)
{
    const CollectedRemark remark = {.kind = found->missing ? REMARK_MISSING : REMARK_NOTE,
                                    .series = found->series,
                                    .subject = found->series,
                                    .text = found->text};
    if (found->missing)
        service_count_missed(registry->service);
    service_hand_remark(registry->service, &remark);
}

static void
take_result(Registry *registry, const Scan *scan)
{
    const ScanResult *result = scan->result;
    for (guint i = 0; i < result->lost->len; i++)
        take_lost(registry, &g_array_index(result->lost, ScanLost, i));
    for (guint i = 0; i < result->found->len; i++)
        if (scan->names->pdata[i] != NULL)
            add_found(registry, &g_array_index(result->found, ScanFound, i), scan->names->pdata[i]);
    g_ptr_array_sort(registry->live, compare_pids);
    for (guint i = 0; i < result->remarks->len; i++)
        take_remark(registry, &g_array_index(result->remarks, ScanRemark, i));
    if (result->trouble != NULL)
        service_say(registry->service, "%s", result->trouble);
}

/* ---- scans ---- */

static Scanner *
new_scanner(const Service *service)
{
    const ServiceRoot *root = service->options.root;
    guint per_user = service->options.limits.targets;
    if (service->options.n_sources > 0)
        return scanner_new_of(service->options.sources, service->options.n_sources);
    return root != NULL ? scanner_new_at(root, per_user) : scanner_new((const char *const *)service->names, per_user);
}

static void
free_scan(gpointer data)
{
    Scan *scan = data;
    scanner_free(scan->scanner);
    scan_result_free(scan->result);
    if (scan->hints != NULL)
        g_array_unref(scan->hints);
    g_hash_table_unref(scan->series);
    if (scan->names != NULL)
        g_ptr_array_unref(scan->names);
    service_unref(scan->service);
    g_free(scan);
}

/* Creates a new scanner, which finds all live targets again, since the names may have changed. */
static void
replace_scanner(Registry *registry)
{
    registry->renew_names = FALSE;
    g_clear_pointer(&registry->scanner, scanner_free);
    registry->scanner = new_scanner(registry->service);
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
        take_result(registry, scan);
    registry->looked = TRUE;
    if (registry->again)
        scan_soon(registry, 0);
    return G_SOURCE_REMOVE;
}

/* Reads the facts of processes that become targets. */
static void
read_facts(const Scan *scan)
{
    g_autoptr(GPtrArray) processes = g_ptr_array_new(), found = g_ptr_array_new();
    for (guint i = 0; i < scan->result->found->len; i++) {
        ScanFound *one = &g_array_index(scan->result->found, ScanFound, i);
        if (scan->names->pdata[i] == NULL)
            continue;
        g_ptr_array_add(found, one);
        g_ptr_array_add(processes, &one->process);
    }
    g_autoptr(GPtrArray) facts = process_facts_list(processes);
    for (guint i = 0; i < found->len; i++)
        ((ScanFound *)found->pdata[i])->facts = process_facts_ref(facts->pdata[i]);
}

static void
run_scan(gpointer data)
{
    Scan *scan = data;
    scan->result = scanner_run(scan->scanner, scan->hints);
    name_found(scan);
    read_facts(scan);
    service_post(scan->service, on_scanned, scan, free_scan);
}

/* The series in use by live targets, or by sources of one process or log. */
static GHashTable *
list_series(const Registry *registry)
{
    const ServiceOptions *options = &registry->service->options;
    GHashTable *series = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, g_free);
    for (guint i = 0; i < registry->live->len; i++)
        g_hash_table_insert(series, g_strdup(service_target_series(registry->live->pdata[i])),
                            g_strdup(service_target_unique(registry->live->pdata[i])));
    for (guint i = 0; i < options->n_sources; i++)
        if (options->sources[i].kind != SERVICE_SOURCE_PROCESSES)
            g_hash_table_insert(series, g_strdup(options->sources[i].series), NULL);
    return series;
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
    scan->series = list_series(registry);
    service_offload(registry->service, run_scan, scan);
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
    wakeup_renew(registry->wakeup);
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
on_wakeup(pid_t pid, gpointer data)
{
    Registry *registry = data;
    if (registry->hints == NULL)
        registry->hints = g_array_new(FALSE, FALSE, sizeof(pid_t));
    if (registry->hints->len < HINTS_MAX)
        g_array_append_val(registry->hints, pid);
    scan_soon(registry, SOON_MS);
}

/* ---- the registry ---- */

static void
load_gone(Registry *registry)
{
    g_autoptr(HistoryHold) hold = shared_history_hold(registry->service->history);
    g_autoptr(GArray) lives = history_kept_lives(hold->history, GONE_MAX, NULL);
    for (guint i = 0; lives != NULL && i < lives->len; i++)
        g_ptr_array_add(registry->gone, live_new_kept(registry->service, &g_array_index(lives, HistoryKept, i)));
}

/* Processes of sources are searched for as often as they are sampled. */
static guint
scan_interval_ms(const Service *service)
{
    guint64 every_ms = service->options.every_us / 1000;
    return service->options.n_sources > 0 ? (guint)CLAMP(every_ms, SCAN_LEAST_MS, SLOW_SCAN_S * 1000)
                                          : SLOW_SCAN_S * 1000;
}

Registry *
registry_new(Service *service)
{
    Registry *registry = g_new0(Registry, 1);
    registry->service = service;
    registry->live = g_ptr_array_new_with_free_func((GDestroyNotify)service_target_unref);
    registry->gone = g_ptr_array_new_with_free_func((GDestroyNotify)service_target_unref);
    watch_exits(registry);
    registry->scanner = new_scanner(service);
    registry->wakeup = wakeup_new(service->context, on_wakeup, registry);
    registry->slow_scan = attach_timeout(registry, scan_interval_ms(service), on_slow_scan);
    load_gone(registry);
    scan_soon(registry, 0);
    return registry;
}

void
registry_free(Registry *registry)
{
    detach(registry, &registry->slow_scan);
    detach(registry, &registry->soon);
    wakeup_free(registry->wakeup);
    unwatch_exits(registry);
    for (guint i = 0; i < registry->live->len; i++)
        recordings_disarm(registry->live->pdata[i]);
    g_ptr_array_unref(registry->live);
    g_ptr_array_unref(registry->gone);
    g_clear_pointer(&registry->latest_gone, service_target_unref);
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

/* Adds those of TARGETS that VIEWER sees, with references. To look at a process takes as long as it likes: the kernel
 * lists its groups, of which it may have 65536. */
static void
add_visible(GPtrArray *list, const GPtrArray *targets, Viewer viewer)
{
    const gint64 end_us = thread_time_us() + LOOKS_MS * G_GINT64_CONSTANT(1000);
    for (guint i = 0; i < targets->len && (viewer == VIEWER_ALL || thread_time_us() < end_us); i++)
        if (service_target_is_visible(targets->pdata[i], viewer))
            g_ptr_array_add(list, service_target_ref(targets->pdata[i]));
}

GPtrArray *
registry_list_live(const Registry *registry, Viewer viewer)
{
    GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)service_target_unref);
    add_visible(list, registry->live, viewer);
    return list;
}

GPtrArray *
registry_list(Registry *registry, Viewer viewer)
{
    GPtrArray *list = registry_list_live(registry, viewer);
    add_visible(list, registry->gone, viewer);
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

/* ---- lookup ---- */

static char *
describe_live(const GPtrArray *live, Viewer viewer)
{
    g_autofree char *whose = viewer == VIEWER_ALL ? g_strdup("") : g_strdup_printf(" of uid %" G_GINT64_FORMAT, viewer);
    if (live->len == 0)
        return g_strdup_printf("there is no target%s", whose);
    g_autoptr(GString) text = g_string_new("there are ");
    for (guint i = 0; i < live->len && i < LISTED_MAX; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", service_target_label(live->pdata[i]));
    g_string_append(text, live->len > LISTED_MAX ? ", ..." : "");
    g_string_append(text, whose);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* A target that VIEWER does not see is treated as if it did not exist. */
static ServiceTarget *
find_exact(Registry *registry, Viewer viewer, const char *text)
{
    ServiceTarget *const candidates[] = {
        find(registry->live, is_id, text),
        find(registry->live, is_unique, text),
        find(registry->gone, is_unique, text),
        find(registry->gone, is_id, text),
    };
    for (gsize i = 0; i < G_N_ELEMENTS(candidates); i++)
        if (candidates[i] != NULL && service_target_is_visible(candidates[i], viewer))
            return candidates[i];
    return NULL;
}

/* A number, or a unique id, is never a name: any process may take it as one once that process has ended. */
static ServiceTarget *
find_named(const GPtrArray *live, const char *name, guint *count)
{
    gint64 pid;
    guint64 start;
    ServiceTarget *found = NULL;
    *count = 0;
    if (process_operand_is_number(name) || status_parse_unique(name, &pid, &start))
        return NULL;
    for (guint i = 0; i < live->len; i++)
        if (strcmp(service_target_name(live->pdata[i]), name) == 0) {
            found = live->pdata[i];
            ++*count;
        }
    return found;
}

/* Whether TEXT is the unique id of a process that has ended, target or not. */
static gboolean
is_of_ended(const char *text)
{
    gint64 pid;
    guint64 start;
    return status_parse_unique(text, &pid, &start) && (pid > G_MAXINT32 || !process_alive((pid_t)pid, start));
}

static void
set_not_found(const char *text, guint count, const GPtrArray *live, Viewer viewer, GError **error)
{
    g_autofree char *there = describe_live(live, viewer);
    g_autofree char *shown = g_utf8_make_valid(text, (gssize)strnlen(text, SHOWN_MAX));
    if (count > 1)
        g_set_error(error, TARGET_ERROR, OUTCOME_AMBIGUOUS, "%u targets are named '%s'; %s", count, shown, there);
    else if (is_of_ended(text))
        g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "process '%s' has ended; %s", shown, there);
    else
        g_set_error(error, TARGET_ERROR, OUTCOME_UNKNOWN_TARGET, "no target '%s'; %s", shown, there);
}

ServiceTarget *
registry_lookup(Registry *registry, Viewer viewer, const char *text, GError **error)
{
    guint count = 0;
    ServiceTarget *found = find_exact(registry, viewer, text);
    if (found != NULL)
        return found;
    g_autoptr(GPtrArray) live = registry_list_live(registry, viewer);
    found = find_named(live, text, &count);
    if (count == 1)
        return found;
    set_not_found(text, count, live, viewer, error);
    return NULL;
}

/* The last exited target of paths without a target, to distinguish its exit from a wrong path; or NULL. */
static ServiceTarget *
ended_default(Registry *registry, Viewer viewer)
{
    const char *chosen = registry->service->options.default_target;
    ServiceTarget *ended = registry->latest_gone;
    if (ended == NULL || !service_target_is_visible(ended, viewer))
        return NULL;
    gboolean meant = chosen == NULL || is_id(ended, chosen) || is_unique(ended, chosen) ||
                     strcmp(service_target_name(ended), chosen) == 0;
    return meant ? ended : NULL;
}

static ServiceTarget *
live_default(Registry *registry, Viewer viewer, GError **error)
{
    const char *chosen = registry->service->options.default_target;
    if (chosen != NULL)
        return registry_lookup(registry, viewer, chosen, error);
    g_autoptr(GPtrArray) live = registry_list_live(registry, viewer);
    if (live->len == 1)
        return live->pdata[0]; /* the registry has another reference */
    g_autofree char *there = describe_live(live, viewer);
    if (live->len > 1)
        g_set_error(error, TARGET_ERROR, OUTCOME_AMBIGUOUS,
                    "several targets; name one with /targets/ID before the path, or serve with --default: %s", there);
    else
        g_set_error(error, TARGET_ERROR, OUTCOME_UNKNOWN_TARGET, "%s; start one with 'jescope run'", there);
    return NULL;
}

ServiceTarget *
registry_default(Registry *registry, Viewer viewer, GError **error)
{
    g_autoptr(GError) cause = NULL;
    ServiceTarget *found = live_default(registry, viewer, &cause);
    if (found == NULL && g_error_matches(cause, TARGET_ERROR, OUTCOME_UNKNOWN_TARGET))
        found = ended_default(registry, viewer);
    if (found == NULL)
        g_propagate_error(error, g_steal_pointer(&cause));
    return found;
}
