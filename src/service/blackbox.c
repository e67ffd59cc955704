/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blackbox.h"

#include "service/lending.h"
#include "service/live.h"
#include "service/registry.h"
#include "service/work.h"

#include "blackbox/describe.h"
#include "blackbox/observer.h"
#include "blackbox/prekill.h"
#include "blackbox/round.h"
#include "confine/thread-time.h"
#include "target/cgroup.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    LOOK_US = 60000000,    /* interval of checking whether a target now has a limit or can be watched */
    RETRY_US = 2000000,    /* the interval if another jescope watches the target */
    SHARE = 20,            /* readings of all targets take at most 1/20 of the time of one processor */
    REPORT_US = 600000000, /* interval of reporting failures */
    PREKILL_US = 30000000, /* for snapshots before a group is killed */
    EVENTS_AT_ONCE = 64,
};

typedef struct {
    Service *service; /* borrowed: it outlives this */
    int events;       /* an epoll descriptor of WAKE and the pidfds */
    int wake;
    gint64 rests_until_us; /* used by the thread, monotonic */
    GThread *thread;       /* NULL: there was never anything to watch */
    gboolean is_changing;  /* used in the main context: targets have come or gone that were not looked at */

    GMutex lock;                   /* guards the following */
    GHashTable *watched;           /* ServiceTarget -> Watched */
    ServiceBlackboxFigures counts; /* except watched */
    gint64 reported_us;            /* monotonic: when a failure was last reported; 0: never */
    gboolean stopping;
    GCond answered; /* signalled when a target is no longer called, or when stopping */
} BlackBox;

/* A target. While BUSY it belongs to the thread that has set it, otherwise it is guarded by the lock. */
typedef struct {
    ServiceTarget *target;      /* a reference */
    BlackboxObserver *observer; /* NULL: not watched, or not yet */
    PacerReason due;            /* reason for its work */
    gint64 next_us;             /* monotonic time of the next reading */
    gint64 pause_us;            /* pause before the next attempt to watch it; 0: none failed */
    gboolean busy;
    gboolean ended; /* as reported by its pidfd */
    /* The following are always guarded by the lock. */
    gboolean is_watched; /* there is an observer */
    gboolean gone;       /* as reported by the registry */
    gboolean anew;       /* the options have changed */
    gboolean called;     /* its group is about to be killed and a snapshot is requested */
} Watched;

static void
clear_watched(gpointer data)
{
    Watched *watched = data;
    g_clear_pointer(&watched->observer, observer_free);
    service_target_unref(watched->target);
}

static void
drop_watched(gpointer watched)
{
    g_atomic_rc_box_release_full(watched, clear_watched);
}

static BlackBox *
box_of(const Service *service)
{
    return service_sink_state(service, &blackbox_sink);
}

static void
wake_up(const BlackBox *box)
{
    const guint64 one = 1;
    if (write(box->wake, &one, sizeof(one)) != sizeof(one))
        g_debug("the black box is awake already");
}

static ServiceBlackbox
options_of(Service *service)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    return service->options.blackbox;
}

static ObserverOptions
observer_options(const ServiceBlackbox *options)
{
    static const ObserverProfiling profilings[] = {[SERVICE_BLACKBOX_PROFILING_OFF] = OBSERVER_LEAVES_PROFILING,
                                                   [SERVICE_BLACKBOX_PROFILING_READY] = OBSERVER_PROFILES_WITH_JEMALLOC,
                                                   [SERVICE_BLACKBOX_PROFILING_ANY] = OBSERVER_PROFILES};
    return (ObserverOptions){
        .directory = options->directory, .quota = options->quota, .profiling = profilings[options->profiling]};
}

/* ---- messages for the operator ---- */

