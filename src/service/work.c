/* SPDX-License-Identifier: Apache-2.0 */
#include "service/work.h"

#include "service/live.h"

#include <string.h>

enum {
    LATE_EVERY_S = 1,
};

/* The state of a job. It only advances, under Service.lock; the code that sets JOB_OVER posts it, once. */
typedef enum {
    JOB_WAITING, /* in its lane */
    JOB_RUNNING, /* owned by its thread */
    JOB_OVER,    /* owned by the message that delivers and frees it */
} JobState;

/* The jobs of a target; guarded by Service.lock. */
typedef struct {
    GQueue waiting[SERVICE_PACES]; /* of Job */
    Job *holder;                   /* the job that uses the target */
    gboolean slow_turn;
    gboolean is_ready[SERVICE_PACES]; /* in Service.turns */
    GList ready[SERVICE_PACES];
} Lane;

struct Job {
    ServiceTarget *target;
    ServiceWork work; /* key and who are copied */
    GPtrArray *tickets;
    gboolean own;
    gboolean forced;  /* work_is_forced() */
    JobState state;   /* guarded by Service.lock */
    gint64 queued_us; /* monotonic time */
    gint64 begun_us;  /* the same, once it runs */
    char *told;       /* work_is_first(); NULL: nothing */
    gpointer result;
    GError *error; /* why it was not begun */
};

struct ServiceTicket {
    Job *job;
    ServiceDone done; /* NULL: cancelled; written with Service.lock */
    gpointer data;
};

static Lane *
lane_of(ServiceTarget *target)
{
    static const LivePart lane_part = {sizeof(Lane), NULL};
    return live_part(target, &lane_part);
}

static void
free_job(gpointer data)
{
    Job *job = data;
    if (job->result != NULL && job->work.free_result != NULL)
        job->work.free_result(job->result);
    if (job->work.free_data != NULL)
        job->work.free_data(job->work.data);
    g_clear_error(&job->error);
    g_ptr_array_unref(job->tickets);
    g_free((gpointer)(guintptr)job->work.key);
    g_free((gpointer)(guintptr)job->work.who);
    g_free(job->told);
    service_target_unref(job->target);
    g_free(job);
}

static Job *
new_job(ServiceTarget *target, const ServiceWork *work)
{
    Job *job = g_new0(Job, 1);
    job->target = service_target_ref(target);
    job->work = *work;
    job->work.key = g_strdup(work->key);
    job->work.who = g_strdup(work->who);
    job->tickets = g_ptr_array_new_with_free_func(g_free);
    return job;
}

static ServiceTicket *
add_ticket(Job *job, ServiceDone done, gpointer data)
{
    ServiceTicket *ticket = g_new0(ServiceTicket, 1);
    ticket->job = job;
    ticket->done = done;
    ticket->data = data;
    g_ptr_array_add(job->tickets, ticket);
    return ticket;
}

static gboolean
deliver(gpointer data)
{
    Job *job = data;
    g_autoptr(ServiceHold) service = service_ref(live_service(job->target));
    for (guint i = 0; i < job->tickets->len; i++) {
        const ServiceTicket *ticket = job->tickets->pdata[i];
        if (ticket->done != NULL)
            ticket->done(job->result, job->error, ticket->data);
    }
    g_mutex_lock(&service->lock);
    service->figures.waiting--;
    g_mutex_unlock(&service->lock);
    if (!job->work.forgoable)
        service_end_needed(service);
    return G_SOURCE_REMOVE;
}

/* Removes a waiting job from its lane. This function and all others up to run_job() require Service.lock. */
static void
take_out(Service *service, Job *job)
{
    g_queue_remove(&lane_of(job->target)->waiting[job->work.pace], job);
    g_hash_table_remove(service->unbegun, job);
}

static guint
count_slow(const Service *service, guint64 peer)
{
    guint n = 0;
    for (const GList *link = service->slow.head; peer != 0 && link != NULL; link = link->next)
        n += ((const Job *)link->data)->work.peer == peer;
    return n;
}

/* The job of LANE that comes next, or NULL. Of slow work, it is one of the peer that has fewest in progress, on any
 * target, so that those of one peer, however many and however slow, do not keep others from having any. */
