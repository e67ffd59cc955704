/* SPDX-License-Identifier: Apache-2.0 */
#include "service/service.h"

#include "service/blackbox.h"
#include "service/collector.h"
#include "service/events.h"
#include "service/live.h"
#include "service/push-sender.h"
#include "service/push-sink.h"
#include "service/recordings.h"
#include "service/registry.h"
#include "service/route-host.h"
#include "service/rules-sink.h"

#include "target/open.h"
#include "target/own-room.h"

#include <string.h>

enum {
    TASK_THREADS = 32,
    BASES = 1024,       /* of differences: of as many targets */
    LINES_AT_ONCE = 64, /* messages for the operator about the processes of one user */
    LINES_EVERY_S = 10,
    EVENTS_AT_ONCE = 1024, /* events of one user's targets that clients and targets can cause at any rate */
    EVENTS_PER_S = 50,
};

const ServiceOptions service_options_default = {
    .dumps = {.count = 32,
              .keep_us = G_GUINT64_CONSTANT(7) * 24 * 3600 * G_USEC_PER_SEC,
              .max_bytes = G_GUINT64_CONSTANT(256) << 20,
              .total_bytes = G_GUINT64_CONSTANT(2) << 30},
    .every_us = 10 * G_USEC_PER_SEC,
    .parts = HISTORY_TOTALS | HISTORY_ARENAS,
};

static const ServiceLimits limits_default = {
    .quick = 8,
    .slow = 4,
    .waits = 4,
    .first_waits = 32,
    .keeps = 2,
    .targets = 1024,
    .waiting = 64,
    .waiting_seconds = 30,
    .stop_seconds = 30,
    .renderings = 2,
    .first_renderings = 4,
    .rendering_seconds = RENDER_SECONDS,
    .rendering_bytes = RENDER_BYTES,
    .page_tree_bytes = G_GUINT64_CONSTANT(256) << 20,
    .rule_bytes = G_GUINT64_CONSTANT(1) << 30,
    .base_bytes = G_GUINT64_CONSTANT(256) << 20,
};

/* The sinks, in the order in which they receive data. */
static const Sink *const sinks[] = {&history_sink, &advice_sink, &blackbox_sink, &push_sink, &rules_sink, &event_sink};

/* In memory, samples are limited, too, and dumps more strictly. */
static const HistoryRetention retention_in_memory = {.keep_us = G_GUINT64_CONSTANT(3600) * G_USEC_PER_SEC,
                                                     .max_bytes = G_GUINT64_CONSTANT(16) << 20};
static const guint64 dumps_in_memory = G_GUINT64_CONSTANT(256) << 20; /* total bytes of all targets */

/* ---- options ---- */

#define FILL(limits, field) (limits)->field = (limits)->field != 0 ? (limits)->field : limits_default.field

static void
fill_limits(ServiceLimits *limits)
{
    FILL(limits, quick);
    FILL(limits, waits);
    FILL(limits, first_waits);
    FILL(limits, keeps);
    FILL(limits, targets);
    FILL(limits, slow);
    FILL(limits, waiting);
    FILL(limits, waiting_seconds);
    FILL(limits, stop_seconds);
    FILL(limits, renderings);
    FILL(limits, first_renderings);
    FILL(limits, rendering_seconds);
    FILL(limits, rendering_bytes);
    FILL(limits, page_tree_bytes);
    FILL(limits, rule_bytes);
    FILL(limits, base_bytes);
}

static HistoryRules
rules_of(const ServiceOptions *options)
{
    HistoryRules rules = {.samples = options->retention, .dumps = options->dumps, .parts = options->parts};
    if (options->history != NULL)
        return rules;
    if (rules.samples.keep_us == 0)
        rules.samples.keep_us = retention_in_memory.keep_us;
    if (rules.samples.max_bytes == 0)
        rules.samples.max_bytes = retention_in_memory.max_bytes;
    if (rules.dumps.total_bytes == 0 || rules.dumps.total_bytes > dumps_in_memory)
        rules.dumps.total_bytes = dumps_in_memory;
    return rules;
}

static void
copy_options(Service *service, const ServiceOptions *options)
{
    service->options = *options;
    service->names = g_strdupv((char **)(guintptr)options->targets);
    service->options.targets = NULL;
    service->options.default_target = g_strdup(options->default_target);
    service->options.history = g_strdup(options->history);
    service->options.blackbox.directory = g_strdup(options->blackbox.directory);
    service->options.rules = g_strdup(options->rules);
    service->options.pushes = options->pushes != NULL ? g_ptr_array_ref(options->pushes) : NULL;
    fill_limits(&service->options.limits);
}