static void
tell_failure(BlackBox *box, const ServiceTarget *target, const GError *error)
{
    const gint64 now = g_get_monotonic_time();
    g_mutex_lock(&box->lock);
    const gboolean tell = box->reported_us == 0 || now - box->reported_us >= REPORT_US;
    box->counts.failures++;
    if (tell)
        box->reported_us = now;
    g_mutex_unlock(&box->lock);
    if (tell)
        service_say(box->service, "the black box keeps nothing of %s: %s", service_target_label(target),
                    error->message);
}

static void
tell_end(BlackBox *box, ServiceTarget *target, const BlackboxEnd *end, gint64 profile_us)
{
    const gboolean killed = end->cause == BLACKBOX_CAUSE_OOM || end->cause == BLACKBOX_CAUSE_OOM_LIKELY;
    g_autofree char *what = blackbox_describe_end(end, profile_us);
    const ServiceEvent event = {.type = SERVICE_EVENT_ENDED, .detail = what};
    g_mutex_lock(&box->lock);
    box->counts.ends++;
    box->counts.kills += killed;
    g_mutex_unlock(&box->lock);
    live_emit(target, &event);
    if (killed || end->cause == BLACKBOX_CAUSE_SIGNAL)
        service_say_of(box->service, live_account(target), "%s: %s; see 'jescope last %s'",
                       service_target_label(target), what, service_target_id(target));
}

/* ---- work on a target, on a thread of the service ---- */

/* Tries to create an observer; if that fails, it is tried again later. */
static void
begin(BlackBox *box, Watched *watched)
{
    const ServiceBlackbox chosen = options_of(box->service);
    const ObserverOptions options = observer_options(&chosen);
    g_autoptr(GError) error = NULL;
    watched->observer = observer_new(live_process(watched->target), &options, &error);
    if (watched->observer != NULL) {
        struct epoll_event ended = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = watched->target};
        epoll_ctl(box->events, EPOLL_CTL_ADD, observer_pidfd(watched->observer), &ended);
        return;
    }
    watched->pause_us = g_error_matches(error, BLACKBOX_ERROR, BLACKBOX_ERROR_BUSY) ? RETRY_US : LOOK_US;
    if (watched->pause_us == LOOK_US &&
        process_alive(live_process(watched->target)->pid, live_process(watched->target)->start_time))
        tell_failure(box, watched->target, error);
}

/* Must be called within live_begin_use(). */
static int
dump_connected(Watched *watched, Target *connected, BlackboxSnapshot *snapshot, GError **why_not)
{
    StatsLive *live =
        connected != NULL ? live_sampler(watched->target, SAMPLED_FOR_SCRAPE, STATS_LIVE_TOTALS, NULL) : NULL;
    int dump = observer_dump(watched->observer, snapshot, connected, live, why_not);
    if (connected != NULL)
        live_note_outcome(watched->target, *why_not);
    return dump;
}

static void
keep(BlackBox *box, Watched *watched, BlackboxSnapshot *snapshot, int dump, const GError *why_not)
{
    g_autoptr(GError) error = NULL;
    if (!observer_keep(watched->observer, snapshot, dump, why_not, &error)) {
        tell_failure(box, watched->target, error);
        return;
    }
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&box->lock);
    box->counts.snapshots++;
    box->counts.without_dump += dump < 0;
}

static void
tend_and_dump(BlackBox *box, Watched *watched)
{
    g_autoptr(GError) why_not = NULL;
    g_autoptr(BlackboxSnapshot) snapshot = NULL;
    int dump = -1;
    if (lending_look(watched->target))
        observer_lend_profiling(watched->observer);
    live_begin_use(watched->target);
    Target *connected = live_connect_gently(watched->target, &why_not);
    if (connected != NULL)
        observer_tend_profiling(watched->observer, connected);
    if (watched->due != PACER_NOT_YET) {
        snapshot = observer_begin(watched->observer, watched->due);
        dump = dump_connected(watched, connected, snapshot, &why_not);
    }
    live_end_use(watched->target);
    if (snapshot != NULL && !g_error_matches(why_not, TARGET_ERROR, OUTCOME_GONE))
        keep(box, watched, snapshot, dump, why_not);
    if (dump >= 0)
        close(dump);
}

