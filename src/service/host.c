/* SPDX-License-Identifier: Apache-2.0 */
#include "service/host.h"

#include "service/failure.h"
#include "service/target.h"

#include "routes/render.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PROC_MAX = 64 * 1024 * 1024, /* bytes of a memory map */
    CHUNK = 64 * 1024,
    RENDERING_WAIT_S = 30, /* for one of the others to end */
};

/* ---- the target itself ---- */

/* Takes the target; NULL with FAILURE filled and *RESULT set, and not taken. */
static Target *
take(ServiceTarget *target, RouteResult *result, RouteFailure *failure)
{
    g_autoptr(GError) error = NULL;
    g_mutex_lock(&target->use);
    Target *connected = target_connect(target, &error);
    if (connected != NULL)
        return connected;
    g_mutex_unlock(&target->use);
    *result = failure_from_error(error, 0, failure);
    return NULL;
}

/* Gives the target back after a call that went as ERROR (taken over, may be NULL) says. */
static RouteResult
give_back(ServiceTarget *target, GError *error, RouteFailure *failure)
{
    RouteResult result = error != NULL ? failure_from_error(error, target_errno(target->target), failure) : ROUTE_DONE;
    target_note_outcome(target, error);
    g_mutex_unlock(&target->use);
    g_clear_error(&error);
    return result;
}

/* The program and other clients switch profiling as well; whoever looks next finds out. */
static void
note_profiling(ServiceTarget *target, gboolean active, const char *who)
{
    g_mutex_lock(&target->lock);
    gboolean changed = target->profiling != active && (target->profiling >= 0 || who != NULL);
    target->profiling = active;
    g_mutex_unlock(&target->lock);
    ServiceEvent event = {.type = active ? SERVICE_EVENT_PROFILING_ON : SERVICE_EVENT_PROFILING_OFF, .who = who};
    if (changed)
        target_tell(target, &event);
}

RouteResult
host_hello(Job *job, WireHelloReply *hello, RouteFailure *failure)
{
    ServiceTarget *target = work_target(job);
    RouteResult result;
    GError *error = NULL;
    Target *taken = take(target, &result, failure);
    if (taken == NULL)
        return result;
    WireHelloReply answer;
    target_hello(taken, &answer, &error);
    result = give_back(target, error, failure);
    if (result == ROUTE_DONE) {
        note_profiling(target, (answer.flags & WIRE_FLAG_PROF_ACTIVE) != 0, NULL);
        *hello = answer;
    }
    return result;
}

static RouteResult
on_hello(void *host, WireHelloReply *hello, RouteFailure *failure)
{
    return host_hello(host, hello, failure);
}

static RouteResult
on_read(void *host, const char *control, WireType type, RouteValue *value, RouteFailure *failure)
{
    ServiceTarget *target = work_target(host);
    RouteResult result;
    GError *error = NULL;
    Target *taken = take(target, &result, failure);
    if (taken == NULL)
        return result;
    ControlValue read;
    target_read(taken, control, type, &read, &error);
    result = give_back(target, error, failure);
    if (result == ROUTE_DONE) {
        value->value = read.value;
        g_strlcpy(value->text, read.text, sizeof(value->text));
    }
    return result;
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
    ServiceEvent event = {.type = SERVICE_EVENT_CONTROL, .who = work_who(job), .detail = detail};
    target_tell(work_target(job), &event);
}

RouteResult
host_write(Job *job, const char *control, WireType type, uint64_t value, RouteFailure *failure)
{
    ServiceTarget *target = work_target(job);
    RouteResult result;
    GError *error = NULL;
    Target *taken = take(target, &result, failure);
    if (taken == NULL)
        return result;
    target_write(taken, control, type, value, &error);
    result = give_back(target, error, failure);
    if (result == ROUTE_DONE)
        tell_written(job, control, type, value);
    return result;
}

static RouteResult
on_write(void *host, const char *control, WireType type, uint64_t value, RouteFailure *failure)
{
    return host_write(host, control, type, value, failure);
}

static RouteResult
on_stats(void *host, const char *letters, int *descriptor, RouteFailure *failure)
{
    ServiceTarget *target = work_target(host);
    RouteResult result;
    GError *error = NULL;
    Target *taken = take(target, &result, failure);
    if (taken == NULL)
        return result;
    int fd = target_stats(taken, letters, &error);
    result = give_back(target, error, failure);
    if (result == ROUTE_DONE)
        *descriptor = fd;
    return result;
}

RouteResult
host_dump(Job *job, int *descriptor, RouteFailure *failure)
{
    ServiceTarget *target = work_target(job);
    RouteResult result;
    GError *error = NULL;
    Target *taken = take(target, &result, failure);
    if (taken == NULL)
        return result;
    int fd = target_dump(taken, &error);
    result = give_back(target, error, failure);
    if (result == ROUTE_DONE)
        *descriptor = fd;
    return result;
}

