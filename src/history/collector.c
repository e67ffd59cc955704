/* SPDX-License-Identifier: Apache-2.0 */
#include "history/collector.h"

#include "history/follow.h"
#include "history/pending.h"
#include "history/trigger.h"
#include "history/watch.h"

#include "stats/reader.h"

enum {
    POLL_MS = 200,          /* of a log that is followed */
    RETAIN_EVERY_S = 600,   /* retention is cheap, but not free */
    SILENT_AFTER_BEATS = 3, /* a target that has not answered for so many beats is told of */
    STOP_WAIT_MS = 1000,    /* for samples that are under way when the end comes */
};

/* Between two beats the wall clock and the monotonic one may part by this much before it is worth a note. */
#define CLOCK_STEP_US (2 * G_USEC_PER_SEC)

typedef struct {
    Collector *collector;
    char *name;
    Watch *watch;
    gboolean failing; /* it was told why */
    guint silent;     /* beats without an answer */
} Live;

typedef struct {
    Collector *collector;
    char *name;
    Follow *follow;
    StatsReader *reader;
    GHashTable *writers; /* HistoryLife.boot -> target */
    gboolean failing;
} Log;

struct Collector {
    History *history;
    CollectorOptions options;
    Pending *pending;
    GPtrArray *lives;
    GPtrArray *logs;
    char *command;
    char *boot;

    GMainLoop *loop;
    GSource *beat;
    gint64 begun_us; /* monotonic */
    guint64 beats;
    gint64 clock_offset_us; /* wall minus monotonic at the last beat */
    gint64 retained_us;     /* monotonic; 0: never */
    guint64 missed;
    gboolean write_failing;
    GError *fatal;
};

G_GNUC_PRINTF(2, 3)
static void
say(const Collector *collector, const char *format, ...)
{
    va_list arguments;
    if (collector->options.say == NULL)
        return;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    collector->options.say(text, collector->options.data);
}

static void
free_live(gpointer data)
{
    Live *live = data;
    watch_free(live->watch);
    g_free(live->name);
    g_free(live);
}

static void
free_log(gpointer data)
{
    Log *log = data;
    follow_free(log->follow);
    stats_reader_free(log->reader);
    g_hash_table_unref(log->writers);
    g_free(log->name);
    g_free(log);
}

Collector *
collector_new(History *history, const CollectorOptions *options)
{
    Collector *collector = g_new0(Collector, 1);
    collector->history = history;
    collector->options = *options;
    collector->pending = pending_new(history, options->parts);
    collector->lives = g_ptr_array_new_with_free_func(free_live);
    collector->logs = g_ptr_array_new_with_free_func(free_log);
    collector->loop = g_main_loop_new(NULL, FALSE);
    if (g_file_get_contents("/proc/sys/kernel/random/boot_id", &collector->boot, NULL, NULL))
        g_strstrip(collector->boot);
    else
        collector->boot = g_strdup("");
    return collector;
}

void
collector_free(Collector *collector)
{
    if (collector == NULL)
        return;
    g_ptr_array_unref(collector->lives);
    g_ptr_array_unref(collector->logs);
    pending_free(collector->pending);
    g_main_loop_unref(collector->loop);
    g_clear_error(&collector->fatal);
    g_free(collector->command);
    g_free(collector->boot);
    g_free(collector);
}

void
collector_stop(Collector *collector)
{
    g_main_loop_quit(collector->loop);
}

static void
end_with(Collector *collector, GError *error)
{
    if (collector->fatal == NULL)
        collector->fatal = error;
    else
        g_error_free(error);
    collector_stop(collector);
}

static gboolean
passes_by_itself(const GError *error)
{
    return g_error_matches(error, HISTORY_ERROR, HISTORY_ERROR_LOCKED) ||
           g_error_matches(error, HISTORY_ERROR, HISTORY_ERROR_FULL);
}

static void
flush(Collector *collector)
{
    GError *error = NULL;
    if (pending_flush(collector->pending, &error)) {
        if (collector->write_failing)
            say(collector, "%s can be written again; %" G_GUINT64_FORMAT " samples were lost",
                history_path(collector->history), pending_lost(collector->pending));
        collector->write_failing = FALSE;
        return;
    }
    if (!passes_by_itself(error)) {
        end_with(collector, error);
        return;
    }
    if (!collector->write_failing)
        say(collector, "%s; samples wait in memory until then", error->message);
    collector->write_failing = TRUE;
    g_error_free(error);
}

static void
note(Collector *collector, const char *name, const char *text)
{
    pending_note(collector->pending, name, g_get_real_time(), text);
}

