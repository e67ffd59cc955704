/* SPDX-License-Identifier: Apache-2.0 */
#include "service/service.h"

#include "service/beat.h"
#include "service/registry.h"
#include "service/target.h"

#include "target/open.h"

#include <string.h>

G_DEFINE_QUARK(jescope - service - error, service_error)

enum {
    STOP_PATIENCE_S = 30,
    LETTERS_AT_ONCE = 256, /* then others on the main context have a turn */
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
    .waiting = 64,
    .renderings = 2,
    .rendering_seconds = 120,
    .rendering_bytes = G_GUINT64_CONSTANT(4) << 30,
};

/* In memory, samples are bounded as well, and dumps more tightly. */
static const HistoryRetention retention_in_memory = {.keep_us = G_GUINT64_CONSTANT(3600) * G_USEC_PER_SEC,
                                                     .max_bytes = G_GUINT64_CONSTANT(16) << 20};
static const guint64 dumps_in_memory = G_GUINT64_CONSTANT(256) << 20; /* bytes of all targets */

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
}

void
service_unref(Service *service)
{
    if (!g_atomic_ref_count_dec(&service->references))
        return;
    keep_free(service->keep);
    g_hash_table_unref(service->unbegun);
    g_main_context_unref(service->context);
    g_mutex_clear(&service->lock);
    g_cond_clear(&service->rendering_done);
    clear_options(service);
    g_free(service);
}

/* ---- mail for the main context ---- */

typedef struct {
    GSourceFunc func;
    gpointer data;
    GDestroyNotify free_data;
} Letter;

static void
free_letter(gpointer data)
{
    Letter *letter = data;
    if (letter->free_data != NULL)
        letter->free_data(letter->data);
    g_free(letter);
}

void
service_post(Service *service, GSourceFunc func, gpointer data, GDestroyNotify free_data)
{
    Letter *letter = g_new(Letter, 1);
    *letter = (Letter){func, data, free_data};
    g_mutex_lock(&service->lock);
    gboolean closed = service->closed;
    if (!closed) {
        g_queue_push_tail(&service->letters, letter);
        g_source_set_ready_time(service->mail, 0);
    }
    g_mutex_unlock(&service->lock);
    if (closed)
        free_letter(letter);
}

/* NULL: there is none, and the source sleeps. */
static Letter *
take_letter(Service *service)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    Letter *letter = g_queue_pop_head(&service->letters);
    if (letter == NULL && !service->closed)
        g_source_set_ready_time(service->mail, -1);
    return letter;
}

static gboolean
dispatch_mail(GSource *source, GSourceFunc callback, gpointer data)
{
    g_autoptr(ServiceHold) service = service_ref(data);
    Letter *letter;
    for (guint n = 0; n < LETTERS_AT_ONCE && (letter = take_letter(service)) != NULL; n++) {
        letter->func(letter->data);
        free_letter(letter);
    }
    return G_SOURCE_CONTINUE;
}

static gboolean
no_callback(gpointer data)
{
    return G_SOURCE_CONTINUE;
}

static void
open_mail(Service *service)
{
    static GSourceFuncs funcs = {.dispatch = dispatch_mail};
    service->mail = g_source_new(&funcs, sizeof(GSource));
    g_source_set_callback(service->mail, no_callback, service, NULL);
    g_source_attach(service->mail, service->context);
}

typedef struct {
    Service *service;
    char *text;
} Saying;

static void
free_saying(gpointer data)
{
    Saying *saying = data;
    service_unref(saying->service);
    g_free(saying->text);
    g_free(saying);
}

static gboolean
say(gpointer data)
{
    const Saying *saying = data;
    const ServiceOptions *options = &saying->service->options;
    if (options->say != NULL)
        options->say(saying->text, options->data);
    return G_SOURCE_REMOVE;
}