static RouteResult
on_dump(void *host, int *descriptor, RouteFailure *failure)
{
    return host_dump(host, descriptor, failure);
}

RouteResult
host_lease(Job *job, const WireLeaseRequest *request, WireLease *lease, RouteFailure *failure)
{
    ServiceTarget *target = work_target(job);
    LeaseRequest wanted = {.action = request->action,
                           .id = request->lease_id,
                           .duration_ms = request->duration_ms,
                           .active = request->active != 0};
    RouteResult result;
    GError *error = NULL;
    Target *taken = take(target, &result, failure);
    if (taken == NULL)
        return result;
    WireLease granted;
    target_lease(taken, &wanted, &granted, &error);
    result = give_back(target, error, failure);
    if (result != ROUTE_DONE)
        return result;
    if (request->action == WIRE_LEASE_TAKE)
        note_profiling(target, wanted.active, work_who(job));
    *lease = granted;
    return ROUTE_DONE;
}

static RouteResult
on_lease(void *host, const WireLeaseRequest *request, WireLease *lease, RouteFailure *failure)
{
    return host_lease(host, request, lease, failure);
}

/* ---- the process ---- */

/* Whether the files of /proc/PID are still this process's. */
static RouteResult
check_alive(const ServiceTarget *target, RouteFailure *failure)
{
    if (process_alive(target->process.pid, target->process.start_time))
        return ROUTE_DONE;
    return failure_set(failure, ROUTE_GONE, "%s has ended", target->label);
}

static int
open_proc(const ServiceTarget *target, const char *file)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/%s", (int)target->process.pid, file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static RouteResult
on_variable(void *host, const char *name, char *text, size_t size, RouteFailure *failure)
{
    const ServiceTarget *target = work_target(host);
    RouteResult result = check_alive(target, failure);
    if (result != ROUTE_DONE)
        return result;
    g_autofree char *value = process_variable(target->process.pid, name);
    const char *found = value != NULL ? value : "";
    if (strlen(found) >= size)
        return failure_set(failure, ROUTE_SYSTEM, "the variable %s of %s is longer than %zu bytes", name, target->label,
                           size - 1);
    g_strlcpy(text, found, size);
    return ROUTE_DONE;
}

static RouteResult
on_cmdline(void *host, char *text, size_t size, size_t *n, RouteFailure *failure)
{
    const ServiceTarget *target = work_target(host);
    RouteResult result = check_alive(target, failure);
    if (result != ROUTE_DONE)
        return result;
    int fd = open_proc(target, "cmdline");
    ssize_t length = fd >= 0 ? read(fd, text, size) : -1;
    if (length < 0)
        result = failure_from_errno(failure, "read the arguments");
    else
        *n = (size_t)length;
    if (fd >= 0)
        close(fd);
    return result;
}

static gboolean
copy_all(int from, int to)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    for (gsize total = 0;;) {
        ssize_t length = read(from, chunk, CHUNK);
        if (length <= 0)
            return length == 0;
        total += (gsize)length;
        if (total > PROC_MAX || write(to, chunk, (size_t)length) != length) {
            errno = total > PROC_MAX ? EFBIG : errno;
            return FALSE;
        }
    }
}

static RouteResult
on_maps(void *host, int *descriptor, RouteFailure *failure)
{
    const ServiceTarget *target = work_target(host);
    RouteResult result = check_alive(target, failure);
    if (result != ROUTE_DONE)
        return result;
    int from = open_proc(target, "maps");
    int to = memfd_create("jescope-maps", MFD_CLOEXEC);
    if (from >= 0 && to >= 0 && copy_all(from, to) && lseek(to, 0, SEEK_SET) == 0) {
        *descriptor = to;
    } else {
        result = failure_from_errno(failure, "read the memory map");
        if (to >= 0)
            close(to);
    }
    if (from >= 0)
        close(from);
    return result;
}

/* ---- what is kept ---- */

RouteResult
host_keep_dump(Job *job, int descriptor, guint64 recording, RouteDump *dump, RouteFailure *failure)
{
    ServiceTarget *target = work_target(job);
    HistoryDump kept = {.recording = recording, .taken_ms = g_get_real_time() / 1000};
    gint64 incarnation;
    g_autoptr(GError) error = NULL;
    if (!target_life(target, &incarnation, &error) ||
        !keep_dump_add(target->service->keep, incarnation, descriptor, &kept, &error))
        return failure_from_error(error, 0, failure);
    g_mutex_lock(&target->lock);
    target->has_kept = TRUE;
    g_mutex_unlock(&target->lock);
    ServiceEvent event = {.type = SERVICE_EVENT_DUMP, .subject = kept.id, .who = work_who(job)};
    target_tell(target, &event);
    *dump = (RouteDump){.id = kept.id, .recording = recording, .taken_ms = (guint64)kept.taken_ms, .bytes = kept.bytes};
    return ROUTE_DONE;
}

