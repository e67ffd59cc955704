/* SPDX-License-Identifier: Apache-2.0 */
#include "service/core.h"

#include "target/target.h"

/* ---- references ---- */

Service *
service_ref(Service *service)
{
    g_atomic_ref_count_inc(&service->references);
    return service;
}

static void
clear_options(Service *service)
{
    g_clear_pointer(&service->names, g_strfreev);
    g_free((gpointer)(guintptr)service->options.default_target);
    g_free((gpointer)(guintptr)service->options.history);
    g_free((gpointer)(guintptr)service->options.blackbox.directory);
    g_free((gpointer)(guintptr)service->options.rules);
    g_clear_pointer(&service->options.pushes, g_ptr_array_unref);
}

void
service_unref(Service *service)
{
    if (!g_atomic_ref_count_dec(&service->references))
        return;
    g_array_unref(service->sinks);
    g_clear_pointer(&service->messages, message_queue_unref);
    g_clear_pointer(&service->lines, message_shares_free);
    g_clear_pointer(&service->event_shares, message_shares_free);
    shared_history_free(service->history);
    g_clear_pointer(&service->page_trees, held_files_free);
    g_clear_pointer(&service->bases, held_files_free);
    g_hash_table_unref(service->unbegun);
    turns_clear(&service->renderings);
    g_hash_table_unref(service->patience);
    for (guint pace = 0; pace < SERVICE_PACES; pace++)
        turns_clear(&service->turns[pace]);
    g_main_context_unref(service->context);
    g_mutex_clear(&service->lock);
    g_cond_clear(&service->rendering_done);
    clear_options(service);
    g_free(service);
}

/* ---- messages to the main context ---- */

void
service_post(Service *service, GSourceFunc func, gpointer data, GDestroyNotify free_data)
{
    message_queue_post(service->messages, func, data, free_data);
}

static gboolean
dispatch_alarm(GSource *source, GSourceFunc callback, gpointer data)
{
    return callback(data);
}

GSource *
service_new_alarm(Service *service, GSourceFunc func, gpointer data)
{
    static GSourceFuncs funcs = {.dispatch = dispatch_alarm};
    GSource *alarm = g_source_new(&funcs, sizeof(GSource));
    g_source_set_callback(alarm, func, data, NULL);
    g_source_attach(alarm, service->context);
    return alarm;
}

typedef struct {
    Service *service;
    char *text;
} LogLine;

static void
free_log_line(gpointer data)
{
    LogLine *line = data;
    service_unref(line->service);
    g_free(line->text);
    g_free(line);
}

static gboolean
say(gpointer data)
{
    const LogLine *line = data;
    const ServiceOptions *options = &line->service->options;
    if (options->say != NULL)
        options->say(line->text, options->data);
    return G_SOURCE_REMOVE;
}

static void
post_line(Service *service, char *text)
{
    LogLine *line = g_new(LogLine, 1);
    *line = (LogLine){service_ref(service), text};
    service_post(service, say, line, free_log_line);
}

void
service_say(Service *service, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    post_line(service, g_strdup_vprintf(format, arguments));
    va_end(arguments);
}

void
service_say_of(Service *service, uid_t account, const char *format, ...)
{
    va_list arguments;
    guint untold;
    if (!message_shares_take(service->lines, account, g_get_monotonic_time(), &untold))
        return;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    post_line(service, untold > 0 ? g_strdup_printf("%s (%u messages before this one were left out)", text, untold)
                                  : g_steal_pointer(&text));
}

typedef struct {
    Service *service;
    GError *error;
} FatalError;

static void
free_fatal_error(gpointer data)
{
    FatalError *fatal = data;
    service_unref(fatal->service);
    g_error_free(fatal->error);
    g_free(fatal);
}

static gboolean
fail(gpointer data)
{
    const FatalError *fatal = data;
    fatal->service->options.failed(fatal->error, fatal->service->options.data);
    return G_SOURCE_REMOVE;
}

void
service_fail(Service *service, const GError *error)
{
    if (service->options.failed == NULL)
        return;
    FatalError *fatal = g_new(FatalError, 1);
    *fatal = (FatalError){service_ref(service), g_error_copy(error)};
    service_post(service, fail, fatal, free_fatal_error);
}

