/* SPDX-License-Identifier: Apache-2.0 */
#include "service/route-host.h"

#include "service/failure.h"
#include "service/host.h"
#include "service/live.h"
#include "service/published-bytes.h"
#include "service/recordings.h"

#include "routes/publish.h"
#include "target/arguments.h"
#include "target/reach-open.h"
#include "wire/transfer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PROC_MAX = 64 * 1024 * 1024, /* bytes of a memory map */
};

/* ---- the process ---- */

/* Whether what was read in /proc/PID is this process's, and it is still the user's who may see it. */
static Outcome
check_unchanged(const ServiceTarget *target, Failure *failure)
{
    g_autoptr(GError) error = NULL;
    return live_check_unchanged(target, &error) ? OUTCOME_DONE : failure_from_error(error, 0, failure);
}

static Outcome
on_variable(void *host, const char *name, char *text, size_t size, Failure *failure)
{
    const ServiceTarget *target = work_target(host);
    g_autofree char *value = process_variable(live_process(target)->pid, name);
    Outcome result = check_unchanged(target, failure);
    if (result != OUTCOME_DONE)
        return result;
    const char *found = value != NULL ? value : "";
    if (strlen(found) >= size)
        return failure_set(failure, OUTCOME_SYSTEM, "the variable %s of %s is longer than %zu bytes", name,
                           service_target_label(target), size - 1);
    g_strlcpy(text, found, size);
    return OUTCOME_DONE;
}

static Outcome
on_cmdline(void *host, char *text, size_t size, size_t *n, Failure *failure)
{
    const ServiceTarget *target = work_target(host);
    gsize length;
    g_autofree char *words = process_text(live_process(target)->pid, "cmdline", size, &length);
    const int error = errno;
    Outcome result = check_unchanged(target, failure);
    if (result != OUTCOME_DONE)
        return result;
    if (words == NULL)
        return failure_set_error(failure, OUTCOME_SYSTEM, error, "cannot read the arguments");
    g_autoptr(GString) shown = arguments_words(words, length);
    *n = MIN(shown->len, size);
    memcpy(text, shown->str, *n);
    return OUTCOME_DONE;
}

static Outcome
on_maps(void *host, int *descriptor, Failure *failure)
{
    const ServiceTarget *target = work_target(host);
    int from = reach_open(live_process(target), REACH_MAPS);
    int to = memfd_create("jescope-maps", MFD_CLOEXEC);
    const gboolean copied = from >= 0 && to >= 0 && transfer_copy(from, to, PROC_MAX) && lseek(to, 0, SEEK_SET) == 0;
    const int error = errno;
    Outcome result = check_unchanged(target, failure);
    if (result == OUTCOME_DONE && !copied)
        result = failure_set_error(failure, OUTCOME_SYSTEM, error, "cannot read the memory map");
    if (result == OUTCOME_DONE)
        *descriptor = to;
    else if (to >= 0)
        close(to);
    if (from >= 0)
        close(from);
    return result;
}

/* ---- dumps and recordings ---- */

static Outcome
on_dump(void *host, const RouteCapture *capture, int *descriptor, Failure *failure)
{
    const HostDump wanted = {.capture = capture};
    return host_dump(host, &wanted, descriptor, failure);
}

static Outcome
on_dump_take(void *host, const RouteCapture *capture, RouteDump *dump, Failure *failure)
{
    const HostDump wanted = {.capture = capture};
    int fd = -1;
    Outcome result = host_dump(host, &wanted, &fd, failure);
    if (result != OUTCOME_DONE)
        return result;
    if (capture != NULL && capture->symbolized)
        result = host_symbolize(host, &fd, failure);
    if (result == OUTCOME_DONE)
        result = host_keep_dump(host, fd, 0, dump, failure);
    close(fd);
    return result;
}

static size_t
on_dumps(void *host, RouteDump *rows, size_t n)
{
    ServiceTarget *target = work_target(host);
    gint64 incarnation;
    if (!live_incarnation(target, &incarnation, NULL))
        return 0;
    g_autoptr(HistoryHold) hold = shared_history_hold(live_service(target)->history);
    g_autoptr(GArray) dumps = history_dumps(hold->history, incarnation, (guint)n, NULL);
    if (dumps == NULL)
        return 0;
    for (guint i = 0; i < dumps->len; i++)
        rows[i] = g_array_index(dumps, RouteDump, i);
    return dumps->len;
}