static Job *
next_job(const Service *service, const Lane *lane, ServicePace pace)
{
    const GList *link = lane->waiting[pace].head;
    if (pace != SERVICE_SLOW)
        return link != NULL ? link->data : NULL;
    Job *next = NULL;
    for (guint least = MAX(service->options.limits.slow / 2, 1); link != NULL && least > 0; link = link->next) {
        Job *job = link->data;
        const guint n = count_slow(service, job->work.peer);
        next = n < least ? job : next;
        least = MIN(n, least);
    }
    return next;
}

/* A lane is ready for a thread if no job uses its target and one may begin. Quick and slow work alternate, so that
 * neither waits for long. */
static gboolean
should_be_ready(const Service *service, const Lane *lane, ServicePace pace)
{
    if (lane->holder != NULL || next_job(service, lane, pace) == NULL)
        return FALSE;
    return pace == SERVICE_QUICK || pace == SERVICE_KEEPS || lane->slow_turn ||
           lane->waiting[SERVICE_QUICK].length == 0;
}

static void
refresh(Service *service, ServiceTarget *target)
{
    Lane *lane = lane_of(target);
    for (guint pace = 0; pace < SERVICE_PACES; pace++) {
        gboolean ready = should_be_ready(service, lane, pace);
        if (ready == lane->is_ready[pace])
            continue;
        lane->is_ready[pace] = ready;
        lane->ready[pace].data = target;
        if (ready)
            turns_enter(&service->turns[pace], live_account(target), &lane->ready[pace], g_get_monotonic_time());
        else
            turns_withdraw(&service->turns[pace], live_account(target), &lane->ready[pace]);
    }
}

/* After the number of PEER's slow jobs in progress has changed. */
static void
refresh_slow(Service *service, guint64 peer)
{
    GHashTableIter iterator;
    gpointer key;
    g_hash_table_iter_init(&iterator, service->unbegun);
    while (peer != 0 && g_hash_table_iter_next(&iterator, &key, NULL)) {
        const Job *job = key;
        if (job->work.peer == peer && job->work.pace == SERVICE_SLOW)
            refresh(service, job->target);
    }
}

static void
begin(Service *service, ServiceTarget *target, ServicePace pace)
{
    Lane *lane = lane_of(target);
    Job *job = next_job(service, lane, pace);
    g_assert(job != NULL); /* it is ready */
    take_out(service, job);
    job->state = JOB_RUNNING;
    job->begun_us = g_get_monotonic_time();
    lane->is_ready[pace] = FALSE;
    if (pace != SERVICE_KEEPS)
        lane->slow_turn = pace == SERVICE_QUICK;
    lane->holder = job;
    refresh(service, target);
    if (pace == SERVICE_SLOW) {
        g_queue_push_tail(&service->slow, job);
        refresh_slow(service, job->work.peer);
    }
    g_thread_pool_push(service->pools[pace], job, NULL); /* its threads exist */
}

static void
dispatch(Service *service)
{
    static const ServicePace order[] = {SERVICE_KEEPS, SERVICE_WAITS, SERVICE_SLOW, SERVICE_QUICK};
    for (gsize i = 0; i < G_N_ELEMENTS(order) && !service->closed; i++) {
        GList *ready;
        while ((ready = turns_next(&service->turns[order[i]], g_get_monotonic_time())) != NULL)
            begin(service, ready->data, order[i]);
    }
}

static void
release(Service *service, const Job *job)
{
    if (lane_of(job->target)->holder != job)
        return;
    lane_of(job->target)->holder = NULL;
    refresh(service, job->target);
}

static void
end_job(Job *job)
{
    Service *service = live_service(job->target);
    const gint64 now_us = g_get_monotonic_time();
    /* That a request has waited as it asked for says nothing about how its user's targets delay others. */
    const gint64 took_us = job->work.pace == SERVICE_WAITS ? 0 : now_us - job->begun_us;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    job->state = JOB_OVER;
    service->figures.done++;
    release(service, job);
    if (g_queue_remove(&service->slow, job))
        refresh_slow(service, job->work.peer);
    turns_done(&service->turns[job->work.pace], live_account(job->target), took_us, now_us);
    dispatch(service);
}

static void
run_job(gpointer data, gpointer user_data)
{
    Job *job = data;
    g_autoptr(ServiceHold) service = service_ref(live_service(job->target));
    job->result = service->run_job(job, job->work.func, job->work.data);
    end_job(job);
    service_post(service, deliver, job, free_job);
}

