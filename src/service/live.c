/* SPDX-License-Identifier: Apache-2.0 */
#include "service/live.h"

#include "confine/account.h"
#include "stats/status.h"
#include "target/agent.h"
#include "target/open.h"
#include "target/process-change.h"
#include "target/reach.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

enum {
    REFUSED_MS = 1000,       /* time for which an error is repeated without contacting the target */
    REFUSED_MAX_MS = 60000,  /* the maximum of this time */
    FORGIVEN_MS = 10 * 60000 /* time without a missed deadline after which earlier ones are forgotten */
};

struct ServiceTarget {
    gatomicrefcount references;
    Service *service; /* a reference */

    /* These never change. */
    char *id;
    char *unique;
    char *name;
    char *label;
    char *series;
    char *address;  /* if named, for target_open(), otherwise the path of its agent's socket; NULL: an earlier
                     * process */
    gboolean named; /* named by the options: reached in any way that works */
    gboolean followed;
    Process process;
    uid_t account;
    gint64 started_us;
    ProcessFacts *about; /* NULL: an earlier process */
    char *boot;          /* for a process of an earlier boot; NULL: the current boot */

    GMutex parts_lock; /* guards the following */
    GHashTable *parts; /* LivePart -> its bytes */

    GMutex lock; /* guards the following */
    ServiceTargetState state;
    gboolean reached; /* it was reached, by VIA */
    TargetVia via;
    char *trouble;
    gint64 left_alone_until_us; /* monotonic time, if there is trouble */
    StatsSample *latest;
    WireHelloReply hello; /* the latest; zero: none yet */
    gint64 hello_us;      /* monotonic */
    gint64 incarnation;   /* in the history; 0: not known yet */
    gboolean has_kept;    /* dumps or recordings */

    GMutex use; /* guards the following: only one thread at a time uses the target itself */
    Target *target;
    StatsLive *live[SAMPLED_COUNT];
    StatsLiveParts live_parts[SAMPLED_COUNT]; /* the parts of each sampler */
    GError *refusal;                          /* error of the last attempt, repeated until refused_until_us */
    gint64 refused_until_us;                  /* monotonic time of the next attempt */
    guint silences;                           /* recent missed deadlines and protocol errors */
    gint64 silent_us;                         /* monotonic time of the last one */
};

/* The header of a part; its data follows. */
typedef struct {
    const LivePart *part;
    _Alignas(max_align_t) char bytes[];
} PartBlock;

static void
free_part(gpointer data)
{
    PartBlock *block = data;
    if (block->part->clear != NULL)
        block->part->clear(block->bytes);
    g_free(block);
}

gpointer
live_part(ServiceTarget *target, const LivePart *part)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->parts_lock);
    PartBlock *block = g_hash_table_lookup(target->parts, part);
    if (block == NULL) {
        block = g_malloc0(sizeof(PartBlock) + part->size);
        block->part = part;
        g_hash_table_insert(target->parts, (gpointer)(guintptr)part, block);
    }
    return block->bytes;
}

static ServiceTarget *
new_target(Service *service, const Process *process)
{
    ServiceTarget *target = g_new0(ServiceTarget, 1);
    g_atomic_ref_count_init(&target->references);
    target->service = service_ref(service);
    target->process = *process;
    target->account = account_of(process->uids[1]);
    target->id = g_strdup_printf("%d", (int)process->pid);
    target->unique = g_strdup_printf("%d.%" G_GUINT64_FORMAT, (int)process->pid, process->start_time);
    target->name = g_strdup(process->name);
    target->label = g_strdup_printf("%s (%d)", process->name, (int)process->pid);
    target->started_us = process_started_us(process->start_time);
    target->parts = g_hash_table_new_full(NULL, NULL, NULL, free_part);
    g_mutex_init(&target->lock);
    g_mutex_init(&target->use);
    g_mutex_init(&target->parts_lock);
    return target;
}

ServiceTarget *
live_new(Service *service, const LiveFacts *facts)
{
    ServiceTarget *target = new_target(service, facts->process);
    target->address = g_strdup(facts->address);
    target->named = facts->named;
    target->followed = facts->followed;
    target->series = g_strdup(facts->series);
    target->about = process_facts_ref(facts->about);
    return target;
}