static Outcome
on_delta_open(void *host, int *descriptor, Failure *failure)
{
    const ServiceTarget *target = work_target(host);
    *descriptor = held_files_find(live_service(target)->bases, service_target_unique(target));
    return OUTCOME_DONE;
}

static void
on_delta_keep(void *host, int dump)
{
    const ServiceTarget *target = work_target(host);
    if (service_target_state(target) != SERVICE_TARGET_GONE)
        held_files_add(live_service(target)->bases, service_target_unique(target), live_account(target), dump);
}

static size_t
on_recordings(void *host, RouteRecording *rows, size_t n)
{
    return recordings_list(work_target(host), rows, n);
}

typedef struct {
    GMutex lock;
    Published published;
    guint64 bytes[ROUTE_N_FILES];
    uid_t user;
} Publication;

static void
clear_publication(gpointer part)
{
    Publication *publication = part;
    for (int file = 0; file < ROUTE_N_FILES; file++)
        published_bytes_change(publication->user, publication->bytes[file], 0);
    publish_remove(&publication->published);
    g_mutex_clear(&publication->lock);
}

/* The target's user may have changed since the bytes were counted. */
static gboolean
has_bytes(const Publication *publication)
{
    guint64 bytes = 0;
    for (int file = 0; file < ROUTE_N_FILES; file++)
        bytes |= publication->bytes[file];
    return bytes != 0;
}

/* Uses jescope's own TMPDIR: the target's may belong to another user, or be in another root. */
static Outcome
on_publish(void *host, const RoutePublication *what, Failure *failure)
{
    static const LivePart publication_part = {sizeof(Publication), clear_publication};
    Publication *publication = live_part(work_target(host), &publication_part);
    ServiceTarget *target = work_target(host);
    struct stat status;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&publication->lock);
    publication->user = has_bytes(publication) ? publication->user : live_account(target);
    guint64 *before = &publication->bytes[what->file];
    const guint64 wanted = what->descriptor >= 0 && fstat(what->descriptor, &status) == 0 ? (guint64)status.st_size : 0;
    const guint64 most = MAX(*before, wanted);
    if (!published_bytes_change(publication->user, *before, most))
        return failure_set(failure, OUTCOME_TOO_LARGE,
                           "the files that are published of user %u would have more than %d MiB; end one of its "
                           "targets, or fetch the dump by /api/v1",
                           publication->user, PUBLISHED_BYTES_MAX >> 20);
    Outcome result = publish_put(&publication->published, g_get_tmp_dir(), what, failure);
    /* What is there now need not be what was to be written. */
    guint64 now = most;
    publish_size(&publication->published, what->file, &now);
    *before = now;
    published_bytes_change(publication->user, most, now);
    return result;
}

static void
on_status(void *host, RouteStatus *status)
{
    service_target_status(work_target(host), status);
}

static void
on_pause(void *host, uint64_t ms)
{
    work_release(host);
    g_usleep(ms * 1000);
}

gpointer
route_host_run(Job *job, ServiceWorkFunc func, gpointer data)
{
    static const RouteHostOps ops = {
        .hello = host_hello,
        .read = host_read,
        .write = host_write,
        .stats = host_stats,
        .dump = on_dump,
        .dump_to_own_file = host_dump_to_own_file,
        .lease = host_lease,
        .variable = on_variable,
        .cmdline = on_cmdline,
        .maps = on_maps,
        .recording_start = recordings_start,
        .recording_stop = recordings_stop,
        .recordings = on_recordings,
        .dump_take = on_dump_take,
        .dumps = on_dumps,
        .dump_open = host_open_dump,
        .base_open = host_open_base,
        .delta_open = on_delta_open,
        .delta_keep = on_delta_keep,
        .render = host_render,
        .page = host_page,
        .publish = on_publish,
        .status = on_status,
        .pause = on_pause,
    };
    RouteHost host = {.ops = &ops, .data = job};
    return func(&host, data);
}