/* ---- sinks ---- */

#define FOR_EACH_SINK(service, row)                                                                                    \
    for (const SinkRow *row = (const SinkRow *)(service)->sinks->data, *end = row + (service)->sinks->len; row < end;  \
         row++)

void
service_hand_sample(Service *service, const CollectedSample *collected)
{
    FOR_EACH_SINK(service, row)
    if (row->sink->sample != NULL)
        row->sink->sample(row->state, collected);
}

void
service_hand_remark(Service *service, const CollectedRemark *remark)
{
    FOR_EACH_SINK(service, row)
    if (row->sink->remark != NULL)
        row->sink->remark(row->state, remark);
}

void
service_hand_event(Service *service, const ServiceEvent *event)
{
    FOR_EACH_SINK(service, row)
    if (row->sink->event != NULL)
        row->sink->event(row->state, event);
}

void
service_hand_tick(Service *service)
{
    if (!g_atomic_int_compare_and_exchange(&service->ticking, FALSE, TRUE))
        return;
    FOR_EACH_SINK(service, row)
    if (row->sink->tick != NULL)
        row->sink->tick(row->state);
    g_atomic_int_set(&service->ticking, FALSE);
}

void
service_expire(Service *service)
{
    held_files_expire(service->page_trees, g_get_monotonic_time());
    held_files_expire(service->bases, g_get_monotonic_time());
}

void
service_stop_sinks(Service *service)
{
    FOR_EACH_SINK(service, row)
    if (row->sink->stop != NULL)
        row->sink->stop(row->state);
}

void
service_close_sinks(Service *service)
{
    FOR_EACH_SINK(service, row)
    if (row->sink->close != NULL)
        row->sink->close(row->state);
}

gpointer
service_sink_state(const Service *service, const Sink *sink)
{
    FOR_EACH_SINK(service, row)
    if (row->sink == sink)
        return row->state;
    return NULL;
}

void
service_count_missed(Service *service)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    service->figures.missed++;
}

/* ---- clean shutdown ---- */

void
service_begin_needed(Service *service)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    service->needed++;
}

void
service_end_needed(Service *service)
{
    g_mutex_lock(&service->lock);
    service->needed--;
    g_mutex_unlock(&service->lock);
    service_check_stopped(service);
}

void
service_notify_stopped(Service *service)
{
    void (*stopped)(gpointer data) = g_steal_pointer(&service->stopped);
    if (stopped != NULL)
        stopped(service->stopped_data);
}

void
service_check_stopped(Service *service)
{
    g_mutex_lock(&service->lock);
    gboolean over = service->needed == 0;
    g_mutex_unlock(&service->lock);
    if (over)
        service_notify_stopped(service);
}

/* ---- threads ---- */

GThreadPool *
service_new_pool(GFunc func, guint n, GError **error)
{
    g_autoptr(GError) cause = NULL;
    /* A pool that creates threads on demand could be left with work but without threads. */
    GThreadPool *pool = g_thread_pool_new(func, NULL, (int)n, TRUE, &cause);
    if (cause == NULL)
        return pool;
    g_thread_pool_free(pool, TRUE, FALSE);
    g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM,
                "cannot start %u threads: %s; raise the limit on processes (ulimit -u, TasksMax, pids.max)", n,
                cause->message);
    return NULL;
}

typedef struct {
    void (*func)(gpointer data);
    gpointer data;
} Offloaded;

static void
run_offloaded(gpointer data, gpointer user_data)
{
    g_autofree Offloaded *offloaded = data;
    offloaded->func(offloaded->data);
}

gboolean
service_start_tasks(Service *service, guint threads, GError **error)
{
    service->task_pool = service_new_pool(run_offloaded, threads, error);
    return service->task_pool != NULL;
}

void
service_offload(Service *service, void (*func)(gpointer data), gpointer data)
{
    Offloaded *offloaded = g_new(Offloaded, 1);
    *offloaded = (Offloaded){func, data};
    g_thread_pool_push(service->task_pool, offloaded, NULL);
}

/* ---- options ---- */

guint64
service_every_us(Service *service)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    return service->options.every_us;
}

HistoryParts
service_parts(Service *service)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    return service->options.parts;
}