void
service_say(Service *service, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    Saying *saying = g_new(Saying, 1);
    *saying = (Saying){service_ref(service), g_strdup_vprintf(format, arguments)};
    va_end(arguments);
    service_post(service, say, saying, free_saying);
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

static void
fill_limits(ServiceLimits *limits)
{
    const ServiceLimits given = *limits;
    *limits = limits_default;
    limits->quick = given.quick != 0 ? given.quick : limits->quick;
    limits->slow = given.slow != 0 ? given.slow : limits->slow;
    limits->waiting = given.waiting != 0 ? given.waiting : limits->waiting;
    limits->renderings = given.renderings != 0 ? given.renderings : limits->renderings;
    limits->rendering_seconds = given.rendering_seconds != 0 ? given.rendering_seconds : limits->rendering_seconds;
    limits->rendering_bytes = given.rendering_bytes != 0 ? given.rendering_bytes : limits->rendering_bytes;
}

static void
use_retention(Service *service)
{
    gboolean in_memory = service->options.history == NULL;
    HistoryRetention retention = service->options.retention;
    HistoryDumpRetention dumps = service->options.dumps;
    if (in_memory && retention.keep_us == 0)
        retention.keep_us = retention_in_memory.keep_us;
    if (in_memory && retention.max_bytes == 0)
        retention.max_bytes = retention_in_memory.max_bytes;
    if (in_memory && (dumps.total_bytes == 0 || dumps.total_bytes > dumps_in_memory))
        dumps.total_bytes = dumps_in_memory;
    keep_set_retention(service->keep, &retention, &dumps);
    keep_set_parts(service->keep, service->options.parts);
}

static void
copy_options(Service *service, const ServiceOptions *options)
{
    service->options = *options;
    service->names = g_strdupv((char **)(guintptr)options->targets);
    service->options.targets = NULL;
    service->options.default_target = g_strdup(options->default_target);
    service->options.history = g_strdup(options->history);
    fill_limits(&service->options.limits);
}

/* A name may be waited for; a pid that is not there is a mistake. */
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

/* ---- beginning and end ---- */

Service *
service_new(const ServiceOptions *options, GError **error)
{
    if (!check_names(options, error))
        return NULL;
    Keep *keep = keep_new(options->history, options->parts, error);
    if (keep == NULL)
        return NULL;
    g_autoptr(ServiceHold) service = g_new0(Service, 1);
    g_atomic_ref_count_init(&service->references);
    service->context = g_main_context_ref_thread_default();
    service->keep = keep;
    g_mutex_init(&service->lock);
    g_cond_init(&service->rendering_done);
    copy_options(service, options);
    use_retention(service);
    if (!work_start(service, error))
        return NULL;
    open_mail(service);
    service->events = events_new();
    service->registry = registry_new(service);
    service->beat = beat_new(service);
    return g_steal_pointer(&service);
}

static void
close_mail(Service *service)
{
    GQueue letters = G_QUEUE_INIT;
    g_mutex_lock(&service->lock);
    service->closed = TRUE;
    letters = service->letters;
    g_queue_init(&service->letters);
    g_mutex_unlock(&service->lock);
    g_source_destroy(service->mail);
    g_source_unref(service->mail);
    g_queue_clear_full(&letters, free_letter);
}

void
service_free(Service *service)
{
    if (service == NULL)
        return;
    if (service->stop_alarm != NULL)
        g_source_destroy(service->stop_alarm);
    g_clear_pointer(&service->stop_alarm, g_source_unref);
    close_mail(service);
    g_clear_pointer(&service->beat, beat_free);
    g_clear_pointer(&service->registry, registry_free);
    work_end(service);
    g_clear_pointer(&service->events, events_free);
    service_unref(service);
}

gboolean
service_reconfigure(Service *service, const ServiceOptions *options, GError **error)
{
    if (!check_names(options, error))
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
    g_mutex_unlock(&service->lock);
    use_retention(service);
    beat_reconfigure(service->beat);
    if (!same)
        registry_set_names(service->registry);
    return TRUE;
}

static void
tell_stopped(Service *service)
{
    void (*stopped)(gpointer data) = service->stopped;
    service->stopped = NULL;
    if (stopped != NULL)
        stopped(service->stopped_data);
}

void
service_check_stopped(Service *service)
{
    if (service->stopped != NULL && work_left(service) == 0)
        tell_stopped(service);
}

static gboolean
on_stop_alarm(gpointer data)
{
    Service *service = data;
    work_drop_waiting(service);
    tell_stopped(service);
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
    beat_stop(service->beat);
    for (guint i = 0; i < live->len; i++)
        recordings_end(live->pdata[i]);
    service->stop_alarm = g_timeout_source_new_seconds(STOP_PATIENCE_S);
    g_source_set_callback(service->stop_alarm, on_stop_alarm, service, NULL);
    g_source_attach(service->stop_alarm, service->context);
    service_post(service, on_stop, service, NULL);
}

void
service_figures(const Service *service, ServiceFigures *figures)
{
    Service *own = (Service *)(guintptr)service; /* for its lock */
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&own->lock);
    *figures = service->figures;
    figures->targets = registry_live(service->registry)->len;
    figures->events = events_last(service->events);
}

/* ---- what is answered by others ---- */

GPtrArray *
service_targets(Service *service)
{
    return registry_list(service->registry);
}

ServiceTarget *
service_lookup(Service *service, const char *text, GError **error)
{
    return registry_lookup(service->registry, text, error);
}

ServiceTarget *
service_default_target(Service *service, GError **error)
{
    return registry_default(service->registry, error);
}

guint
service_subscribe(Service *service, guint64 after, ServiceEventFunc func, gpointer data)
{
    return events_subscribe(service->events, after, func, data);
}

void
service_unsubscribe(Service *service, guint subscription)
{
    events_unsubscribe(service->events, subscription);
}

gboolean
service_has_looked(const Service *service)
{
    return registry_has_looked(service->registry);
}

guint64
service_last_event(const Service *service)
{
    return events_last(service->events);
}

gboolean
service_events_lost(const Service *service, guint64 after)
{
    return events_lost(service->events, after);
}
