/* SPDX-License-Identifier: Apache-2.0 */
#include "service/core.h"
#include "service/live.h"

#include "confine/keyed-hash.h"

enum {
    RETAIN_EVERY_S = 600, /* retention is cheap, but not free */
};

typedef struct {
    Service *service;
    gint64 retained_us; /* monotonic; 0: never */

    GMutex lock;         /* guards the following */
    GHashTable *missing; /* set of series whose missing samples were reported */
    gboolean write_failing;
} HistorySink;

static gpointer
new_state(Service *service)
{
    HistorySink *sink = g_new0(HistorySink, 1);
    sink->service = service;
    sink->missing = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    g_mutex_init(&sink->lock);
    return sink;
}

static void
free_state(gpointer state)
{
    HistorySink *sink = state;
    g_hash_table_unref(sink->missing);
    g_mutex_clear(&sink->lock);
    g_free(sink);
}

/* FALSE if it was set already, or if the target that gave no sample has ended: then there may be no further remark on
 * the series that would remove it. */
static gboolean
set_missing(HistorySink *sink, const CollectedRemark *remark)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sink->lock);
    const gboolean late = remark->kind == REMARK_MISSING && remark->target != NULL &&
                          service_target_state(remark->target) == SERVICE_TARGET_GONE;
    return !late && g_hash_table_add(sink->missing, g_strdup(remark->series));
}

/* FALSE if it was not set. */
static gboolean
clear_missing(HistorySink *sink, const char *series)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sink->lock);
    return g_hash_table_remove(sink->missing, series);
}

/* Whether the remark changes whether samples are missing. */
static gboolean
note_missing(HistorySink *sink, const CollectedRemark *remark)
{
    if (remark->kind == REMARK_NOTE)
        return FALSE;
    return remark->kind == REMARK_OVER ? clear_missing(sink, remark->series) : set_missing(sink, remark);
}

/* TARGET NULL: a log's writers are unknown. */
static uid_t
account_for(const ServiceTarget *target)
{
    return target != NULL ? live_account(target) : (uid_t)-1;
}

static void
on_remark(gpointer state, const CollectedRemark *remark)
{
    HistorySink *sink = state;
    const gboolean changed = note_missing(sink, remark);
    if (remark->kind == REMARK_OVER || (remark->kind == REMARK_MISSING && !changed))
        return;
    const uid_t account = account_for(remark->target);
    shared_history_add_note(sink->service->history, remark->series, account, remark->text);
    service_say_of(sink->service, account, "%s%s%s", remark->subject != NULL ? remark->subject : "",
                   remark->subject != NULL ? ": " : "", remark->text);
}

static gboolean
passes_by_itself(const GError *error)
{
    return g_error_matches(error, HISTORY_ERROR, HISTORY_ERROR_LOCKED) ||
           g_error_matches(error, HISTORY_ERROR, HISTORY_ERROR_FULL);
}

/* ERROR is why writing failed, or NULL. */
static void
note_written(HistorySink *sink, const GError *error)
{
    g_mutex_lock(&sink->lock);
    gboolean changed = sink->write_failing != (error != NULL);
    sink->write_failing = error != NULL;
    g_mutex_unlock(&sink->lock);
    if (error != NULL && !passes_by_itself(error))
        service_fail(sink->service, error);
    if (changed && error != NULL)
        service_say(sink->service, "%s; samples wait in memory until then", error->message);
    else if (changed)
        service_say(sink->service, "%s can be written again; %" G_GUINT64_FORMAT " samples were lost",
                    sink->service->options.history != NULL ? sink->service->options.history : "the history",
                    shared_history_counts(sink->service->history).lost);
}

static void
on_sample(gpointer state, const CollectedSample *collected)
{
    HistorySink *sink = state;
    g_autoptr(GError) error = NULL;
    const CollectedRemark again = {.series = collected->life.target,
                                   .subject = collected->subject,
                                   .text = "sampled again",
                                   .target = collected->target};
    /* The last sample of a process may arrive after the remark that it has ended. */
    const gboolean gone = collected->target != NULL && service_target_state(collected->target) == SERVICE_TARGET_GONE;
    if (!gone && clear_missing(sink, again.series))
        on_remark(sink, &again);
    shared_history_add_sample(sink->service->history, &collected->life, account_for(collected->target),
                              collected->sample, &error);
    note_written(sink, error);
}

static void
on_tick(gpointer state)
{
    HistorySink *sink = state;
    g_autoptr(GError) error = NULL;
    gint64 now_us = g_get_monotonic_time();
    shared_history_flush(sink->service->history, &error);
    note_written(sink, error);
    if (sink->retained_us != 0 && now_us - sink->retained_us < RETAIN_EVERY_S * G_USEC_PER_SEC &&
        !shared_history_has_grown(sink->service->history))
        return;
    sink->retained_us = now_us;
    shared_history_retain(sink->service->history);
}

const Sink history_sink = {
    .new = new_state, .free = free_state, .sample = on_sample, .remark = on_remark, .tick = on_tick};
