/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/observer.h"

#include "source/capture.h"
#include "target/cgroup.h"
#include "target/pressure.h"
#include "target/process-end.h"
#include "target/unit.h"
#include "text/size.h"
#include "wire/recorder.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    KILLS_KEPT_US = 2000000, /* age of the counters that the last ones are compared with: a victim takes time to die */
    STATUS_WAIT_US = 1000000,
    STATUS_STEP_US = 10000,
    LIKELY_LEFT_PERCENT = 5,
    UNIT_WAIT_US = 3000000,
    UNPROFILED_MS = 60000,
    DUMP_SHARE = 4, /* a dump may have at most a quarter of the quota's bytes */
};

struct BlackboxObserver {
    pid_t pid;
    char *label; /* "redis-server (4711)" */
    ProcessEnd *end;
    BlackboxKeeper *keeper;
    ObserverOptions options;
    Unit unit; /* at the start; its name is "" if there is none */
    CgroupGauge *gauge;
    PressureWatch *pressure; /* NULL: the process has no variables for it */
    guint64 pressed;         /* number of its events */
    Pacer pacer;
    CgroupReading reading;     /* the latest */
    CgroupReading earlier;     /* the previous one */
    gint64 read_us;            /* CLOCK_REALTIME */
    guint64 kills, kills_next; /* oom_kills of at least KILLS_KEPT_US ago, and the next value of it */
    gint64 kills_us;
    gint64 profile_us; /* of the last dump that was kept, CLOCK_REALTIME; 0: none */
    Recorder recorder; /* of the lease; lease 0: none */
    guint64 tend_ms;   /* monotonic time of the next check of the lease */
    gboolean lent;     /* another client uses profiling for a time */
    gboolean was_on;   /* profiling was on at the last check without a lease */
    gboolean unwanted; /* another client switched profiling off */
};

static gboolean
open_process(BlackboxObserver *observer, const Process *process, GError **error)
{
    observer->end = process_end_new(process->pid);
    const int code = observer->end == NULL ? errno : 0;
    if (observer->end != NULL && process_alive(process->pid, process->start_time))
        return TRUE;
    g_set_error(error, BLACKBOX_ERROR, BLACKBOX_ERROR_FILE, "cannot watch %s: %s", observer->label,
                code != 0 ? g_strerror(code) : "it has ended");
    return FALSE;
}

BlackboxObserver *
observer_new(const Process *process, const ObserverOptions *options, GError **error)
{
    g_autoptr(BlackboxObserver) observer = g_new0(BlackboxObserver, 1);
    observer->pid = process->pid;
    observer->label = g_strdup_printf("%s (%d)", process->name, (int)process->pid);
    g_autofree char *group = cgroup_path((int)process->pid);
    if (group == NULL || !unit_of_path(group, &observer->unit))
        observer->unit = (Unit){0};
    observer->gauge = cgroup_gauge_new();
    observer->pressure = pressure_watch_new((int)process->pid);
    observer->recorder.yields = true;
    observer->options = *options;
    if (!open_process(observer, process, error))
        return NULL;
    observer->keeper = blackbox_keeper_new(options->directory, process, &options->quota, error);
    return observer->keeper != NULL ? g_steal_pointer(&observer) : NULL;
}

void
observer_free(BlackboxObserver *observer)
{
    if (observer == NULL)
        return;
    process_end_free(observer->end);
    blackbox_keeper_free(observer->keeper);
    cgroup_gauge_free(observer->gauge);
    pressure_watch_free(observer->pressure);
    g_free(observer->label);
    g_free(observer);
}

int
observer_pidfd(const BlackboxObserver *observer)
{
    return process_end_pidfd(observer->end);
}

gboolean
observer_has_ended(const BlackboxObserver *observer)
{
    GPollFD fd = {.fd = process_end_pidfd(observer->end), .events = G_IO_IN};
    return g_poll(&fd, 1, 0) > 0;
}

/* ---- readings ---- */

