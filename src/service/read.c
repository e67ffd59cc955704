/* SPDX-License-Identifier: Apache-2.0 */
/* service_read_history() */
#include "service/core.h"

#include <gio/gio.h>

typedef struct {
    Service *service; /* a reference */
    ServiceRead read;
    ServiceDone done;
    gpointer done_data;
    gpointer result;
    GError *error;
} Reading;

static void
free_reading(gpointer data)
{
    Reading *reading = data;
    if (reading->result != NULL && reading->read.free_result != NULL)
        reading->read.free_result(reading->result);
    if (reading->read.free_data != NULL)
        reading->read.free_data(reading->read.data);
    g_clear_error(&reading->error);
    service_unref(reading->service);
    g_free(reading);
}

static gboolean
deliver(gpointer data)
{
    const Reading *reading = data;
    reading->done(reading->result, reading->error, reading->done_data);
    return G_SOURCE_REMOVE;
}

static void
run(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    Reading *reading = data;
    reading->result = keep_read(reading->service->keep, reading->read.func, reading->read.data, &reading->error);
    service_post(reading->service, deliver, reading, free_reading);
}

void
service_read_history(Service *service, const ServiceRead *read, ServiceDone done, gpointer done_data)
{
    Reading *reading = g_new0(Reading, 1);
    reading->service = service_ref(service);
    reading->read = *read;
    reading->done = done;
    reading->done_data = done_data;
    g_autoptr(GTask) task = g_task_new(NULL, NULL, NULL, NULL);
    g_task_set_task_data(task, reading, NULL);
    g_task_run_in_thread(task, run);
}