void
work_release(Job *job)
{
    Service *service = live_service(job->target);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    release(service, job);
    dispatch(service);
}

ServiceTarget *
work_target(const Job *job)
{
    return job->target;
}

const char *
work_who(const Job *job)
{
    return job->work.who;
}

void
work_set_forced(Job *job, gboolean forced)
{
    job->forced = forced;
}

gboolean
work_is_forced(const Job *job)
{
    return job->forced;
}

guint64
work_peer(const Job *job)
{
    return job->work.peer;
}

gboolean
work_is_first(Job *job, const char *what)
{
    if (g_strcmp0(job->told, what) == 0)
        return FALSE;
    g_free(job->told);
    job->told = g_strdup(what);
    return TRUE;
}

static Job *
find_shared(ServiceTarget *target, const ServiceWork *work)
{
    for (const GList *link = lane_of(target)->waiting[work->pace].head; link != NULL; link = link->next) {
        Job *job = link->data;
        if (job->work.key != NULL && strcmp(job->work.key, work->key) == 0)
            return job;
    }
    return NULL;
}

static guint
count_waiting(const Lane *lane)
{
    guint n = 0;
    for (guint pace = 0; pace < SERVICE_PACES; pace++)
        n += lane->waiting[pace].length;
    return n;
}

/* Takes ownership of JOB. With Service.lock. */
static void
enqueue(Service *service, Job *job)
{
    GQueue *queue = &lane_of(job->target)->waiting[job->work.pace];
    service->figures.waiting++;
    service->needed += !job->work.forgoable;
    job->queued_us = g_get_monotonic_time();
    g_hash_table_add(service->unbegun, job);
    if (job->own)
        g_queue_push_head(queue, job);
    else
        g_queue_push_tail(queue, job);
    refresh(service, job->target);
    dispatch(service);
}

/* The error if work must be refused; NULL if it can be accepted. With Service.lock. */
static GError *
why_refused(Service *service, ServiceTarget *target)
{
    if (service->stopping || service->closed)
        return g_error_new(TARGET_ERROR, OUTCOME_STOPPING, "jescope is about to end");
    if (count_waiting(lane_of(target)) < service->options.limits.waiting)
        return NULL;
    service->figures.refused++;
    return g_error_new(TARGET_ERROR, OUTCOME_CROWDED, "%u requests are already waiting for %s; try again in a moment",
                       count_waiting(lane_of(target)), service_target_label(target));
}

ServiceTicket *
service_target_submit(ServiceTarget *target, const ServiceWork *work, ServiceDone done, gpointer data, GError **error)
{
    Service *service = live_service(target);
    g_mutex_lock(&service->lock);
    GError *refused = why_refused(service, target);
    Job *shared = refused == NULL && work->key != NULL ? find_shared(target, work) : NULL;
    ServiceTicket *ticket = NULL;
    if (shared != NULL) {
        service->figures.shared++;
        ticket = add_ticket(shared, done, data);
    } else if (refused == NULL) {
        Job *job = new_job(target, work);
        ticket = add_ticket(job, done, data);
        enqueue(service, job);
    }
    g_mutex_unlock(&service->lock);
    if (shared != NULL || refused != NULL)
        if (work->free_data != NULL)
            work->free_data(work->data);
    if (refused != NULL)
        g_propagate_error(error, refused);
    return ticket;
}

ServiceTicket *
work_submit_own(ServiceTarget *target, const ServiceWork *work, ServiceDone done, gpointer data)
{
    Service *service = live_service(target);
    Job *job = new_job(target, work);
    ServiceTicket *ticket = add_ticket(job, done, data);
    job->own = TRUE;
    g_mutex_lock(&service->lock);
    gboolean closed = service->closed;
    if (!closed)
        enqueue(service, job);
    g_mutex_unlock(&service->lock);
    if (!closed)
        return ticket;
    free_job(job);
    return NULL;
}

static gboolean
is_wanted(const Job *job)
{
    for (guint i = 0; i < job->tickets->len; i++)
        if (((const ServiceTicket *)job->tickets->pdata[i])->done != NULL)
            return TRUE;
    return job->own || job->work.lasting;
}

ServiceTarget *
service_work_target(const RouteHost *host)
{
    return work_target(host->data);
}

gboolean
service_work_is_wanted(const RouteHost *host)
{
    const Job *job = host->data;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&live_service(job->target)->lock);
    return is_wanted(job);
}