static void
note_kills(BlackboxObserver *observer)
{
    const gint64 now = g_get_monotonic_time();
    if (observer->kills_us == 0)
        observer->kills = observer->kills_next = observer->reading.oom_kills;
    if (now - observer->kills_us < KILLS_KEPT_US)
        return;
    observer->kills = observer->kills_next;
    observer->kills_next = observer->reading.oom_kills;
    observer->kills_us = now;
}

/* FALSE if the process is ending; the previous figures are kept. */
static gboolean
read_memory(BlackboxObserver *observer)
{
    CgroupReading reading = {.limit = G_MAXUINT64, .used = process_rss(observer->pid)};
    CgroupReading group;
    const CgroupGaugeResult result =
        cgroup_gauge_read(observer->gauge, "/proc", "/sys/fs/cgroup", (int)observer->pid, &group);
    if (reading.used == 0 || result == CGROUP_GAUGE_ENDING)
        return FALSE;
    observer->earlier = observer->reading;
    observer->reading = result == CGROUP_GAUGE_READ && group.limit != G_MAXUINT64 ? group : reading;
    observer->read_us = g_get_real_time();
    note_kills(observer);
    return TRUE;
}

PacerReason
observer_read(BlackboxObserver *observer)
{
    if (!read_memory(observer))
        return PACER_NOT_YET;
    observer->pressed += observer->pressure != NULL && pressure_watch_take(observer->pressure);
    const PacerReading reading = {.time_us = g_get_monotonic_time(),
                                  .used = observer->reading.used,
                                  .limit = observer->reading.limit,
                                  .high_events = observer->reading.high_events + observer->pressed,
                                  .stalled_us = observer->reading.stalled_us};
    return pacer_judge(&observer->pacer, &reading);
}

gint64
observer_tick_us(const BlackboxObserver *observer)
{
    return pacer_tick_us(&observer->pacer);
}

/* ---- snapshots ---- */

BlackboxSnapshot *
observer_begin(const BlackboxObserver *observer, PacerReason reason)
{
    BlackboxSnapshot *snapshot = g_new0(BlackboxSnapshot, 1);
    snapshot->time_us = g_get_real_time();
    snapshot->reason = g_strdup(pacer_reason_name(reason));
    snapshot->memory = (BlackboxMemory){.used = observer->reading.used,
                                        .limit = observer->reading.limit,
                                        .rss = BLACKBOX_UNKNOWN,
                                        .resident = BLACKBOX_UNKNOWN,
                                        .active = BLACKBOX_UNKNOWN,
                                        .allocated = BLACKBOX_UNKNOWN,
                                        .held = BLACKBOX_UNKNOWN};
    return snapshot;
}

static void
take_figures(BlackboxMemory *memory, StatsLive *live)
{
    g_autoptr(StatsSample) sample = live != NULL ? stats_live_sample(live, NULL) : NULL;
    if (sample == NULL)
        return;
    memory->resident = stats_values_or(sample->totals, STATS_RESIDENT, BLACKBOX_UNKNOWN);
    memory->active = stats_values_or(sample->totals, STATS_ACTIVE, BLACKBOX_UNKNOWN);
    memory->allocated = stats_values_or(sample->totals, STATS_ALLOCATED, BLACKBOX_UNKNOWN);
    memory->held = stats_values_or(sample->totals, STATS_HELD, BLACKBOX_UNKNOWN);
}

static void
set_beyond_quota(const BlackboxObserver *observer, guint64 bytes, GError **error)
{
    g_autofree char *most = size_format(bytes);
    g_autofree char *all = size_format(observer->options.quota.bytes);
    g_set_error(error, TARGET_ERROR, OUTCOME_TOO_LARGE,
                "a heap dump of %s is larger than %s, a quarter of the %s that all dumps may have; raise that with "
                "--max-size (serve: --blackbox-size)",
                observer->label, most, all);
}

