/* SPDX-License-Identifier: Apache-2.0 */
#include "service/target.h"

#include "target/agent.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    REFUSED_MS = 1000, /* whoever asks next within this time after a deadline is told the same at once */
};

/* When the process began, from its start in clock ticks after boot. */
static gint64
started_us(guint64 start_ticks)
{
    struct timespec since_boot;
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    gint64 up_us = (gint64)since_boot.tv_sec * G_USEC_PER_SEC + since_boot.tv_nsec / 1000;
    gint64 ticks = MAX(sysconf(_SC_CLK_TCK), 1);
    return g_get_real_time() - up_us + (gint64)(start_ticks * G_USEC_PER_SEC / (guint64)ticks);
}

/* Where Mesos would keep this process's dumps: $TMPDIR/libprocess.XXXXXX, by its environment or else ours. */
static char *
make_directory_name(const Process *process)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    g_autofree char *parent = process->pid != 0 ? process_variable(process->pid, "TMPDIR") : NULL;
    guint64 seed = process->start_time * 4194304 + (guint64)process->pid;
    char suffix[7] = {0};
    for (gsize i = 0; i < sizeof(suffix) - 1; i++, seed /= sizeof(letters) - 1)
        suffix[i] = letters[seed % (sizeof(letters) - 1)];
    gboolean usable = parent != NULL && parent[0] == '/' && g_utf8_validate(parent, -1, NULL);
    return g_strdup_printf("%s/libprocess.%s", usable ? parent : g_get_tmp_dir(), suffix);
}

static ServiceTarget *
new_target(Service *service, const Process *process)
{
    ServiceTarget *target = g_new0(ServiceTarget, 1);
    g_atomic_ref_count_init(&target->references);
    target->service = service_ref(service);
    target->process = *process;
    target->id = g_strdup_printf("%d", (int)process->pid);
    target->unique = g_strdup_printf("%d.%" G_GUINT64_FORMAT, (int)process->pid, process->start_time);
    target->name = g_strdup(process->name);
    target->label = g_strdup_printf("%s (%d)", process->name, (int)process->pid);
    target->started_us = started_us(process->start_time);
    target->profiling = -1;
    target->delta = -1;
    g_mutex_init(&target->lock);
    g_mutex_init(&target->use);
    return target;
}

ServiceTarget *
target_new(Service *service, const TargetFacts *facts)
{
    ServiceTarget *target = new_target(service, facts->process);
    target->address = g_strdup(facts->address);
    target->named = facts->named;
    target->series = g_strdup(facts->series);
    target->directory = make_directory_name(facts->process);
    return target;
}

ServiceTarget *
target_new_kept(Service *service, const HistoryKept *kept)
{
    Process process = {.pid = (pid_t)kept->pid, .start_time = kept->start_ticks};
    g_strlcpy(process.name, kept->target, sizeof(process.name));
    ServiceTarget *target = new_target(service, &process);
    target->series = g_strdup(kept->target);
    target->directory = make_directory_name(&(Process){.start_time = kept->start_ticks});
    target->boot = g_strdup(kept->boot);
    target->incarnation = kept->incarnation;
    target->state = SERVICE_TARGET_GONE;
    target->has_kept = TRUE;
    if (g_strcmp0(kept->boot, keep_boot(service->keep)) != 0)
        target->started_us = 0; /* cannot be told any more */
    return target;
}

ServiceTarget *
service_target_ref(ServiceTarget *target)
{
    g_atomic_ref_count_inc(&target->references);
    return target;
}

/* With USE, or the last reference. */
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
    recordings_clear(&target->recordings);
    if (target->delta >= 0)
        close(target->delta);
    g_clear_pointer(&target->latest, stats_sample_unref);
    g_clear_pointer(&target->judged, stats_sample_unref);
    g_clear_pointer(&target->advice, g_ptr_array_unref);
    g_mutex_clear(&target->lock);
    g_mutex_clear(&target->use);
    char *const texts[] = {target->id,      target->unique,    target->name, target->label,  target->series,
                           target->address, target->directory, target->boot, target->trouble};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
    service_unref(target->service);
    g_free(target);
}

void
target_disconnect(ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->use);
    disconnect(target);
}

void
target_stop_timers(ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    recordings_clear(&target->recordings);
}

