/* SPDX-License-Identifier: Apache-2.0 */
#include "service/host.h"

#include "service/failure.h"
#include "service/lending.h"
#include "service/live.h"
#include "source/capture.h"

#include "routes/render.h"
#include "stats/sample-bytes.h"
#include "target/own-dump.h"
#include "target/reach.h"
#include "text/json-check.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    RENDERING_WAIT_S = 30, /* time to wait for another rendering to end */
};

/* ---- the target itself ---- */

/* A call of a target. */
typedef struct {
    ServiceTarget *owner;
    Target *target; /* NULL: unreachable */
    GError *error;  /* error of the connection or the call; NULL: none */
} Use;

/* Takes exclusive use of the target until give_back(), without the dump limits of an earlier request. */
static Use
take(Job *job)
{
    Use use = {.owner = work_target(job)};
    live_begin_use(use.owner);
    use.target = live_connect(use.owner, &use.error);
    if (use.target != NULL)
        target_set_dump_limits(use.target, &(DumpLimits){.forced = work_is_forced(job)});
    return use;
}

/* What was got in the meantime is only of the target if that has not changed. */
static Outcome
give_back(Use *use, Failure *failure)
{
    Outcome result = OUTCOME_DONE;
    if (use->target != NULL && use->error == NULL)
        live_check_unchanged(use->owner, &use->error);
    if (use->error != NULL)
        result = failure_from_error(use->error, use->target != NULL ? target_errno(use->target) : 0, failure);
    if (use->target != NULL)
        live_note_outcome(use->owner, use->error);
    live_end_use(use->owner);
    g_clear_error(&use->error);
    return result;
}

/* The profiling state last seen; guarded by live_lock(). */
typedef struct {
    gboolean known;
    gboolean active;
} Profiling;

/* Emits an event if profiling has changed: the program and other clients may also switch it, which the next query
 * detects. A change of which the event was left out is detected again. */
static void
note_profiling(ServiceTarget *target, gboolean active, const char *who)
{
    static const LivePart profiling_part = {sizeof(Profiling), NULL};
    Profiling *seen = live_part(target, &profiling_part);
    g_mutex_lock(live_lock(target));
    gboolean changed = seen->known ? seen->active != active : who != NULL;
    *seen = (Profiling){.known = TRUE, .active = active};
    g_mutex_unlock(live_lock(target));
    ServiceEvent event = {.type = active ? SERVICE_EVENT_PROFILING_ON : SERVICE_EVENT_PROFILING_OFF, .who = who};
    if (!changed || live_emit(target, &event))
        return;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    seen->active = !active;
}

Outcome
host_hello(void *job, WireHelloReply *hello, Failure *failure)
{
    Use use = take(job);
    if (use.target != NULL)
        target_hello(use.target, hello, &use.error);
    Outcome result = give_back(&use, failure);
    if (result == OUTCOME_DONE) {
        note_profiling(work_target(job), (hello->flags & WIRE_FLAG_PROF_ACTIVE) != 0, NULL);
        live_note_hello(work_target(job), hello);
    }
    return result;
}

Outcome
host_read(void *job, const char *control, WireType type, WireCtlReply *value, Failure *failure)
{
    Use use = take(job);
    if (use.target != NULL)
        target_read(use.target, control, type, value, &use.error);
    return give_back(&use, failure);
}

static void
tell_written(Job *job, const char *control, WireType type, guint64 value)
{
    static const char *const unremarkable[] = {"epoch", NULL};
    if (g_strv_contains(unremarkable, control))
        return;
    if (strcmp(control, "prof.active") == 0) {
        note_profiling(work_target(job), value != 0, work_who(job));
        return;
    }
    g_autofree char *detail = type == WIRE_TYPE_NONE ? g_strdup(control)
                              : type == WIRE_TYPE_SSIZE
                                  ? g_strdup_printf("%s=%" G_GINT64_FORMAT, control, (gint64)value)
                                  : g_strdup_printf("%s=%" G_GUINT64_FORMAT, control, value);
    /* The decay time is written to each of up to 4096 arenas: one event tells of them all. */
    const char *dot = strrchr(detail, '.');
    if (!work_is_first(job, dot != NULL ? dot : detail))
        return;
    ServiceEvent event = {.type = SERVICE_EVENT_CONTROL, .who = work_who(job), .detail = detail};
    live_emit(work_target(job), &event);
}