int
observer_dump(BlackboxObserver *observer, BlackboxSnapshot *snapshot, Target *target, StatsLive *live, GError **error)
{
    const gint64 began = g_get_monotonic_time();
    const DumpLimits limits = {.bytes = MIN(observer->options.quota.bytes / DUMP_SHARE, target_output_limit())};
    int dump = -1;
    if (target != NULL) {
        snapshot->owner = target_user(target);
        target_set_dump_limits(target, &limits);
        dump = capture_dump(target, NULL, CAPTURE_ADDRESSES, error);
    }
    if (limits.bytes < target_output_limit() && error != NULL &&
        g_error_matches(*error, TARGET_ERROR, OUTCOME_TOO_LARGE)) {
        g_clear_error(error);
        set_beyond_quota(observer, limits.bytes, error);
    }
    snapshot->took_us = g_get_monotonic_time() - began;
    pacer_note(&observer->pacer, snapshot->memory.used, snapshot->took_us, g_get_monotonic_time());
    take_figures(&snapshot->memory, live);
    return dump;
}

gboolean
observer_keep(BlackboxObserver *observer, BlackboxSnapshot *snapshot, int dump, const GError *why_not, GError **error)
{
    snapshot->memory.rss = process_rss(observer->pid);
    if (dump < 0)
        snapshot->missing = g_strdup(why_not->message);
    if (!blackbox_keeper_add(observer->keeper, snapshot, dump, error))
        return FALSE;
    observer->profile_us = dump >= 0 ? snapshot->time_us : observer->profile_us;
    return TRUE;
}

/* ---- profiling ---- */

static guint64
now_ms(void)
{
    return (guint64)g_get_monotonic_time() / 1000;
}

static Outcome
use_lease(BlackboxObserver *observer, Target *target, WireLeaseAction action)
{
    WireLease lease;
    g_autoptr(GError) error = NULL;
    observer->recorder.ends_ms = RECORDER_WITHOUT_END;
    if (observer->options.profiling == OBSERVER_PROFILES_WITH_JEMALLOC)
        observer->recorder.sampler = WIRE_SAMPLER_JEMALLOC;
    const WireLeaseRequest request = recorder_request(&observer->recorder, action, now_ms());
    if (!target_lease(target, &request, &lease, &error))
        return (Outcome)error->code;
    observer->recorder.lease = lease.id;
    observer->recorder.renewed_ms = now_ms();
    observer->lent = FALSE;
    return OUTCOME_DONE;
}

/* Decides whether to take a lease if there is none or it was lost: to a lease of another client, to its deadline, or
 * because another client has switched profiling off. */
static Outcome
take_again(BlackboxObserver *observer, Target *target)
{
    WireHelloReply hello;
    if (!target_hello(target, &hello, NULL))
        return OUTCOME_DONE;
    const gboolean lost = observer->recorder.lease != 0 && now_ms() - observer->recorder.renewed_ms < RECORDER_LEASE_MS;
    observer->recorder.lease = 0;
    if (hello.lease.id != 0) {
        observer->lent = TRUE;
        return OUTCOME_DONE;
    }
    const gboolean active = (hello.flags & WIRE_FLAG_PROF_ACTIVE) != 0;
    observer->unwanted = !active && (observer->unwanted || ((lost || observer->was_on) && !observer->lent));
    observer->was_on = active;
    observer->lent = FALSE;
    return active || observer->unwanted ? OUTCOME_DONE : use_lease(observer, target, WIRE_LEASE_TAKE);
}

gboolean
observer_must_tend(const BlackboxObserver *observer)
{
    return observer->options.profiling != OBSERVER_LEAVES_PROFILING && now_ms() >= observer->tend_ms;
}

void
observer_tend_profiling(BlackboxObserver *observer, Target *target)
{
    if (observer_must_tend(observer))
        observer_look_at_profiling(observer, target);
}

void
observer_look_at_profiling(BlackboxObserver *observer, Target *target)
{
    Outcome result = OUTCOME_DONE;
    if (observer->recorder.lease == 0 || use_lease(observer, target, WIRE_LEASE_RENEW) == OUTCOME_NOT_FOUND)
        result = take_again(observer, target);
    observer->tend_ms = now_ms() + (result == OUTCOME_NO_PROFILING ? (guint64)UNPROFILED_MS : RECORDER_RENEW_MS);
}