static void
note_end(BlackBox *box, Watched *watched)
{
    g_autoptr(GError) error = NULL;
    BlackboxEnd end;
    if (!observer_end(watched->observer, &end, &error))
        tell_failure(box, watched->target, error);
    tell_end(box, watched->target, &end, observer_profile_us(watched->observer));
}

/* Restores the profiling state of before it was enabled. */
static void
release(Watched *watched)
{
    live_begin_use(watched->target);
    Target *connected = live_connect_gently(watched->target, NULL);
    if (connected != NULL)
        observer_release_profiling(watched->observer, connected);
    live_end_use(watched->target);
}

/* Removes the pidfd explicitly: a child that is being created may have a copy, so closing it is not sufficient. */
static void
leave(const BlackBox *box, Watched *watched)
{
    epoll_ctl(box->events, EPOLL_CTL_DEL, observer_pidfd(watched->observer), NULL);
    g_clear_pointer(&watched->observer, observer_free);
}

/* Returns WATCHED to the thread of the box, or removes it if it has exited. */
static void
give_back(BlackBox *box, Watched *watched)
{
    const gint64 pause = watched->observer != NULL ? observer_tick_us(watched->observer)
                         : watched->pause_us != 0  ? watched->pause_us
                                                   : LOOK_US;
    g_mutex_lock(&box->lock);
    watched->next_us = g_get_monotonic_time() + pause;
    watched->busy = FALSE;
    watched->is_watched = watched->observer != NULL;
    watched->anew = watched->anew && watched->is_watched;
    if (!watched->is_watched || watched->due == PACER_PREKILL) {
        watched->called = FALSE;
        g_cond_broadcast(&box->answered);
    }
    watched->due = PACER_NOT_YET;
    if (!watched->is_watched && (watched->ended || watched->gone))
        g_hash_table_remove(box->watched, watched->target); /* the caller has its own reference */
    g_mutex_unlock(&box->lock);
}

typedef enum {
    TASK_BEGIN,
    TASK_TEND,
    TASK_END,
    TASK_LEAVE,
} Task;

static Task
choose_task(BlackBox *box, Watched *watched)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&box->lock);
    const gboolean anew = watched->anew;
    watched->anew = FALSE;
    if (watched->observer == NULL)
        return box->stopping ? TASK_LEAVE : TASK_BEGIN;
    if (watched->ended || observer_has_ended(watched->observer))
        return TASK_END;
    return box->stopping || watched->gone || anew ? TASK_LEAVE : TASK_TEND;
}

static gpointer
work_on(const RouteHost *host, gpointer data)
{
    Watched *watched = data;
    BlackBox *box = box_of(live_service(watched->target));
    const Task task = choose_task(box, watched);
    if (task == TASK_BEGIN)
        begin(box, watched);
    else if (task == TASK_TEND)
        tend_and_dump(box, watched);
    else if (task == TASK_END)
        note_end(box, watched);
    else if (task == TASK_LEAVE && watched->observer != NULL)
        release(watched);
    if ((task == TASK_END || task == TASK_LEAVE) && watched->observer != NULL)
        leave(box, watched);
    give_back(box, watched);
    wake_up(box);
    return NULL;
}

/* Submits work; WATCHED must be busy. */
static void
submit(Watched *watched)
{
    const ServiceWork work = {
        .pace = SERVICE_KEEPS, .func = work_on, .data = g_atomic_rc_box_acquire(watched), .free_data = drop_watched};
    work_submit_own(watched->target, &work, NULL, NULL);
}

/* ---- the thread of the box ---- */

/* Whether a memory limit applies to the target but not to jescope: if it applied to both, dumps would be charged to it,
 * too. */