Outcome
host_write(void *job, const char *control, WireType type, uint64_t value, Failure *failure)
{
    Use use = take(job);
    if (use.target != NULL)
        target_write(use.target, control, type, value, &use.error);
    Outcome result = give_back(&use, failure);
    if (result == OUTCOME_DONE)
        tell_written(job, control, type, value);
    return result;
}

/* What a target prints may be anything, and is passed on as JSON or UTF-8. */
static gboolean
check_printed(const ServiceTarget *target, int fd, const char *letters, GError **error)
{
    g_autoptr(GMappedFile) printed = g_mapped_file_new_from_fd(fd, FALSE, error);
    if (printed == NULL)
        return FALSE;
    const char *text = g_mapped_file_get_contents(printed);
    const gsize length = g_mapped_file_get_length(printed);
    const gboolean json = strchr(letters, 'J') != NULL;
    if (json ? json_check(text, length) : g_utf8_validate_len(text != NULL ? text : "", length, NULL))
        return TRUE;
    g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL, "%s printed statistics that are not %s",
                service_target_label(target), json ? "JSON" : "UTF-8 text");
    return FALSE;
}

Outcome
host_stats(void *job, const char *letters, int *descriptor, Failure *failure)
{
    Use use = take(job);
    int fd = use.target != NULL ? target_stats(use.target, letters, &use.error) : -1;
    Outcome result = give_back(&use, failure);
    g_autoptr(GError) error = NULL;
    if (result == OUTCOME_DONE && !check_printed(work_target(job), fd, letters, &error))
        result = failure_from_error(error, 0, failure);
    if (result == OUTCOME_DONE)
        *descriptor = fd;
    else if (fd >= 0)
        close(fd);
    return result;
}

Outcome
service_work_take_ledger(const RouteHost *host, LedgerTaken *taken, Failure *failure)
{
    Use use = take(host->data);
    if (use.target != NULL)
        ledger_take(target_process(use.target), use.target, taken, &use.error);
    return give_back(&use, failure);
}

static DumpLimits
limits_of(const RouteCapture *capture)
{
    return capture != NULL ? (DumpLimits){.bytes = capture->output_max, .forced = capture->forced} : (DumpLimits){0};
}

Outcome
host_check_headroom(Job *job, const RouteCapture *capture, Failure *failure)
{
    const DumpLimits limits = limits_of(capture);
    work_set_forced(job, limits.forced); /* for the profiling that begins then, too */
    Use use = take(job);
    if (use.target != NULL) {
        target_set_dump_limits(use.target, &limits);
        target_check_headroom(use.target, &use.error);
    }
    return give_back(&use, failure);
}

Outcome
host_dump(Job *job, const HostDump *wanted, int *descriptor, Failure *failure)
{
    const DumpLimits limits = limits_of(wanted->capture);
    int fd = -1;
    Use use = take(job);
    if (use.target != NULL) {
        target_set_dump_limits(use.target, &limits);
        fd = capture_dump(use.target, wanted->window, CAPTURE_ADDRESSES, &use.error);
    }
    Outcome result = give_back(&use, failure);
    if (result == OUTCOME_DONE)
        *descriptor = fd;
    else if (fd >= 0)
        close(fd);
    return result;
}

Outcome
host_dump_to_own_file(void *job, Failure *failure)
{
    Use use = take(job);
    if (use.target != NULL)
        target_dump_to_own_file(use.target, &use.error);
    /* jemalloc has a single error for all reasons why it cannot write a file. */
    if (use.error == NULL || use.error->domain != TARGET_OWN_DUMP_ERROR)
        return give_back(&use, failure);
    failure_set(failure, OUTCOME_CONTROL_FAILED, "%s", use.error->message);
    failure->error = EFAULT;
    g_clear_error(&use.error);
    give_back(&use, NULL);
    return OUTCOME_CONTROL_FAILED;
}

Outcome
host_lease(void *job, const WireLeaseRequest *request, WireLease *lease, Failure *failure)
{
    Use use = take(job);
    if (use.target != NULL)
        target_lease(use.target, request, lease, &use.error);
    Outcome result = give_back(&use, failure);
    if (result == OUTCOME_DONE && request->action == WIRE_LEASE_TAKE) {
        lending_note(work_target(job));
        note_profiling(work_target(job), request->active != 0, work_who(job));
    }
    return result;
}

/* ---- kept dumps ---- */