void
observer_lend_profiling(BlackboxObserver *observer)
{
    observer->lent = TRUE;
}

void
observer_release_profiling(BlackboxObserver *observer, Target *target)
{
    if (observer->recorder.lease != 0)
        use_lease(observer, target, WIRE_LEASE_RELEASE);
    observer->recorder.lease = 0;
}

/* ---- the end ---- */

gint64
observer_profile_us(const BlackboxObserver *observer)
{
    return observer->profile_us;
}

static gboolean
is_nearly_full(guint64 used, guint64 limit)
{
    return limit != BLACKBOX_UNKNOWN && used != BLACKBOX_UNKNOWN && used >= limit - limit / 100 * LIKELY_LEFT_PERCENT;
}

void
observer_judge_end(BlackboxEnd *end, const int *status)
{
    const gboolean counted = end->kills_after != BLACKBOX_UNKNOWN && end->kills_before != BLACKBOX_UNKNOWN;
    const gboolean killed = counted && end->kills_after > end->kills_before;
    const gboolean by_kill = status != NULL && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL;
    end->number = status == NULL ? 0 : WIFSIGNALED(*status) ? WTERMSIG(*status) : WEXITSTATUS(*status);
    const gboolean of_unit = strcmp(end->unit_result, "oom-kill") == 0;
    if ((killed || of_unit) && (by_kill || status == NULL))
        end->cause = BLACKBOX_CAUSE_OOM;
    else if (!counted && by_kill && is_nearly_full(end->used, end->limit))
        end->cause = BLACKBOX_CAUSE_OOM_LIKELY;
    else if (status == NULL)
        end->cause = BLACKBOX_CAUSE_UNKNOWN;
    else
        end->cause = WIFSIGNALED(*status) ? BLACKBOX_CAUSE_SIGNAL : BLACKBOX_CAUSE_EXIT;
}

/* Reads how the unit ended, at once, since it may restart soon. FALSE if the status is unknown. */
static gboolean
ask_unit(const BlackboxObserver *observer, BlackboxEnd *end, int *status)
{
    UnitEnd said;
    if (observer->unit.name[0] == '\0' ||
        !unit_end_read(&observer->unit, observer->pid, g_get_monotonic_time() + UNIT_WAIT_US, &said))
        return FALSE;
    g_strlcpy(end->unit, observer->unit.name, sizeof(end->unit));
    g_strlcpy(end->unit_result, said.result, sizeof(end->unit_result));
    if (said.has_status)
        *status = said.status;
    return said.has_status;
}

/* Waits until the status is known, which is when the parent has waited for the process. */
static gboolean
wait_for_status(const BlackboxObserver *observer, int *status)
{
    const gint64 until = g_get_monotonic_time() + STATUS_WAIT_US;
    gboolean known;
    while (!(known = process_end_read(observer->end, status)) && g_get_monotonic_time() < until)
        g_usleep(STATUS_STEP_US);
    return known;
}

gboolean
observer_end(BlackboxObserver *observer, BlackboxEnd *end, GError **error)
{
    int status;
    /* The kernel may free the memory of a victim before it has ended. */
    *end = (BlackboxEnd){.time_us = g_get_real_time(),
                         .used = MAX(observer->reading.used, observer->earlier.used),
                         .limit = observer->reading.limit,
                         .read_us = observer->read_us,
                         .kills_before = observer->kills};
    gboolean known = process_end_read(observer->end, &status);
    int told;
    end->kills_after = cgroup_gauge_oom_kills(observer->gauge); /* systemd removes the group of a unit that has ended */
    if (ask_unit(observer, end, &told) && !known) {
        status = told;
        known = TRUE;
    }
    known = known || wait_for_status(observer, &status);
    const guint64 later = cgroup_gauge_oom_kills(observer->gauge);
    end->kills_after = later != BLACKBOX_UNKNOWN ? later : end->kills_after;
    observer_judge_end(end, known ? &status : NULL);
    return blackbox_keeper_end(observer->keeper, end, error);
}