ServiceTarget *
live_new_kept(Service *service, const HistoryKept *kept)
{
    Process process = {.pid = (pid_t)kept->pid, .start_time = kept->start_ticks};
    g_strlcpy(process.name, kept->target, sizeof(process.name));
    ServiceTarget *target = new_target(service, &process);
    target->series = g_strdup(kept->target);
    for (guint i = 0; i < PROCESS_UIDS; i++)
        target->process.uids[i] = (uid_t)-1; /* unknown now: visible only to clients that see all */
    target->account = (uid_t)-1;
    target->boot = g_strdup(kept->boot);
    target->incarnation = kept->incarnation;
    target->state = SERVICE_TARGET_GONE;
    target->has_kept = TRUE;
    if (g_strcmp0(kept->boot, shared_history_boot(service->history)) != 0)
        target->started_us = 0; /* unknown now */
    return target;
}

ServiceTarget *
service_target_ref(ServiceTarget *target)
{
    g_atomic_ref_count_inc(&target->references);
    return target;
}

/* To be called with USE, or with the last reference. */
static void
hang_up(ServiceTarget *target)
{
    for (int i = 0; i < SAMPLED_COUNT; i++)
        g_clear_pointer(&target->live[i], stats_live_free);
    g_clear_pointer(&target->target, target_free);
}

static void
disconnect(ServiceTarget *target)
{
    hang_up(target);
    g_clear_error(&target->refusal);
}

void
service_target_unref(ServiceTarget *target)
{
    if (!g_atomic_ref_count_dec(&target->references))
        return;
    disconnect(target);
    g_clear_pointer(&target->latest, stats_sample_unref);
    g_hash_table_unref(target->parts);
    g_mutex_clear(&target->lock);
    g_mutex_clear(&target->use);
    g_mutex_clear(&target->parts_lock);
    char *const texts[] = {target->id,     target->unique,  target->name, target->label,
                           target->series, target->address, target->boot, target->trouble};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
    process_facts_unref(target->about);
    service_unref(target->service);
    g_free(target);
}

void
live_disconnect(ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->use);
    disconnect(target);
}

void
live_set_gone(ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    target->state = SERVICE_TARGET_GONE;
    g_clear_pointer(&target->trouble, g_free);
    held_files_remove(target->service->bases, target->unique);
}

/* FALSE if Yama (ptrace_scope) restricts users to tracing their own children, or forbids tracing. */
static gboolean
users_may_trace(void)
{
    g_autofree char *scope = NULL;
    return !g_file_get_contents("/proc/sys/kernel/yama/ptrace_scope", &scope, NULL, NULL) || scope[0] == '0';
}

static gboolean
is_reached_by_agent(const ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    return target->reached && target->via != TARGET_VIA_ATTACH;
}

gboolean
service_target_is_visible(const ServiceTarget *target, Viewer viewer)
{
    Process now;
    if (viewer == VIEWER_ALL)
        return TRUE;
    /* A process that has temporarily assumed a user's identity, as file servers do, does not belong to this user. */
    if (viewer < 0 || process_viewer(&target->process) != (uid_t)viewer)
        return FALSE;
    if (service_target_state(target) == SERVICE_TARGET_GONE)
        return TRUE;
    if (!process_look(target->process.pid, &now) || now.start_time != target->process.start_time ||
        process_viewer(&now) != (uid_t)viewer)
        return FALSE;
    return !target->named || is_reached_by_agent(target) || users_may_trace();
}

const char *
service_target_id(const ServiceTarget *target)
{
    return target->id;
}

const char *
service_target_unique(const ServiceTarget *target)
{
    return target->unique;
}

const char *
service_target_name(const ServiceTarget *target)
{
    return target->name;
}

const char *
service_target_label(const ServiceTarget *target)
{
    return target->label;
}

const char *
service_target_series(const ServiceTarget *target)
{
    return target->series;
}