Outcome
host_keep_dump(Job *job, int descriptor, guint64 recording, RouteDump *dump, Failure *failure)
{
    ServiceTarget *target = work_target(job);
    *dump = (RouteDump){.recording = recording, .taken_ms = (guint64)g_get_real_time() / 1000};
    gint64 incarnation;
    g_autoptr(GError) error = NULL;
    if (!live_incarnation(target, &incarnation, &error) ||
        !shared_history_add_dump(live_service(target)->history, incarnation, descriptor, dump, &error))
        return failure_from_error(error, 0, failure);
    live_set_kept(target);
    ServiceEvent event = {.type = SERVICE_EVENT_DUMP, .subject = dump->id, .who = work_who(job)};
    live_emit(target, &event);
    return OUTCOME_DONE;
}

static Outcome
open_dump_of(Job *job, gint64 incarnation, uint64_t id, int *descriptor, Failure *failure)
{
    g_autoptr(GError) error = NULL;
    int fd = shared_history_open_dump(live_service(work_target(job))->history, incarnation, id, &error);
    if (fd < 0)
        return failure_from_error(error, 0, failure);
    *descriptor = fd;
    return OUTCOME_DONE;
}

Outcome
host_open_dump(void *job, uint64_t id, int *descriptor, Failure *failure)
{
    gint64 incarnation;
    g_autoptr(GError) error = NULL;
    if (!live_incarnation(work_target(job), &incarnation, &error))
        return failure_from_error(error, 0, failure);
    return open_dump_of(job, incarnation, id, descriptor, failure);
}

/* A viewer of a target sees all targets of its user, if all of their ids are the user's. Dumps of other users are
 * treated as missing: they could name files that only their own user may read. */
Outcome
host_find_base(Job *job, uint64_t id, gint64 *incarnation, Failure *failure)
{
    ServiceTarget *target = work_target(job);
    const uid_t viewer = process_viewer(live_process(target));
    gint64 own, user;
    g_autoptr(GError) error = NULL;
    if (!live_incarnation(target, &own, &error))
        return failure_from_error(error, 0, failure);
    g_autoptr(HistoryHold) hold = shared_history_hold(live_service(target)->history);
    if (!history_dump_find(hold->history, id, incarnation, &user, &error))
        return failure_from_error(error, 0, failure);
    if (*incarnation != own && (viewer == (uid_t)-1 || user != (gint64)viewer))
        return failure_set(failure, OUTCOME_NOT_FOUND, "there is no dump %" G_GUINT64_FORMAT " (any more)", id);
    return OUTCOME_DONE;
}

Outcome
host_open_base(void *job, uint64_t id, int *descriptor, Failure *failure)
{
    gint64 incarnation;
    Outcome result = host_find_base(job, id, &incarnation, failure);
    return result == OUTCOME_DONE ? open_dump_of(job, incarnation, id, descriptor, failure) : result;
}

/* ---- renderings ---- */

/* A rendering, and how it waits for others to end. */
typedef struct {
    guint64 account;
    guint64 peer;
    GList link; /* in Service.renderings, until its turn has come */
    gboolean begun;
    gint64 began_us;
} RenderingTurn;

/* With Service.lock. */
static gboolean
has_renderings(const Service *service, guint64 peer)
{
    guint n = 0;
    for (const GList *link = service->rendering.head; peer != 0 && link != NULL; link = link->next)
        n += ((const RenderingTurn *)link->data)->peer == peer;
    return n >= MAX(service->options.limits.renderings / 2, 1);
}

/* With Service.lock. */
static void
begin_renderings(Service *service)
{
    GList *next;
    while ((next = turns_next(&service->renderings, g_get_monotonic_time())) != NULL)
        ((RenderingTurn *)next->data)->begun = TRUE;
    g_cond_broadcast(&service->rendering_done);
}

/* Users take turns as for threads, so that those of one with several user ids, whose reports take as long as they may,
 * do not keep others from having any; nor do those of one peer, which first waits for its own. */
static gboolean
begin_rendering(Service *service, RenderingTurn *turn)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    while (has_renderings(service, turn->peer))
        g_cond_wait(&service->rendering_done, &service->lock);
    const gint64 until = g_get_monotonic_time() + RENDERING_WAIT_S * G_USEC_PER_SEC;
    turn->link.data = turn;
    g_queue_push_tail(&service->rendering, turn);
    turns_enter(&service->renderings, turn->account, &turn->link, g_get_monotonic_time());
    begin_renderings(service);
    while (!turn->begun && g_cond_wait_until(&service->rendering_done, &service->lock, until))
        continue;
    turn->began_us = g_get_monotonic_time();
    if (turn->begun)
        return TRUE;
    turns_withdraw(&service->renderings, turn->account, &turn->link);
    g_queue_remove(&service->rendering, turn);
    g_cond_broadcast(&service->rendering_done);
    return FALSE;
}