/* ---- dropped work ---- */

/* Removes the waiting jobs that CHOSEN selects and marks them over; the caller has to post them without the lock. */
static GList *
take_unbegun(Service *service, gboolean (*chosen)(const Job *job, gint64 now_us))
{
    gint64 now_us = g_get_monotonic_time();
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    g_autoptr(GList) jobs = g_hash_table_get_keys(service->unbegun);
    GList *taken = NULL;
    for (const GList *link = jobs; link != NULL; link = link->next) {
        Job *job = link->data;
        if (!chosen(job, now_us))
            continue;
        take_out(service, job);
        job->state = JOB_OVER;
        refresh(service, job->target);
        taken = g_list_prepend(taken, job);
    }
    return taken;
}

static void
drop(Service *service, gboolean (*chosen)(const Job *job, gint64 now_us), Outcome code, const char *why)
{
    g_autoptr(GList) jobs = take_unbegun(service, chosen);
    for (const GList *link = jobs; link != NULL; link = link->next) {
        Job *job = link->data;
        job->error = g_error_new_literal(TARGET_ERROR, (int)code, why);
        service_post(service, deliver, job, free_job);
    }
}

static gboolean
is_any(const Job *job, gint64 now_us)
{
    return TRUE;
}

void
work_drop_waiting(Service *service)
{
    drop(service, is_any, OUTCOME_STOPPING, "jescope is about to end");
}

/* The service's own work has no timeout. */
static gboolean
is_late(const Job *job, gint64 now_us)
{
    gint64 patience_us = (gint64)live_service(job->target)->options.limits.waiting_seconds * G_USEC_PER_SEC;
    return !job->own && now_us - job->queued_us > patience_us;
}

static gboolean
on_tick(gpointer data)
{
    Service *service = data;
    g_mutex_lock(&service->lock);
    gboolean waits = g_hash_table_size(service->unbegun) > 0;
    g_mutex_unlock(&service->lock);
    if (waits)
        drop(service, is_late, OUTCOME_LATE,
             "other requests and slow targets kept this request waiting for too long; try again in a moment");
    return G_SOURCE_CONTINUE;
}

void
service_ticket_cancel(ServiceTicket *ticket)
{
    Job *job = ticket->job;
    Service *service = live_service(job->target);
    g_mutex_lock(&service->lock);
    ticket->done = NULL;
    gboolean idle = job->state == JOB_WAITING && !is_wanted(job);
    if (idle) {
        take_out(service, job);
        job->state = JOB_OVER;
        refresh(service, job->target);
    }
    g_mutex_unlock(&service->lock);
    if (idle)
        service_post(service, deliver, job, free_job);
}

/* ---- beginning and end ---- */

gboolean
work_start(Service *service, WorkRunner run, GError **error)
{
    const ServiceLimits *limits = &service->options.limits;
    service->run_job = run;
    const guint per_user[SERVICE_PACES] = {[SERVICE_QUICK] = limits->quick,
                                           [SERVICE_SLOW] = limits->slow,
                                           [SERVICE_WAITS] = limits->waits,
                                           [SERVICE_KEEPS] = limits->keeps};
    for (guint pace = 0; pace < SERVICE_PACES; pace++) {
        const guint firsts = pace == SERVICE_WAITS ? limits->first_waits : 0;
        const guint n = per_user[pace] * SERVICE_USERS_AT_ONCE + firsts;
        turns_init(&service->turns[pace], n, per_user[pace]);
        service->turns[pace].firsts = firsts;
        service->pools[pace] = service_new_pool(run_job, n, error);
        if (service->pools[pace] == NULL)
            return FALSE;
    }
    service->late_tick = g_timeout_source_new_seconds(LATE_EVERY_S);
    g_source_set_callback(service->late_tick, on_tick, service, NULL);
    g_source_attach(service->late_tick, service->context);
    return TRUE;
}

void
work_end(Service *service)
{
    g_source_destroy(service->late_tick);
    g_clear_pointer(&service->late_tick, g_source_unref);
    GList *jobs = take_unbegun(service, is_any);
    g_list_free_full(jobs, free_job);
    for (guint pace = 0; pace < SERVICE_PACES; pace++)
        g_thread_pool_free(service->pools[pace], FALSE, FALSE);
}