static gboolean
has_limit(const ServiceTarget *target)
{
    CgroupRooms rooms;
    return cgroup_rooms_read("/proc", "/sys/fs/cgroup", (int)live_process(target)->pid, (int)getpid(), &rooms) &&
           rooms.alone.limit != G_MAXUINT64;
}

static gboolean
is_chosen(BlackBox *box, const ServiceTarget *target)
{
    const ServiceBlackboxScope scope = options_of(box->service).scope;
    return scope == SERVICE_BLACKBOX_ALL || (scope == SERVICE_BLACKBOX_LIMITED && has_limit(target));
}

static gboolean
is_to_leave(BlackBox *box, const Watched *watched)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&box->lock);
    return watched->anew || watched->gone;
}

static gboolean
is_called(BlackBox *box, const Watched *watched)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&box->lock);
    return watched->called;
}

/* WATCHED must be busy, and stays so if there is work. */
static gboolean
has_work(BlackBox *box, Watched *watched)
{
    if (watched->observer == NULL)
        return is_chosen(box, watched->target);
    if (is_to_leave(box, watched))
        return TRUE;
    watched->due = observer_read(watched->observer);
    if (is_called(box, watched))
        watched->due = PACER_PREKILL;
    return watched->due != PACER_NOT_YET || observer_must_tend(watched->observer);
}

/* Whether it must be read before its time. With the lock. */
static gboolean
is_urgent(const Watched *watched)
{
    return watched->ended || watched->anew || watched->called;
}

/* With the lock. */
static GArray *
find_due(BlackBox *box, gint64 now_us)
{
    GArray *due = g_array_new(FALSE, FALSE, sizeof(RoundEntry));
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, box->watched);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Watched *watched = value;
        const RoundEntry entry = {watched->next_us, live_account(watched->target), watched->ended, value};
        if (!watched->busy && (watched->next_us <= now_us || is_urgent(watched)))
            g_array_append_val(due, entry);
    }
    return due;
}

/* Takes due targets, some of each user; marks them busy and adds a reference to each. */
static GPtrArray *
take_due(BlackBox *box, gint64 now_us)
{
    GPtrArray *taken = g_ptr_array_new_with_free_func(drop_watched);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&box->lock);
    g_autoptr(GArray) due = find_due(box, now_us);
    round_choose(due);
    for (guint i = 0; i < due->len; i++) {
        Watched *watched = g_array_index(due, RoundEntry, i).data;
        watched->busy = TRUE;
        g_ptr_array_add(taken, g_atomic_rc_box_acquire(watched));
    }
    return taken;
}

/* The time at which the next one is due. */
static gint64
find_next_us(BlackBox *box)
{
    gint64 next_us = g_get_monotonic_time() + LOOK_US;
    GHashTableIter iter;
    gpointer value;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&box->lock);
    g_hash_table_iter_init(&iter, box->watched);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Watched *watched = value;
        if (!watched->busy)
            next_us = MIN(next_us, is_urgent(watched) ? 0 : watched->next_us);
    }
    return next_us;
}

static void
read_due(BlackBox *box)
{
    const gint64 before = thread_time_us();
    g_autoptr(GPtrArray) due = take_due(box, g_get_monotonic_time());
    for (guint i = 0; i < due->len; i++) {
        Watched *watched = due->pdata[i];
        if (watched->ended || has_work(box, watched))
            submit(watched);
        else
            give_back(box, watched);
    }
    box->rests_until_us = g_get_monotonic_time() + (thread_time_us() - before) * (SHARE - 1);
}

static void
note_ended(BlackBox *box, const struct epoll_event *events, int n)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&box->lock);
    for (int i = 0; i < n; i++) {
        Watched *watched = events[i].data.ptr != NULL ? g_hash_table_lookup(box->watched, events[i].data.ptr) : NULL;
        if (watched != NULL)
            watched->ended = TRUE;
    }
}