static void
tell_failure(Live *live, const char *why)
{
    live->collector->missed++;
    if (live->failing)
        return;
    live->failing = TRUE;
    say(live->collector, "%s: %s", live->name, why);
    note(live->collector, live->name, why);
}

static void
take_result(const WatchResult *result, gpointer data)
{
    Live *live = data;
    Collector *collector = live->collector;
    live->silent = 0;
    if (result->sample == NULL) {
        tell_failure(live, result->error->message);
        flush(collector);
        return;
    }
    if (live->failing) {
        say(collector, "%s: sampled again", live->name);
        note(collector, live->name, "sampled again");
    }
    live->failing = FALSE;
    HistoryLife life = {
        .target = live->name,
        .source = HISTORY_SOURCE_LIVE,
        .pid = result->pid,
        .start_ticks = result->start_ticks,
        .boot = collector->boot,
        .version = result->sample->version,
        .every_us = collector->options.every_us,
    };
    pending_add(collector->pending, &life, result->sample);
    flush(collector);
}

void
collector_add_target(Collector *collector, const char *name, const char *address, const char *process)
{
    Live *live = g_new0(Live, 1);
    live->collector = collector;
    live->name = g_strdup(name);
    live->watch = watch_new(address, process, collector->options.parts, take_result, live);
    g_ptr_array_add(collector->lives, live);
}

static gboolean
take_log_sample(StatsSample *sample, gpointer data, GError **error)
{
    Log *log = data;
    g_autofree char *boot = history_log_life(sample);
    char *name = g_hash_table_lookup(log->writers, boot);
    if (name == NULL) {
        /* Who came first is found in the file. */
        flush(log->collector);
        name = history_log_target(log->collector->history, log->name, sample->stream);
        g_hash_table_insert(log->writers, g_strdup(boot), name);
    }
    if (sample->time_us == STATS_TIME_UNKNOWN)
        sample->time_us = g_get_real_time();
    HistoryLife life = {
        .target = name,
        .source = HISTORY_SOURCE_LOG,
        .boot = boot,
        .version = sample->version,
        .every_us = log->collector->options.every_us,
    };
    pending_add(log->collector->pending, &life, sample);
    return TRUE;
}

static gboolean
take_log_bytes(const char *bytes, gsize length, gpointer data, GError **error)
{
    return stats_reader_feed(((Log *)data)->reader, bytes, length, error);
}

void
collector_add_log(Collector *collector, const char *name, const char *path)
{
    Log *log = g_new0(Log, 1);
    log->collector = collector;
    log->name = g_strdup(name);
    log->writers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    log->reader = stats_reader_new(take_log_sample, log);
    log->follow = follow_new(path, take_log_bytes, log);
    g_ptr_array_add(collector->logs, log);
}

void
collector_add_command(Collector *collector, const char *command)
{
    collector->command = g_strdup(command);
}

static void
poll_log(Log *log)
{
    g_autoptr(GError) error = NULL;
    if (follow_poll(log->follow, &error)) {
        log->failing = FALSE;
        return;
    }
    if (!log->failing)
        say(log->collector, "%s", error->message);
    log->failing = TRUE;
}

static gboolean
poll_logs(gpointer data)
{
    Collector *collector = data;
    for (guint i = 0; i < collector->logs->len; i++)
        poll_log(collector->logs->pdata[i]);
    if (pending_length(collector->pending) > 0 && !collector->write_failing)
        flush(collector);
    return G_SOURCE_CONTINUE;
}

static void
retain(Collector *collector)
{
    g_autoptr(GError) error = NULL;
    gint64 now_us = g_get_monotonic_time();
    if (collector->retained_us != 0 && now_us - collector->retained_us < RETAIN_EVERY_S * G_USEC_PER_SEC)
        return;
    collector->retained_us = now_us;
    /* What is wrong with the file shows at the next sample. */
    if (!history_retain(collector->history, &collector->options.retention, g_get_real_time(), NULL, &error))
        g_debug("retention: %s", error->message);
}

static void
note_everywhere(Collector *collector, const char *text)
{
    for (guint i = 0; i < collector->lives->len; i++)
        note(collector, ((const Live *)collector->lives->pdata[i])->name, text);
    for (guint i = 0; i < collector->logs->len; i++)
        note(collector, ((const Log *)collector->logs->pdata[i])->name, text);
}

/* Samples keep the wall clock's time, so a clock that is set shows as a gap or an overlap; say why. */
static void
check_clock(Collector *collector)
{
    gint64 offset_us = g_get_real_time() - g_get_monotonic_time();
    gint64 step_us = offset_us - collector->clock_offset_us;
    collector->clock_offset_us = offset_us;
    if (collector->beats == 0 || ABS(step_us) < CLOCK_STEP_US)
        return;
    g_autofree char *text = g_strdup_printf("the clock was set %s by %.1f s", step_us < 0 ? "back" : "forward",
                                            (double)ABS(step_us) / G_USEC_PER_SEC);
    say(collector, "%s", text);
    note_everywhere(collector, text);
}