/* A missing pid is an error; for a missing name the service waits. */
static gboolean
check_names(const ServiceOptions *options, GError **error)
{
    for (const char *const *name = options->targets; name != NULL && *name != NULL; name++) {
        Process process;
        if (strspn(*name, "0123456789") == strlen(*name) && !open_find_process(*name, &process, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
check_pushes(const ServiceOptions *options, GError **error)
{
    for (guint i = 0; options->pushes != NULL && i < options->pushes->len; i++)
        if (!push_sender_check(options->pushes->pdata[i], error))
            return FALSE;
    return TRUE;
}

/* ---- beginning and end ---- */

static void
clear_sink(gpointer data)
{
    const SinkRow *row = data;
    if (row->sink->free != NULL)
        row->sink->free(row->state);
}

static void
make_sinks(Service *service)
{
    service->sinks = g_array_new(FALSE, FALSE, sizeof(SinkRow));
    g_array_set_clear_func(service->sinks, clear_sink);
    for (gsize i = 0; i < G_N_ELEMENTS(sinks); i++) {
        SinkRow row = {.sink = sinks[i], .state = sinks[i]->new != NULL ? sinks[i]->new (service) : NULL};
        g_array_append_val(service->sinks, row);
    }
}

Service *
service_new(const ServiceOptions *options, GError **error)
{
    if (!check_names(options, error) || !check_pushes(options, error))
        return NULL;
    const HistoryRules rules = rules_of(options);
    SharedHistory *history = shared_history_new(options->history, &rules, error);
    if (history == NULL)
        return NULL;
    g_autoptr(ServiceHold) service = g_new0(Service, 1);
    g_atomic_ref_count_init(&service->references);
    service->context = g_main_context_ref_thread_default();
    service->history = history;
    g_mutex_init(&service->lock);
    g_cond_init(&service->rendering_done);
    service->unbegun = g_hash_table_new(NULL, NULL);
    g_queue_init(&service->slow);
    g_queue_init(&service->rendering);
    service->patience = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    copy_options(service, options);
    turns_init(&service->renderings,
               service->options.limits.renderings * SERVICE_USERS_AT_ONCE + service->options.limits.first_renderings,
               service->options.limits.renderings);
    service->renderings.firsts = service->options.limits.first_renderings;
    const ServiceLimits *limits = &service->options.limits;
    service->page_trees =
        held_files_new(&(HeldFilesLimits){HELD_FILES_MAX, limits->page_tree_bytes, own_room_may_hold});
    service->bases = held_files_new(&(HeldFilesLimits){BASES, limits->base_bytes, own_room_may_hold});
    service->messages = message_queue_new(service->context);
    service->lines = message_shares_new(LINES_AT_ONCE, LINES_EVERY_S * G_USEC_PER_SEC);
    service->event_shares = message_shares_new(EVENTS_AT_ONCE, G_USEC_PER_SEC / EVENTS_PER_S);
    make_sinks(service);
    if (!service_start_tasks(service, TASK_THREADS, error) || !work_start(service, route_host_run, error))
        return NULL;
    service->registry = registry_new(service);
    service->collector = collector_new(service);
    return g_steal_pointer(&service);
}

void
service_free(Service *service)
{
    if (service == NULL)
        return;
    if (service->stop_alarm != NULL)
        g_source_destroy(service->stop_alarm);
    g_clear_pointer(&service->stop_alarm, g_source_unref);
    g_mutex_lock(&service->lock);
    service->closed = TRUE;
    g_mutex_unlock(&service->lock);
    message_queue_close(service->messages);
    g_clear_pointer(&service->collector, collector_free);
    service_close_sinks(service);
    g_clear_pointer(&service->registry, registry_free);
    work_end(service);
    g_thread_pool_free(service->task_pool, FALSE, FALSE);
    service_unref(service);
}

gboolean
service_reconfigure(Service *service, const ServiceOptions *options, GError **error)
{
    HistoryRules rules;
    if (!check_names(options, error) || !check_pushes(options, error))
        return FALSE;
    char **names = g_strdupv((char **)(guintptr)options->targets);
    gboolean same = names == NULL || service->names == NULL
                        ? (names == NULL || *names == NULL) && (service->names == NULL || *service->names == NULL)
                        : g_strv_equal((const char *const *)names, (const char *const *)service->names);
    g_strfreev(service->names);
    service->names = names;
    g_free((gpointer)(guintptr)service->options.default_target);
    service->options.default_target = g_strdup(options->default_target);
    g_mutex_lock(&service->lock);
    service->options.retention = options->retention;
    service->options.dumps = options->dumps;
    service->options.every_us = options->every_us;
    service->options.parts = options->parts;
    service->options.background_threads = options->background_threads;
    const char *directory = service->options.blackbox.directory;
    service->options.blackbox = options->blackbox;
    service->options.blackbox.directory = directory;
    g_mutex_unlock(&service->lock);
    rules = rules_of(&service->options);
    shared_history_set_rules(service->history, &rules);
    collector_reconfigure(service->collector);
    blackbox_reconfigure(service);
    push_sink_reconfigure(service_sink_state(service, &push_sink), options->pushes);
    g_clear_pointer(&service->options.pushes, g_ptr_array_unref);
    service->options.pushes = options->pushes != NULL ? g_ptr_array_ref(options->pushes) : NULL;
    if (!same)
        registry_set_names(service->registry);
    return TRUE;
}

static gboolean
on_stop_alarm(gpointer data)
{
    Service *service = data;
    work_drop_waiting(service);
    service_notify_stopped(service);
    return G_SOURCE_REMOVE;
}

static gboolean
on_stop(gpointer data)
{
    service_check_stopped(data);
    return G_SOURCE_REMOVE;
}

void
service_stop(Service *service, void (*stopped)(gpointer data), gpointer data)
{
    const GPtrArray *live = registry_live(service->registry);
    service->stopped = stopped;
    service->stopped_data = data;
    g_mutex_lock(&service->lock);
    service->stopping = TRUE;
    g_mutex_unlock(&service->lock);
    collector_stop(service->collector);
    service_stop_sinks(service);
    for (guint i = 0; i < live->len; i++)
        recordings_end(live->pdata[i]);
    service->stop_alarm = g_timeout_source_new(service->options.limits.stop_seconds * 1000);
    g_source_set_callback(service->stop_alarm, on_stop_alarm, service, NULL);
    g_source_attach(service->stop_alarm, service->context);
    service_post(service, on_stop, service, NULL);
}

ServiceWritten
service_written(Service *service)
{
    shared_history_flush(service->history, NULL);
    SharedHistoryCounts counts = shared_history_counts(service->history);
    return (ServiceWritten){.written = counts.written, .lost = counts.lost + counts.waiting};
}

static Events *
event_state(const Service *service)
{
    return service_sink_state(service, &event_sink);
}

void
service_figures(const Service *service, ServiceFigures *figures)
{
    Service *own = (Service *)(guintptr)service; /* to take its lock */
    const RulesSinkCounts rules = rules_sink_counts(service_sink_state(service, &rules_sink));
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&own->lock);
    *figures = service->figures;
    figures->targets = registry_live(service->registry)->len;
    figures->events = events_last(event_state(service));
    blackbox_count(service, figures);
    figures->rule_firings = rules.fired;
    figures->rule_failures = rules.failed;
    figures->rule_evaluations = rules.judged;
}

/* ---- delegated functions ---- */

GPtrArray *
service_targets(Service *service, Viewer viewer)
{
    return registry_list(service->registry, viewer);
}

GArray *
service_push_figures(Service *service)
{
    return push_sink_figures(service_sink_state(service, &push_sink));
}

ServiceTarget *
service_lookup(Service *service, Viewer viewer, const char *text, GError **error)
{
    return registry_lookup(service->registry, viewer, text, error);
}

ServiceTarget *
service_default_target(Service *service, Viewer viewer, GError **error)
{
    return registry_default(service->registry, viewer, error);
}

gboolean
service_rules_each(Service *service, Viewer viewer, void (*each)(const RuleStanding *standing, gpointer data),
                   gpointer data)
{
    return rules_sink_each(service_sink_state(service, &rules_sink), viewer, each, data);
}

GArray *
service_rule_counts(Service *service)
{
    return rules_sink_states(service_sink_state(service, &rules_sink));
}

GPtrArray *
service_rules_problems(Service *service)
{
    return rules_sink_problems(service_sink_state(service, &rules_sink));
}

guint
service_subscribe(Service *service, guint64 after, ServiceEventFunc func, gpointer data)
{
    return events_subscribe(event_state(service), after, func, data);
}

void
service_unsubscribe(Service *service, guint subscription)
{
    events_unsubscribe(event_state(service), subscription);
}

const char *
service_blackbox_directory(const Service *service)
{
    return service->options.blackbox.directory;
}

gboolean
service_has_looked(const Service *service)
{
    return registry_has_looked(service->registry);
}

guint64
service_last_event(const Service *service)
{
    return events_last(event_state(service));
}

gboolean
service_events_lost(const Service *service, guint64 after)
{
    return events_lost(event_state(service), after);
}
