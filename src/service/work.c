/* SPDX-License-Identifier: Apache-2.0 */
#include "service/work.h"

#include "service/host.h"
#include "service/target.h"

#include <string.h>

struct Job {
    ServiceTarget *target;
    ServiceWork work; /* key and who are copies */
    GPtrArray *tickets;
    gboolean own;
    gboolean begun;
    gpointer result;
    GError *error; /* it was not begun */
};

struct ServiceTicket {
    Job *job;
    ServiceDone done; /* NULL: cancelled */
    gpointer data;
};

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
    g_autoptr(ServiceHold) service = service_ref(job->target->service);
    for (guint i = 0; i < job->tickets->len; i++) {
        const ServiceTicket *ticket = job->tickets->pdata[i];
        if (ticket->done != NULL)
            ticket->done(job->result, job->error, ticket->data);
    }
    g_mutex_lock(&service->lock);
    service->figures.waiting--;
    g_mutex_unlock(&service->lock);
    service_check_stopped(service);
    return G_SOURCE_REMOVE;
}

/* The next piece of a target's work that may begin, taken out; NULL: none. */
static Job *
next_job(Service *service, ServiceTarget *target)
{
    Lane *lane = &target->lane;
    gboolean slow = !g_queue_is_empty(&lane->waiting[SERVICE_SLOW]);
    gboolean room = service->slow_running < service->options.limits.slow;
    if (slow && !room && !lane->in_slow_waiting) {
        g_queue_push_tail(&service->slow_waiting, service_target_ref(target));
        lane->in_slow_waiting = TRUE;
    }
    ServicePace pace = SERVICE_QUICK;
    if (slow && room && (lane->slow_turn || g_queue_is_empty(&lane->waiting[SERVICE_QUICK])))
        pace = SERVICE_SLOW;
    lane->slow_turn = pace == SERVICE_QUICK; /* neither keeps the other waiting for long */
    return g_queue_pop_head(&lane->waiting[pace]);
}

/* With Service.lock. */
static void
begin_next(Service *service, ServiceTarget *target)
{
    Job *job = target->lane.holder == NULL && !service->closed ? next_job(service, target) : NULL;
    if (job == NULL)
        return;
    gboolean slow = job->work.pace == SERVICE_SLOW;
    job->begun = TRUE;
    g_hash_table_remove(service->unbegun, job);
    target->lane.holder = job;
    service->slow_running += slow;
    g_thread_pool_push(slow ? service->slow : service->quick, job, NULL);
}

/* With Service.lock. Returns a reference to be dropped without it. */
static ServiceTarget *
begin_waiting_slow(Service *service)
{
    ServiceTarget *target = g_queue_pop_head(&service->slow_waiting);
    if (target == NULL)
        return NULL;
    target->lane.in_slow_waiting = FALSE;
    begin_next(service, target);
    return target;
}

static void
end_job(Job *job)
{
    Service *service = job->target->service;
    g_autoptr(ServiceTarget) waited G_GNUC_UNUSED = NULL; /* outlives the locker */
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    if (job->target->lane.holder == job)
        job->target->lane.holder = NULL;
    service->figures.done++;
    if (job->work.pace == SERVICE_SLOW) {
        service->slow_running--;
        waited = begin_waiting_slow(service);
    }
    begin_next(service, job->target);
}

static void
run_job(gpointer data, gpointer user_data)
{
    Job *job = data;
    g_autoptr(ServiceHold) service = service_ref(job->target->service);
    job->result = host_run(job, job->work.func, job->work.data);
    end_job(job);
    service_post(service, deliver, job, free_job);
}