static void
ask(Live *live)
{
    if (watch_request(live->watch))
        return;
    if (++live->silent < SILENT_AFTER_BEATS) {
        live->collector->missed++;
        return;
    }
    g_autofree char *why = g_strdup_printf("no answer for %.1f s; is it stopped?",
                                           (double)(live->silent * live->collector->options.every_us) / G_USEC_PER_SEC);
    tell_failure(live, why);
}

static void
schedule_beat(Collector *collector)
{
    gint64 now_us = g_get_monotonic_time();
    gint64 every_us = (gint64)collector->options.every_us;
    /* Beats that were slept through are left out, not made up for. */
    guint64 next = (guint64)((now_us - collector->begun_us) / every_us) + 1;
    g_source_set_ready_time(collector->beat, collector->begun_us + (gint64)next * every_us);
}

static gboolean
on_beat(gpointer data)
{
    Collector *collector = data;
    check_clock(collector);
    for (guint i = 0; i < collector->lives->len; i++)
        ask(collector->lives->pdata[i]);
    if (collector->write_failing)
        flush(collector);
    retain(collector);
    collector->beats++;
    schedule_beat(collector);
    return G_SOURCE_CONTINUE;
}

static gboolean
dispatch_beat(GSource *source, GSourceFunc callback, gpointer data)
{
    return callback(data);
}

static gboolean
on_time_over(gpointer data)
{
    collector_stop(data);
    return G_SOURCE_REMOVE;
}

static void
tell_command(const char *failure, gpointer data)
{
    Collector *collector = data;
    if (failure != NULL)
        say(collector, "'%s': %s", collector->command, failure);
}

static gboolean
anyone_busy(const Collector *collector)
{
    for (guint i = 0; i < collector->lives->len; i++)
        if (watch_is_busy(((const Live *)collector->lives->pdata[i])->watch))
            return TRUE;
    return FALSE;
}

static gboolean
wake_up(gpointer data)
{
    return G_SOURCE_CONTINUE;
}

/* Samples under way are worth a moment, a target that hangs is not. */
static void
finish(Collector *collector)
{
    gint64 until_us = g_get_monotonic_time() + STOP_WAIT_MS * 1000;
    guint alarm = g_timeout_add(POLL_MS, wake_up, NULL);
    while (anyone_busy(collector) && g_get_monotonic_time() < until_us)
        g_main_context_iteration(NULL, TRUE);
    g_source_remove(alarm);
    poll_logs(collector);
    flush(collector);
}

static void
run_loop(Collector *collector)
{
    static GSourceFuncs beat_funcs = {.dispatch = dispatch_beat};
    const char *const shell[] = {"/bin/sh", "-c", collector->command, NULL};
    guint64 for_us = collector->options.for_us;
    g_autoptr(Trigger) trigger = NULL;
    collector->begun_us = g_get_monotonic_time();
    collector->beat = g_source_new(&beat_funcs, sizeof(GSource));
    g_source_set_callback(collector->beat, on_beat, collector, NULL);
    g_source_set_ready_time(collector->beat, 0);
    g_source_attach(collector->beat, NULL);
    guint poller = collector->logs->len > 0 ? g_timeout_add(POLL_MS, poll_logs, collector) : 0;
    guint alarm = for_us > 0 ? g_timeout_add((guint)(for_us / 1000), on_time_over, collector) : 0;
    if (collector->command != NULL)
        trigger =
            trigger_new(shell, (guint)(collector->options.every_us / 1000), TRIGGER_ON_BEAT, tell_command, collector);
    g_main_loop_run(collector->loop);
    g_source_destroy(collector->beat);
    g_clear_pointer(&collector->beat, g_source_unref);
    g_clear_handle_id(&poller, g_source_remove);
    GSource *left = alarm != 0 ? g_main_context_find_source_by_id(NULL, alarm) : NULL;
    if (left != NULL)
        g_source_destroy(left);
}

gboolean
collector_run(Collector *collector, CollectorResult *result, GError **error)
{
    run_loop(collector);
    finish(collector);
    *result = (CollectorResult){
        .written = pending_written(collector->pending),
        .missed = collector->missed,
        .lost = pending_lost(collector->pending) + pending_length(collector->pending),
    };
    if (collector->fatal == NULL)
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&collector->fatal));
    return FALSE;
}