gint64
service_target_started_us(const ServiceTarget *target)
{
    return target->started_us;
}

ServiceTargetState
service_target_state(const ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    return target->state;
}

char *
service_target_trouble(const ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    return g_strdup(target->trouble);
}

gint64
service_target_left_alone_us(const ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    return target->trouble != NULL ? MAX(target->left_alone_until_us - g_get_monotonic_time(), 0) : 0;
}

void
live_note_hello(ServiceTarget *target, const WireHelloReply *hello)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    target->hello = *hello;
    target->hello_us = g_get_monotonic_time();
}

/* Adjusts HELLO to the state ELAPSED_MS later, assuming that profiling was not switched in the meantime. */
static void
age(WireHelloReply *hello, guint64 elapsed_ms)
{
    WireLease *lease = &hello->lease;
    if (lease->id == 0)
        return;
    if (lease->remaining_ms > elapsed_ms) {
        lease->remaining_ms -= elapsed_ms;
        return;
    }
    hello->flags &= ~(guint32)WIRE_FLAG_PROF_ACTIVE;
    hello->flags |= lease->restores ? WIRE_FLAG_PROF_ACTIVE : 0;
    *lease = (WireLease){0};
}

/* To be called with TARGET.lock. */
static void
set_seen(const ServiceTarget *target, RouteStatus *status)
{
    gboolean live = target->state == SERVICE_TARGET_LIVE;
    gint64 now_us = g_get_monotonic_time();
    status->state = live ? "live" : "gone";
    status->reach = target->reached ? target_via_name(target->via) : "unknown";
    g_snprintf(status->url, sizeof(status->url), "/api/v1/targets/%s", target->unique);
    if (target->trouble != NULL) {
        g_strlcpy(status->trouble, target->trouble, sizeof(status->trouble));
        status->left_alone_ms = (guint64)MAX(target->left_alone_until_us - now_us, 0) / 1000;
    }
    if (target->hello.pid != 0) {
        status_set_hello(status, &target->hello);
        age(&status->hello, (guint64)(now_us - target->hello_us) / 1000);
    }
    if (target->latest != NULL)
        stats_set_status(status, target->latest);
}

void
live_fill_status(ServiceTarget *target, RouteStatus *status)
{
    status_init(status);
    status->pid = target->process.pid;
    status->uid = live_user(target);
    status->name = target->name;
    g_strlcpy(status->unique, target->unique, sizeof(status->unique));
    status->series = target->series;
    if (target->about != NULL) {
        status->user = target->about->user;
        status->arguments = target->about->arguments;
        status->control_group = target->about->group;
    }
    status->started_ms = (guint64)target->started_us / 1000;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    set_seen(target, status);
}

HistoryLife
live_history_life(const ServiceTarget *target, const char *version, guint64 every_us)
{
    const ProcessFacts *about = target->about;
    return (HistoryLife){
        .target = target->series,
        .source = HISTORY_SOURCE_LIVE,
        .pid = target->process.pid,
        .start_ticks = target->process.start_time,
        .boot = target->boot != NULL ? target->boot : shared_history_boot(target->service->history),
        .version = version,
        .every_us = every_us,
        .process = about != NULL ? (HistoryProcess){about->user, about->arguments, about->group} : (HistoryProcess){0},
    };
}

gboolean
live_incarnation(ServiceTarget *target, gint64 *incarnation, GError **error)
{
    g_mutex_lock(&target->lock);
    gint64 known = target->incarnation;
    g_mutex_unlock(&target->lock);
    HistoryLife life = live_history_life(target, NULL, service_every_us(target->service));
    g_autoptr(HistoryHold) hold = shared_history_hold(target->service->history);
    if (known == 0 || !history_has(hold->history, known)) {
        if (!history_begin(hold->history, &life, &known, error))
            return FALSE;
        g_mutex_lock(&target->lock);
        target->incarnation = known;
        g_mutex_unlock(&target->lock);
    }
    *incarnation = known;
    return TRUE;
}

const Process *
live_process(const ServiceTarget *target)
{
    return &target->process;
}