static void
wait_for_next(BlackBox *box)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    guint64 woken;
    const gint64 until_us = MAX(find_next_us(box), box->rests_until_us);
    const gint64 left_us = MAX(until_us - g_get_monotonic_time(), 0);
    int n = epoll_wait(box->events, events, EVENTS_AT_ONCE, (int)((left_us + 999) / 1000));
    for (int i = 0; i < n; i++)
        if (events[i].data.ptr == NULL && read(box->wake, &woken, sizeof(woken)) < 0)
            g_debug("the black box was not woken");
    note_ended(box, events, n);
}

static gboolean
is_stopping(BlackBox *box)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&box->lock);
    return box->stopping;
}

static gpointer
run(gpointer data)
{
    BlackBox *box = data;
    while (!is_stopping(box)) {
        if (g_get_monotonic_time() >= box->rests_until_us)
            read_due(box);
        wait_for_next(box);
    }
    return NULL;
}

/* ---- groups that are about to be killed, on the thread of the hook ---- */

/* The targets that are watched or about to be. */
static GPtrArray *
take_watched(BlackBox *box)
{
    GPtrArray *all = g_ptr_array_new_with_free_func(drop_watched);
    GHashTableIter iter;
    gpointer value;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&box->lock);
    g_hash_table_iter_init(&iter, box->watched);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        if (((const Watched *)value)->is_watched || ((const Watched *)value)->busy)
            g_ptr_array_add(all, g_atomic_rc_box_acquire(value));
    return all;
}

static void
keep_those_in(GPtrArray *watched, const char *killed)
{
    for (guint i = watched->len; i > 0; i--) {
        const Watched *one = watched->pdata[i - 1];
        g_autofree char *group = cgroup_path((int)live_process(one->target)->pid);
        if (group == NULL || !prekill_concerns(killed, group))
            g_ptr_array_remove_index_fast(watched, i - 1);
    }
}

/* With the lock. */
static gboolean
is_any_called(const GPtrArray *watched)
{
    for (guint i = 0; i < watched->len; i++)
        if (((const Watched *)watched->pdata[i])->called)
            return TRUE;
    return FALSE;
}

static void
before_kill(const char *killed, gpointer data)
{
    BlackBox *box = data;
    const gint64 until_us = g_get_monotonic_time() + PREKILL_US;
    g_autoptr(GPtrArray) watched = take_watched(box);
    keep_those_in(watched, killed);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&box->lock);
    for (guint i = 0; i < watched->len; i++) {
        Watched *one = watched->pdata[i];
        one->called = one->is_watched || one->busy;
    }
    wake_up(box);
    while (!box->stopping && is_any_called(watched) && g_cond_wait_until(&box->answered, &box->lock, until_us))
        continue;
}

/* ---- the sink, in the main context ---- */

static GHashTable *
new_table(void)
{
    return g_hash_table_new_full(NULL, NULL, NULL, drop_watched);
}

static gpointer
new_box(Service *service)
{
    struct epoll_event woken = {.events = EPOLLIN};
    BlackBox *box = g_new0(BlackBox, 1);
    box->service = service;
    box->watched = new_table();
    box->events = epoll_create1(EPOLL_CLOEXEC);
    box->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_ctl(box->events, EPOLL_CTL_ADD, box->wake, &woken);
    g_mutex_init(&box->lock);
    g_cond_init(&box->answered);
    if (service->options.prekill != NULL)
        prekill_hook_begin(service->options.prekill, before_kill, box);
    return box;
}

static void
free_box(gpointer state)
{
    BlackBox *box = state;
    g_hash_table_unref(box->watched);
    close(box->events);
    close(box->wake);
    g_mutex_clear(&box->lock);
    g_cond_clear(&box->answered);
    g_free(box);
}

