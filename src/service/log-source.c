/* SPDX-License-Identifier: Apache-2.0 */
#include "service/log-source.h"

#include "service/follow.h"

#include "confine/keyed-hash.h"
#include "stats/log-reader.h"

enum {
    POLL_MS = 200,
    WRITERS_KEPT = 1024, /* a log may have any number of writers */
};

struct LogSource {
    gatomicrefcount references; /* one of the owner, and one of each reading thread */
    Service *service;           /* borrowed: it owns this; a reading thread holds a reference */
    char *series;
    GSource *timer; /* NULL: no longer read */
    gint polling;   /* atomic: a thread is reading, or about to */

    GMutex lock; /* guards the following */
    Follow *follow;
    LogReader *reader;
    GHashTable *writers; /* StatsSample.stream, "" for none -> series, as the history says */
    gboolean failing;
};

static const char *
find_series(LogSource *log, const StatsSample *sample)
{
    const char *stream = sample->stream != NULL ? sample->stream : "";
    char *series = g_hash_table_lookup(log->writers, stream);
    if (series != NULL)
        return series;
    if (g_hash_table_size(log->writers) >= WRITERS_KEPT)
        g_hash_table_remove_all(log->writers);
    /* Writes waiting samples first: the history knows the first writer of the series. */
    shared_history_flush(log->service->history, NULL);
    g_autoptr(HistoryHold) hold = shared_history_hold(log->service->history);
    series = history_log_target(hold->history, log->series, sample->stream);
    g_hash_table_insert(log->writers, g_strdup(stream), series);
    return series;
}

static gboolean
take_sample(StatsSample *sample, gpointer data, GError **error)
{
    LogSource *log = data;
    g_autofree char *boot = history_log_life(sample);
    const char *series = find_series(log, sample);
    if (sample->time_us == STATS_TIME_UNKNOWN)
        sample->time_us = g_get_real_time();
    const CollectedSample collected = {.life = {.target = series,
                                                .source = HISTORY_SOURCE_LOG,
                                                .boot = boot,
                                                .version = sample->version,
                                                .every_us = service_every_us(log->service)},
                                       .subject = series,
                                       .sample = sample};
    service_hand_sample(log->service, &collected);
    return TRUE;
}

static gboolean
take_bytes(const char *bytes, gsize length, gpointer data, GError **error)
{
    return log_reader_feed(((LogSource *)data)->reader, bytes, length, error);
}

static void
poll_log(LogSource *log)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&log->lock);
    gboolean failed = !follow_poll(log->follow, &error);
    if (failed && !log->failing)
        service_say_of(log->service, (uid_t)-1, "%s", error->message); /* its writer may put anything in its place */
    log->failing = failed;
}

static void
unref(LogSource *log)
{
    if (!g_atomic_ref_count_dec(&log->references))
        return;
    follow_free(log->follow);
    log_reader_free(log->reader);
    g_hash_table_unref(log->writers);
    g_mutex_clear(&log->lock);
    g_free(log->series);
    g_free(log);
}

/* Calls FUNC on a thread, which holds references to the log and the service. */
static void
offload(LogSource *log, void (*func)(gpointer data))
{
    g_atomic_ref_count_inc(&log->references);
    service_ref(log->service);
    service_offload(log->service, func, log);
}

static void
release(LogSource *log)
{
    g_autoptr(ServiceHold) service G_GNUC_UNUSED = log->service;
    unref(log);
}

static void
run_poll(gpointer data)
{
    LogSource *log = data;
    poll_log(log);
    g_atomic_int_set(&log->polling, FALSE);
    release(log);
}

static gboolean
on_poll(gpointer data)
{
    LogSource *log = data;
    if (g_atomic_int_compare_and_exchange(&log->polling, FALSE, TRUE))
        offload(log, run_poll);
    return G_SOURCE_CONTINUE;
}

static gboolean
on_finished(gpointer data)
{
    service_end_needed(((LogSource *)data)->service);
    return G_SOURCE_REMOVE;
}

static void
free_finished(gpointer data)
{
    release(data);
}

static void
run_finish(gpointer data)
{
    LogSource *log = data;
    poll_log(log);
    service_post(log->service, on_finished, log, free_finished);
}

static void
end_timer(LogSource *log)
{
    if (log->timer != NULL)
        g_source_destroy(log->timer);
    g_clear_pointer(&log->timer, g_source_unref);
}

void
log_source_finish(LogSource *log)
{
    end_timer(log);
    service_begin_needed(log->service);
    offload(log, run_finish);
}

const char *
log_source_series(const LogSource *log)
{
    return log->series;
}

LogSource *
log_source_new(Service *service, const ServiceSource *source)
{
    LogSource *log = g_new0(LogSource, 1);
    g_atomic_ref_count_init(&log->references);
    g_mutex_init(&log->lock);
    log->service = service;
    log->series = g_strdup(source->series);
    log->writers = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, g_free);
    log->reader = log_reader_new(take_sample, log);
    log->follow = follow_new(source->name, take_bytes, log);
    log->timer = g_timeout_source_new(POLL_MS);
    g_source_set_callback(log->timer, on_poll, log, NULL);
    g_source_attach(log->timer, service->context);
    return log;
}

void
log_source_free(LogSource *log)
{
    end_timer(log);
    unref(log);
}