gboolean
live_check_unchanged(const ServiceTarget *target, GError **error)
{
    const int code = process_change_check(&target->process);
    return code == 0 || target_set_changed(target->label, code, error);
}

GMutex *
live_lock(const ServiceTarget *target)
{
    return &((ServiceTarget *)(guintptr)target)->lock; /* mutable members are read with the lock, even of a const
                                                        * target */
}

void
live_begin_use(ServiceTarget *target)
{
    g_mutex_lock(&target->use);
}

void
live_end_use(ServiceTarget *target)
{
    g_mutex_unlock(&target->use);
}

StatsLive *
live_sampler(ServiceTarget *target, SampledFor what, StatsLiveParts parts, GError **error)
{
    if (target->live_parts[what] != parts)
        g_clear_pointer(&target->live[what], stats_live_free);
    target->live_parts[what] = parts;
    if (target->live[what] == NULL)
        target->live[what] = stats_live_new(target->target, parts, error);
    return target->live[what];
}

void
live_set_latest(ServiceTarget *target, StatsSample *sample)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    g_clear_pointer(&target->latest, stats_sample_unref);
    target->latest = stats_sample_summary(sample);
}

void
live_set_kept(ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    target->has_kept = TRUE;
}

gboolean
live_has_kept(const ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    return target->has_kept;
}

Service *
live_service(const ServiceTarget *target)
{
    return target->service;
}

gboolean
live_is_followed(const ServiceTarget *target)
{
    return target->followed;
}

gboolean
live_is_named(const ServiceTarget *target)
{
    return target->named;
}

const char *
live_address(const ServiceTarget *target)
{
    return target->address;
}

const char *
live_subject(const ServiceTarget *target)
{
    return target->followed ? target->series : target->label;
}

uid_t
live_user(const ServiceTarget *target)
{
    return target->process.uids[1];
}

uid_t
live_account(const ServiceTarget *target)
{
    return target->account;
}

static gboolean
set_gone_error(const ServiceTarget *target, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s has ended", target->label);
    return FALSE;
}

static gboolean
may_be_asked(ServiceTarget *target, GError **error)
{
    if (service_target_state(target) == SERVICE_TARGET_GONE)
        return set_gone_error(target, error);
    if (target->refusal == NULL || g_get_monotonic_time() >= target->refused_until_us)
        return TRUE;
    if (error != NULL)
        *error = g_error_copy(target->refusal);
    return FALSE;
}

static Target *
open_target(ServiceTarget *target, TargetVia via, GError **error)
{
    /* Its pid may have been reused. */
    if (!process_alive(target->process.pid, target->process.start_time)) {
        set_gone_error(target, error);
        return NULL;
    }
    if (target->named)
        return target_open_process(&target->process, target->address, via, error);
    AgentAddress address = {.path = target->address, .process = &target->process, .deadlines = agent_deadlines_default};
    return agent_open(&address, error);
}

static Target *
connect_target(ServiceTarget *target, TargetVia via, GError **error)
{
    if (!may_be_asked(target, error))
        return NULL;
    if (target->target == NULL) {
        GError *cause = NULL;
        target->target = open_target(target, via, &cause);
        /* A missing agent is not an error if ptrace can be used. */
        if (via == TARGET_VIA_ANY || !target->named || cause == NULL)
            live_note_outcome(target, cause);
        if (cause != NULL)
            g_propagate_error(error, cause);
    }
    return target->target;
}

Target *
live_connect(ServiceTarget *target, GError **error)
{
    return connect_target(target, TARGET_VIA_ANY, error);
}

Target *
live_connect_gently(ServiceTarget *target, GError **error)
{
    Target *connected = connect_target(target, target->followed ? TARGET_VIA_ANY : TARGET_VIA_AGENT, error);
    if (connected == NULL || target->followed || target_via(connected) != TARGET_VIA_ATTACH)
        return connected;
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_AGENT,
                "%s has no agent, and is stopped on request only; 'jescope attach %d' loads one", target->label,
                (int)target->process.pid);
    return NULL;
}