/* With the lock. */
static void
add(const BlackBox *box, ServiceTarget *target)
{
    if (g_hash_table_contains(box->watched, target))
        return;
    Watched *watched = g_atomic_rc_box_new0(Watched);
    watched->target = service_target_ref(target);
    g_hash_table_insert(box->watched, target, watched);
}

static void
add_all(BlackBox *box)
{
    const GPtrArray *live = registry_live(box->service->registry);
    if (options_of(box->service).scope == SERVICE_BLACKBOX_OFF || live->len == 0)
        return;
    g_mutex_lock(&box->lock);
    const gboolean may_begin = !box->stopping;
    for (guint i = 0; may_begin && i < live->len; i++)
        add(box, live->pdata[i]);
    g_mutex_unlock(&box->lock);
    if (may_begin && box->thread == NULL)
        box->thread = g_thread_new("black-box", run, box);
    wake_up(box);
}

static void
note_gone(BlackBox *box)
{
    GHashTableIter iter;
    gpointer value;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&box->lock);
    g_hash_table_iter_init(&iter, box->watched);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Watched *watched = value;
        watched->gone = service_target_state(watched->target) == SERVICE_TARGET_GONE;
        if (watched->gone && !watched->busy && !watched->is_watched)
            g_hash_table_iter_remove(&iter);
    }
}

static gboolean
on_changes(gpointer data)
{
    BlackBox *box = data;
    box->is_changing = FALSE;
    add_all(box);
    note_gone(box);
    return G_SOURCE_REMOVE;
}

/* Looks at all targets once for all events that have come: thousands may begin or end at once. */
static void
on_event(gpointer state, const ServiceEvent *event)
{
    BlackBox *box = state;
    if (box->is_changing || (event->type != SERVICE_EVENT_TARGET_CAME && event->type != SERVICE_EVENT_TARGET_GONE))
        return;
    box->is_changing = TRUE;
    service_post(box->service, on_changes, box, NULL);
}

static void
stop_thread(BlackBox *box)
{
    g_mutex_lock(&box->lock);
    box->stopping = TRUE;
    g_cond_broadcast(&box->answered);
    g_mutex_unlock(&box->lock);
    if (box->service->options.prekill != NULL)
        prekill_hook_end(box->service->options.prekill);
    wake_up(box);
    if (box->thread != NULL)
        g_thread_join(g_steal_pointer(&box->thread));
}

/* Work on a target is serialized, so the box's work in progress ends first. */
static void
stop_box(gpointer state)
{
    BlackBox *box = state;
    stop_thread(box);
    g_autoptr(GPtrArray) watched = take_watched(box);
    for (guint i = 0; i < watched->len; i++)
        submit(watched->pdata[i]);
}

/* Drops the targets, which have references to the service. */
static void
close_box(gpointer state)
{
    BlackBox *box = state;
    stop_thread(box);
    g_mutex_lock(&box->lock);
    GHashTable *watched = g_steal_pointer(&box->watched);
    box->watched = new_table();
    g_mutex_unlock(&box->lock);
    g_hash_table_unref(watched);
}

const Sink blackbox_sink = {.new = new_box, .free = free_box, .event = on_event, .stop = stop_box, .close = close_box};

void
blackbox_reconfigure(Service *service)
{
    BlackBox *box = box_of(service);
    GHashTableIter iter;
    gpointer value;
    add_all(box);
    g_mutex_lock(&box->lock);
    g_hash_table_iter_init(&iter, box->watched);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Watched *watched = value;
        watched->anew = TRUE;
    }
    g_mutex_unlock(&box->lock);
    wake_up(box);
}

void
blackbox_count(const Service *service, ServiceFigures *figures)
{
    BlackBox *box = box_of(service);
    GHashTableIter iter;
    gpointer value;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&box->lock);
    figures->blackbox = box->counts;
    figures->blackbox.watched = 0;
    g_hash_table_iter_init(&iter, box->watched);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        figures->blackbox.watched += ((const Watched *)value)->is_watched;
}