static RouteResult
on_dump_take(void *host, RouteDump *dump, RouteFailure *failure)
{
    int fd = -1;
    RouteResult result = host_dump(host, &fd, failure);
    if (result != ROUTE_DONE)
        return result;
    result = host_keep_dump(host, fd, 0, dump, failure);
    close(fd);
    return result;
}

static size_t
on_dumps(void *host, RouteDump *rows, size_t n)
{
    ServiceTarget *target = work_target(host);
    gint64 incarnation;
    if (!target_life(target, &incarnation, NULL))
        return 0;
    g_autoptr(GArray) dumps = keep_dumps(target->service->keep, incarnation, (guint)n, NULL);
    for (guint i = 0; dumps != NULL && i < dumps->len; i++) {
        const HistoryDump *dump = &g_array_index(dumps, HistoryDump, i);
        rows[i] = (RouteDump){
            .id = dump->id, .recording = dump->recording, .taken_ms = (guint64)dump->taken_ms, .bytes = dump->bytes};
    }
    return dumps != NULL ? dumps->len : 0;
}

static RouteResult
on_dump_open(void *host, uint64_t id, int *descriptor, RouteFailure *failure)
{
    ServiceTarget *target = work_target(host);
    gint64 incarnation;
    g_autoptr(GError) error = NULL;
    int fd =
        target_life(target, &incarnation, &error) ? keep_dump_open(target->service->keep, incarnation, id, &error) : -1;
    if (fd < 0)
        return failure_from_error(error, 0, failure);
    *descriptor = fd;
    return ROUTE_DONE;
}

static RouteResult
on_delta(void *host, int dump, int *previous, RouteFailure *failure)
{
    ServiceTarget *target = work_target(host);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    if (target->state == SERVICE_TARGET_GONE) {
        close(dump);
        return failure_set(failure, ROUTE_GONE, "%s has ended", target->label);
    }
    *previous = target->delta;
    target->delta = dump;
    return ROUTE_DONE;
}

static RouteResult
on_recording_start(void *host, uint64_t duration_ms, RouteRecording *recording, RouteFailure *failure)
{
    return recordings_start(host, duration_ms, recording, failure);
}

static RouteResult
on_recording_stop(void *host, uint64_t id, RouteRecording *recording, RouteFailure *failure)
{
    return recordings_stop(host, id, recording, failure);
}

static size_t
on_recordings(void *host, RouteRecording *rows, size_t n)
{
    return recordings_list(work_target(host), rows, n);
}

/* ---- renderings ---- */

static gboolean
begin_rendering(Service *service)
{
    gint64 until = g_get_monotonic_time() + RENDERING_WAIT_S * G_USEC_PER_SEC;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    while (service->renderings >= service->options.limits.renderings)
        if (!g_cond_wait_until(&service->rendering_done, &service->lock, until))
            return FALSE;
    service->renderings++;
    return TRUE;
}

static void
end_rendering(Service *service)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    service->renderings--;
    g_cond_signal(&service->rendering_done);
}

static RouteResult
on_render(void *host, const RouteRendering *rendering, int *descriptor, RouteFailure *failure)
{
    const ServiceTarget *target = work_target(host);
    Service *service = target->service;
    const ServiceLimits *limits = &service->options.limits;
    gboolean alive = process_alive(target->process.pid, target->process.start_time);
    RenderSetup setup = {.program = RENDER_SELF,
                         .title = target->label,
                         .pid = alive ? target->process.pid : 0,
                         .seconds = limits->rendering_seconds,
                         .bytes = limits->rendering_bytes};
    /* The target is not needed for it, and others need not wait. */
    work_let_go(host);
    if (!begin_rendering(service))
        return failure_set(failure, ROUTE_CROWDED, "%u reports are being made already; try again in a moment",
                           limits->renderings);
    RouteResult result = render_report(&setup, rendering, descriptor, failure);
    end_rendering(service);
    return result;
}

static void
on_pause(void *host, uint64_t ms)
{
    work_let_go(host);
    g_usleep(ms * 1000);
}

gpointer
host_run(Job *job, ServiceWorkFunc func, gpointer data)
{
    static const RouteHostOps ops = {
        .hello = on_hello,
        .read = on_read,
        .write = on_write,
        .stats = on_stats,
        .dump = on_dump,
        .lease = on_lease,
        .variable = on_variable,
        .cmdline = on_cmdline,
        .maps = on_maps,
        .recording_start = on_recording_start,
        .recording_stop = on_recording_stop,
        .recordings = on_recordings,
        .dump_take = on_dump_take,
        .dumps = on_dumps,
        .dump_open = on_dump_open,
        .delta = on_delta,
        .render = on_render,
        .pause = on_pause,
    };
    RouteHost host = {.ops = &ops, .data = job, .directory = work_target(job)->directory};
    return func(&host, data);
}