static void
end_rendering(Service *service, const RenderingTurn *turn)
{
    const gint64 now_us = g_get_monotonic_time();
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    turns_done(&service->renderings, turn->account, now_us - turn->began_us, now_us);
    g_queue_remove(&service->rendering, turn);
    begin_renderings(service);
}

static RenderSetup
setup_of(const ServiceLimits *limits, pid_t pid)
{
    return (RenderSetup){
        .program = RENDER_SELF, .pid = pid, .seconds = limits->rendering_seconds, .bytes = limits->rendering_bytes};
}

static Outcome
fail_crowded(const Service *service, Failure *failure)
{
    return failure_set(failure, OUTCOME_CROWDED, "%u reports are already being made; try again in a moment",
                       service->options.limits.renderings);
}

/* Renders with the rights of ROOT, or if NULL, with those of this process. */
static Outcome
render_by(Service *service, const ServiceRoot *root, const ServiceRender *wanted, int *descriptor, Failure *failure)
{
    RenderSetup setup = setup_of(&service->options.limits, wanted->pid);
    setup.title = wanted->title;
    setup.no_files = wanted->no_files;
    RenderingTurn turn = {.account = wanted->account, .peer = wanted->peer};
    if (!begin_rendering(service, &turn))
        return fail_crowded(service, failure);
    Outcome result = root != NULL ? root->render(&setup, wanted->rendering, descriptor, failure)
                                  : render_report(&setup, wanted->rendering, descriptor, failure);
    end_rendering(service, &turn);
    return result;
}

Outcome
service_render(Service *service, const ServiceRender *wanted, int *descriptor, Failure *failure)
{
    return render_by(service, wanted->no_files ? NULL : service->options.root, wanted, descriptor, failure);
}

/* The pid; 0 if it has exited, or become another user's. */
static pid_t
live_pid(const ServiceTarget *target)
{
    return live_check_unchanged(target, NULL) ? live_process(target)->pid : 0;
}

/* The names in a report may be those of the files of another process, or of another user's program, if its process has
 * changed meanwhile: it is made again, without files. */
static void
discard(Outcome result, int *descriptor)
{
    if (result == OUTCOME_DONE)
        close(*descriptor);
    *descriptor = -1;
}

Outcome
host_render(void *job, const RouteRendering *rendering, int *descriptor, Failure *failure)
{
    const ServiceTarget *target = work_target(job);
    ServiceRender wanted = {.account = live_account(target),
                            .peer = work_peer(job),
                            .title = service_target_label(target),
                            .pid = live_pid(target),
                            .rendering = rendering};
    /* The report does not need the target, so other work on it may begin. */
    work_release(job);
    Outcome result = service_render(live_service(target), &wanted, descriptor, failure);
    if (wanted.pid == 0 || live_pid(target) != 0)
        return result;
    discard(result, descriptor);
    wanted.pid = 0;
    return service_render(live_service(target), &wanted, descriptor, failure);
}

/* ---- growth ---- */

static Outcome
render_growth_of(Job *job, const RenderGrowth *wanted, int *descriptor, Failure *failure)
{
    ServiceTarget *target = work_target(job);
    RenderingTurn turn = {.account = live_account(target), .peer = work_peer(job)};
    Service *service = live_service(target);
    const ServiceRoot *root = service->options.root;
    RenderSetup setup = setup_of(&service->options.limits, live_pid(target));
    if (!begin_rendering(service, &turn))
        return fail_crowded(service, failure);
    Outcome (*const make)(const RenderSetup *, const RenderGrowth *, int *, Failure *) =
        root != NULL ? root->growth : render_growth;
    Outcome result = make(&setup, wanted, descriptor, failure);
    if (setup.pid != 0 && live_pid(target) == 0) {
        discard(result, descriptor);
        setup.pid = 0;
        result = make(&setup, wanted, descriptor, failure);
    }
    end_rendering(service, &turn);
    return result;
}