/* The time to avoid the target after ERROR. A silent or misbehaving target blocks a thread until the deadline, possibly
 * on purpose: the time doubles with each such error. */
static guint
back_off_ms(ServiceTarget *target, const GError *error)
{
    gint64 now_us = g_get_monotonic_time();
    if (target->followed || (!g_error_matches(error, TARGET_ERROR, OUTCOME_SILENT) &&
                             !g_error_matches(error, TARGET_ERROR, OUTCOME_PROTOCOL)))
        return REFUSED_MS;
    if (now_us - target->silent_us > FORGIVEN_MS * G_GINT64_CONSTANT(1000))
        target->silences = 0;
    guint ms = MIN((guint)REFUSED_MS << MIN(target->silences, 8), REFUSED_MAX_MS);
    target->silences++;
    target->silent_us = now_us;
    return ms;
}

static gboolean
would_fail_again(const GError *error)
{
    static const int codes[] = {OUTCOME_SILENT, OUTCOME_NO_AGENT, OUTCOME_NO_JEMALLOC, OUTCOME_PERMISSION,
                                OUTCOME_PROTOCOL};
    for (gsize i = 0; i < G_N_ELEMENTS(codes); i++)
        if (g_error_matches(error, TARGET_ERROR, codes[i]))
            return TRUE;
    return FALSE;
}

void
live_note_outcome(ServiceTarget *target, const GError *error)
{
    gboolean refused = error != NULL && would_fail_again(error);
    /* The agent has ended; the next attempt may use another way. */
    if (g_error_matches(error, TARGET_ERROR, OUTCOME_NO_AGENT))
        hang_up(target);
    if (refused || error == NULL)
        g_clear_error(&target->refusal);
    if (refused) {
        target->refusal = g_error_copy(error);
        target->refused_until_us = g_get_monotonic_time() + back_off_ms(target, error) * G_GINT64_CONSTANT(1000);
    }
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    if (refused || error == NULL)
        g_clear_pointer(&target->trouble, g_free);
    if (refused) {
        target->trouble = g_strdup(error->message);
        target->left_alone_until_us = target->refused_until_us;
    }
    if (error == NULL && target->target != NULL) {
        target->reached = TRUE;
        target->via = target_via(target->target);
    }
}

typedef struct {
    ServiceTarget *target;
    ServiceEvent event;
    char *who;
    char *detail;
} PendingEvent;

static void
free_pending_event(gpointer data)
{
    PendingEvent *pending = data;
    service_target_unref(pending->target);
    g_free(pending->who);
    g_free(pending->detail);
    g_free(pending);
}

static gboolean
add_event(gpointer data)
{
    const PendingEvent *pending = data;
    service_hand_event(pending->target->service, &pending->event);
    return G_SOURCE_REMOVE;
}

gboolean
live_emit(ServiceTarget *target, const ServiceEvent *event)
{
    static const gboolean shared[SERVICE_EVENT_COUNT] = {
        [SERVICE_EVENT_PROFILING_ON] = TRUE, [SERVICE_EVENT_PROFILING_OFF] = TRUE, [SERVICE_EVENT_CONTROL] = TRUE};
    guint untold = 0;
    if (shared[event->type] &&
        !message_shares_take(target->service->event_shares, live_account(target), g_get_monotonic_time(), &untold))
        return FALSE;
    PendingEvent *pending = g_new0(PendingEvent, 1);
    pending->target = service_target_ref(target);
    pending->event = *event;
    pending->event.time_us = g_get_real_time();
    pending->event.target = target->id;
    pending->event.unique = target->unique;
    pending->event.label = target->label;
    pending->event.user = process_viewer(&target->process);
    pending->event.account = live_account(target);
    pending->event.who = pending->who = g_strdup(event->who);
    pending->detail = untold == 0 ? g_strdup(event->detail)
                                  : g_strdup_printf("%s%s%u events before this one were left out",
                                                    event->detail != NULL ? event->detail : "",
                                                    event->detail != NULL ? "; " : "", untold);
    pending->event.detail = pending->detail;
    service_post(target->service, add_event, pending, free_pending_event);
    return TRUE;
}
