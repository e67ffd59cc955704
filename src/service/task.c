/* SPDX-License-Identifier: Apache-2.0 */
/* service_run_task() and service_work_read_history() */
#include "service/live.h"
#include "service/work.h"

typedef struct {
    Service *service; /* a reference */
    ServiceTask task;
    ServiceDone done;
    gpointer done_data;
    gpointer result;
    GError *error;
} Running;

static void
free_running(gpointer data)
{
    Running *running = data;
    if (running->result != NULL && running->task.free_result != NULL)
        running->task.free_result(running->result);
    if (running->task.free_data != NULL)
        running->task.free_data(running->task.data);
    g_clear_error(&running->error);
    service_unref(running->service);
    g_free(running);
}

static gboolean
deliver(gpointer data)
{
    const Running *running = data;
    running->done(running->result, running->error, running->done_data);
    return G_SOURCE_REMOVE;
}

static void
run(gpointer data)
{
    Running *running = data;
    running->result = running->task.func(running->task.data, &running->error);
    service_post(running->service, deliver, running, free_running);
}

void
service_run_task(Service *service, const ServiceTask *task, ServiceDone done, gpointer done_data)
{
    Running *running = g_new0(Running, 1);
    running->service = service_ref(service);
    running->task = *task;
    running->done = done;
    running->done_data = done_data;
    service_offload(service, run, running);
}

/* ---- the history ---- */

gpointer
service_work_read_history(const RouteHost *host, ServiceReadFunc func, gpointer data, GError **error)
{
    Job *job = host->data;
    work_release(job);
    return shared_history_read(live_service(work_target(job))->history, func, data, error);
}