void
target_set_gone(ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    target->state = SERVICE_TARGET_GONE;
    g_clear_pointer(&target->trouble, g_free);
    if (target->delta >= 0)
        close(target->delta);
    target->delta = -1;
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

pid_t
service_target_pid(const ServiceTarget *target)
{
    return target->process.pid;
}

gint64
service_target_started_us(const ServiceTarget *target)
{
    return target->started_us;
}

/* What may change is read under the lock, which a const target has as well. */
static GMutex *
lock_of(const ServiceTarget *target)
{
    return &((ServiceTarget *)(guintptr)target)->lock;
}

ServiceTargetState
service_target_state(const ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(lock_of(target));
    return target->state;
}

ServiceReach
service_target_reach(const ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(lock_of(target));
    return target->reach;
}

char *
service_target_trouble(const ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(lock_of(target));
    return g_strdup(target->trouble);
}

StatsSample *
service_target_sample(const ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(lock_of(target));
    return target->latest != NULL ? stats_sample_ref(target->latest) : NULL;
}

HistoryLife
target_history_life(const ServiceTarget *target, const char *version, guint64 every_us)
{
    return (HistoryLife){
        .target = target->series,
        .source = HISTORY_SOURCE_LIVE,
        .pid = target->process.pid,
        .start_ticks = target->process.start_time,
        .boot = target->boot != NULL ? target->boot : keep_boot(target->service->keep),
        .version = version,
        .every_us = every_us,
    };
}

gboolean
target_life(ServiceTarget *target, gint64 *incarnation, GError **error)
{
    g_mutex_lock(&target->lock);
    gint64 known = target->incarnation;
    g_mutex_unlock(&target->lock);
    if (known == 0) {
        HistoryLife life = target_history_life(target, NULL, service_every_us(target->service));
        if (!keep_life(target->service->keep, &life, &known, error))
            return FALSE;
        g_mutex_lock(&target->lock);
        target->incarnation = known;
        g_mutex_unlock(&target->lock);
    }
    *incarnation = known;
    return TRUE;
}

static gboolean
set_gone_error(const ServiceTarget *target, GError **error)
{
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_GONE, "%s has ended", target->label);
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
    /* Its pid may be another process's by now. */
    if (!process_alive(target->process.pid, target->process.start_time)) {
        set_gone_error(target, error);
        return NULL;
    }
    if (target->named)
        return target_open_via(target->address, via, error);
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
        /* That it has no agent is no trouble if it can be attached to. */
        if (via == TARGET_VIA_ANY || !target->named || cause == NULL)
            target_note_outcome(target, cause);
        if (cause != NULL)
            g_propagate_error(error, cause);
    }
    return target->target;
}

Target *
target_connect(ServiceTarget *target, GError **error)
{
    return connect_target(target, TARGET_VIA_ANY, error);
}

Target *
target_connect_gently(ServiceTarget *target, GError **error)
{
    Target *connected = connect_target(target, TARGET_VIA_AGENT, error);
    if (connected == NULL || target_via(connected) != TARGET_VIA_ATTACH)
        return connected;
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_NO_AGENT,
                "%s has no agent, and is not stopped for statistics; 'jescope attach %d' brings one in", target->label,
                (int)target->process.pid);
    return NULL;
}

static gboolean
would_fail_again(const GError *error)
{
    static const int codes[] = {TARGET_ERROR_SILENT, TARGET_ERROR_NO_AGENT, TARGET_ERROR_NO_JEMALLOC,
                                TARGET_ERROR_PERMISSION, TARGET_ERROR_PROTOCOL};
    for (gsize i = 0; i < G_N_ELEMENTS(codes); i++)
        if (g_error_matches(error, TARGET_ERROR, codes[i]))
            return TRUE;
    return FALSE;
}

void
target_note_outcome(ServiceTarget *target, const GError *error)
{
    gboolean refused = error != NULL && would_fail_again(error);
    /* The agent has left; there may be another way the next time. */
    if (g_error_matches(error, TARGET_ERROR, TARGET_ERROR_NO_AGENT))
        hang_up(target);
    if (refused || error == NULL)
        g_clear_error(&target->refusal);
    if (refused) {
        target->refusal = g_error_copy(error);
        target->refused_until_us = g_get_monotonic_time() + REFUSED_MS * 1000;
    }
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    if (refused || error == NULL)
        g_clear_pointer(&target->trouble, g_free);
    if (refused)
        target->trouble = g_strdup(error->message);
    if (error == NULL && target->target != NULL)
        target->reach = target_via(target->target) == TARGET_VIA_ATTACH ? SERVICE_REACH_ATTACH : SERVICE_REACH_AGENT;
}

typedef struct {
    ServiceTarget *target;
    ServiceEvent event;
    char *who;
    char *detail;
} Telling;

static void
free_telling(gpointer data)
{
    Telling *telling = data;
    service_target_unref(telling->target);
    g_free(telling->who);
    g_free(telling->detail);
    g_free(telling);
}

static gboolean
add_event(gpointer data)
{
    const Telling *telling = data;
    events_add(telling->target->service->events, &telling->event);
    return G_SOURCE_REMOVE;
}

void
target_tell(ServiceTarget *target, const ServiceEvent *event)
{
    Telling *telling = g_new0(Telling, 1);
    telling->target = service_target_ref(target);
    telling->event = *event;
    telling->event.time_us = g_get_real_time();
    telling->event.target = target->id;
    telling->event.label = target->label;
    telling->event.who = telling->who = g_strdup(event->who);
    telling->event.detail = telling->detail = g_strdup(event->detail);
    service_post(target->service, add_event, telling, free_telling);
}