void
work_let_go(Job *job)
{
    Service *service = job->target->service;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    if (job->target->lane.holder != job)
        return;
    job->target->lane.holder = NULL;
    begin_next(service, job->target);
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

static Job *
find_shared(ServiceTarget *target, const ServiceWork *work)
{
    for (const GList *link = target->lane.waiting[work->pace].head; link != NULL; link = link->next) {
        Job *job = link->data;
        if (job->work.key != NULL && strcmp(job->work.key, work->key) == 0)
            return job;
    }
    return NULL;
}

static guint
count_waiting(const Lane *lane)
{
    return lane->waiting[SERVICE_QUICK].length + lane->waiting[SERVICE_SLOW].length;
}

/* With Service.lock. Takes over JOB. */
static void
enqueue(Service *service, Job *job)
{
    GQueue *queue = &job->target->lane.waiting[job->work.pace];
    service->figures.waiting++;
    g_hash_table_add(service->unbegun, job);
    if (job->own)
        g_queue_push_head(queue, job);
    else
        g_queue_push_tail(queue, job);
    begin_next(service, job->target);
}

/* With Service.lock. NULL: there is room. */
static GError *
why_refused(Service *service, const ServiceTarget *target)
{
    if (service->stopping || service->closed)
        return g_error_new(SERVICE_ERROR, SERVICE_ERROR_STOPPING, "jescope is about to end");
    if (count_waiting(&target->lane) < service->options.limits.waiting)
        return NULL;
    service->figures.refused++;
    return g_error_new(SERVICE_ERROR, SERVICE_ERROR_BUSY, "%u requests wait for %s already; try again in a moment",
                       count_waiting(&target->lane), target->label);
}

static void
discard_data(const ServiceWork *work)
{
    if (work->free_data != NULL)
        work->free_data(work->data);
}

ServiceTicket *
service_target_submit(ServiceTarget *target, const ServiceWork *work, ServiceDone done, gpointer data, GError **error)
{
    Service *service = target->service;
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
        discard_data(work);
    if (refused != NULL)
        g_propagate_error(error, refused);
    return ticket;
}

ServiceTicket *
work_submit_own(ServiceTarget *target, const ServiceWork *work, ServiceDone done, gpointer data)
{
    Service *service = target->service;
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
    return job->own;
}

void
service_ticket_cancel(ServiceTicket *ticket)
{
    Job *job = ticket->job;
    Service *service = job->target->service;
    ticket->done = NULL;
    g_mutex_lock(&service->lock);
    gboolean idle = !job->begun && !is_wanted(job);
    if (idle) {
        g_queue_remove(&job->target->lane.waiting[job->work.pace], job);
        g_hash_table_remove(service->unbegun, job);
    }
    g_mutex_unlock(&service->lock);
    if (idle)
        service_post(service, deliver, job, free_job);
}

gboolean
work_start(Service *service, GError **error)
{
    const ServiceLimits *limits = &service->options.limits;
    service->unbegun = g_hash_table_new(NULL, NULL);
    service->quick = g_thread_pool_new(run_job, NULL, (int)limits->quick, FALSE, error);
    if (service->quick != NULL)
        service->slow = g_thread_pool_new(run_job, NULL, (int)limits->slow, FALSE, error);
    return service->slow != NULL;
}

/* Takes everything out that has not begun, to be freed without the lock. */
static GList *
take_unbegun(Service *service)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    GList *jobs = g_hash_table_get_keys(service->unbegun);
    for (const GList *link = jobs; link != NULL; link = link->next) {
        Job *job = link->data;
        g_queue_clear(&job->target->lane.waiting[job->work.pace]);
    }
    g_hash_table_remove_all(service->unbegun);
    return jobs;
}

void
work_end(Service *service)
{
    g_list_free_full(take_unbegun(service), free_job);
    GQueue targets = G_QUEUE_INIT;
    g_mutex_lock(&service->lock);
    while (!g_queue_is_empty(&service->slow_waiting))
        g_queue_push_tail(&targets, g_queue_pop_head(&service->slow_waiting));
    g_mutex_unlock(&service->lock);
    g_queue_clear_full(&targets, (GDestroyNotify)service_target_unref);
    g_thread_pool_free(service->slow, FALSE, FALSE);
    g_thread_pool_free(service->quick, FALSE, FALSE);
}

static void
drop(Job *job)
{
    job->error = g_error_new(SERVICE_ERROR, SERVICE_ERROR_STOPPING, "jescope is about to end");
    service_post(job->target->service, deliver, job, free_job);
}

void
work_drop_waiting(Service *service)
{
    g_autoptr(GList) jobs = take_unbegun(service);
    for (GList *link = jobs; link != NULL; link = link->next)
        drop(link->data);
}

guint
work_left(Service *service)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    return service->figures.waiting;
}