Outcome
service_work_growth(const RouteHost *host, const ServiceGrowth *wanted, int *descriptor, Failure *failure)
{
    int dumps[RENDER_GROWTH_MAX];
    const RenderGrowth growth = {.options = wanted->options, .dumps = dumps, .ids = wanted->ids, .n = wanted->n};
    Outcome result = OUTCOME_DONE;
    gsize opened = 0;
    while (opened < wanted->n && result == OUTCOME_DONE) {
        result = host_open_dump(host->data, wanted->ids[opened], &dumps[opened], failure);
        opened += result == OUTCOME_DONE;
    }
    work_release(host->data);
    if (result == OUTCOME_DONE)
        result = render_growth_of(host->data, &growth, descriptor, failure);
    while (opened > 0)
        close(dumps[--opened]);
    return result;
}

/* ---- examinations ---- */

static bool
is_waited_for(void *data)
{
    const RouteHost host = {.data = data};
    return service_work_is_wanted(&host);
}

static gboolean
keep_sample(StatsSample *sample, gpointer data, GError **error)
{
    sample_bytes_file_add(data, sample);
    return TRUE;
}

/* A ServiceReadFunc that returns the samples of a process as a SampleBytesFile; DATA is its ServiceTarget. */
static gpointer
read_kept(History *history, gpointer data, GError **error)
{
    const ServiceTarget *target = data;
    const HistoryRange life = {.from_us = process_started_us(live_process(target)->start_time), .to_us = G_MAXINT64};
    g_autoptr(SampleBytesFile) file = sample_bytes_file_new();
    StatsIterator *samples = history_iterator_new(history, service_target_series(target), life,
                                                  HISTORY_TOTALS | HISTORY_ARENAS | HISTORY_CLASSES, error);
    gboolean fine = samples != NULL && samples->each(samples, keep_sample, file, error);
    if (samples != NULL)
        samples->free(samples);
    return fine ? g_steal_pointer(&file) : NULL;
}

/* Opens a file with the kept samples of the process, so that the doctor can find growth that is too slow for a watch;
 * -1 if there are none. */
static int
open_kept(const RouteHost *host)
{
    g_autoptr(SampleBytesFile) file = service_work_read_history(host, read_kept, work_target(host->data), NULL);
    int fd = file != NULL ? memfd_create("jescope-samples", MFD_CLOEXEC) : -1;
    if (fd >= 0 && !sample_bytes_file_write(file, fd)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static Outcome
examine(const RenderSetup *setup, const ServiceTarget *target, const RenderExamination *wanted, int *descriptor,
        Failure *failure)
{
    const ServiceRoot *root = live_service(target)->options.root;
    const ServiceExamination by_root = {
        .address = live_address(target), .watch_ms = wanted->watch_ms, .kept = wanted->kept};
    return root != NULL ? root->examine(setup, &by_root, descriptor, failure)
                        : render_examination(setup, wanted, descriptor, failure);
}

Outcome
service_work_examine(const RouteHost *host, guint64 watch_ms, int *descriptor, Failure *failure)
{
    const ServiceTarget *target = work_target(host->data);
    const ServiceLimits *limits = &live_service(target)->options.limits;
    const Process *process = live_process(target);
    const RenderSetup setup = {.program = RENDER_SELF,
                               .pid = process->pid,
                               .start_time = process->start_time,
                               .seconds = (unsigned)(watch_ms / 1000) + limits->rendering_seconds,
                               .bytes = limits->rendering_bytes,
                               .is_wanted = is_waited_for,
                               .data = host->data};
    Outcome result = OUTCOME_GONE;
    /* The child connects to the target itself. */
    work_release(host->data);
    const RenderExamination wanted = {
        .watch_ms = watch_ms, .via = live_is_named(target) ? NULL : "agent", .kept = open_kept(host)};
    g_autoptr(GError) changed = NULL;
    if (live_check_unchanged(target, &changed))
        result = examine(&setup, target, &wanted, descriptor, failure);
    if (wanted.kept >= 0)
        close(wanted.kept);
    if (changed == NULL && live_check_unchanged(target, &changed))
        return result;
    if (result == OUTCOME_DONE)
        close(*descriptor);
    return failure_from_error(changed, 0, failure);
}

Outcome
host_symbolize(Job *job, int *descriptor, Failure *failure)
{
    const RouteRendering rendering = {.format = "symbolized", .dump = *descriptor, .base = -1};
    int named = -1;
    Outcome result = host_render(job, &rendering, &named, failure);
    if (result == OUTCOME_DONE) {
        close(*descriptor);
        *descriptor = named;
    }
    return result;
}
