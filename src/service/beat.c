/* SPDX-License-Identifier: Apache-2.0 */
#include "service/beat.h"

#include "service/registry.h"
#include "service/sampling.h"

#include "stats/advice.h"

#include <string.h>

enum {
    RETAIN_EVERY_S = 600, /* retention is cheap, but not free */
};

struct Beat {
    Service *service; /* not a reference: it owns this */
    GSource *timer;   /* NULL: nothing is collected */
    gint64 retained_us;
};

static gboolean
has_id(const GPtrArray *ids, const char *id)
{
    return ids != NULL && g_ptr_array_find_with_equal_func((GPtrArray *)(guintptr)ids, id, g_str_equal, NULL);
}

static void
tell_changes(ServiceTarget *target, const GPtrArray *these, const GPtrArray *not_these, ServiceEventType type)
{
    for (guint i = 0; these != NULL && i < these->len; i++) {
        ServiceEvent event = {.type = type, .detail = these->pdata[i]};
        if (!has_id(not_these, these->pdata[i]))
            target_tell(target, &event);
    }
}

static void
judge(ServiceTarget *target, StatsSample *sample)
{
    g_autoptr(StatsSample) earlier = g_steal_pointer(&target->judged);
    target->judged = stats_sample_ref(sample);
    g_autoptr(GPtrArray) found = advice_find(sample, earlier);
    g_autoptr(GPtrArray) now = g_ptr_array_new();
    for (guint i = 0; i < found->len; i++)
        g_ptr_array_add(now, (gpointer)(guintptr)((const Advice *)found->pdata[i])->rule->id);
    g_autoptr(GPtrArray) before = g_steal_pointer(&target->advice);
    target->advice = g_ptr_array_ref(now);
    tell_changes(target, now, before, SERVICE_EVENT_ADVICE);
    tell_changes(target, before, now, SERVICE_EVENT_ADVICE_OFF);
}

/* Once when it begins to fail, once when it works again: for the operator and for whoever reads the series later. */
static void
note_missed(ServiceTarget *target, const GError *error)
{
    g_mutex_lock(&target->lock);
    gboolean changed = target->missing != (error != NULL);
    target->missing = error != NULL;
    g_mutex_unlock(&target->lock);
    if (!changed)
        return;
    keep_note(target->service->keep, target->series, error != NULL ? error->message : "sampled again");
    if (error != NULL)
        service_say(target->service, "%s", error->message);
    else
        service_say(target->service, "%s: sampled again", target->label);
}

static void
store(ServiceTarget *target, StatsSample *sample)
{
    Service *service = target->service;
    g_autoptr(GError) error = NULL;
    HistoryLife life = target_history_life(target, sample->version, service_every_us(service));
    gboolean kept = keep_sample(service->keep, &life, sample, &error);
    g_mutex_lock(&service->lock);
    gboolean changed = service->write_failing == kept;
    service->write_failing = !kept;
    g_mutex_unlock(&service->lock);
    if (changed && !kept)
        service_say(service, "%s; samples wait in memory until then", error->message);
    else if (changed)
        service_say(service, "the history can be written again");
}

static gpointer
collect(const RouteHost *host, gpointer data)
{
    ServiceTarget *target = work_target(host->data);
    g_autoptr(GError) error = NULL;
    g_autoptr(StatsSample) sample = sampling_take(host->data, SAMPLED_FOR_HISTORY, NULL, &error);
    /* The end of a target is no trouble with it. */
    if (sample == NULL && g_error_matches(error, TARGET_ERROR, TARGET_ERROR_GONE))
        return NULL;
    note_missed(target, error);
    if (sample != NULL) {
        store(target, sample);
        judge(target, sample);
    }
    return NULL;
}

static gpointer
retain(const RouteHost *host, gpointer data)
{
    keep_retain(work_target(host->data)->service->keep);
    return NULL;
}

static void
on_collected(gpointer result, const GError *error, gpointer data)
{
    ServiceTarget *target = data;
    target->collecting = FALSE;
    service_target_unref(target);
}

static void
collect_from(ServiceTarget *target)
{
    ServiceWork work = {.pace = SERVICE_QUICK, .func = collect};
    if (target->collecting)
        return;
    target->collecting = TRUE;
    work_submit_own(target, &work, on_collected, service_target_ref(target));
}

static void
retain_at_times(Beat *beat, ServiceTarget *any)
{
    gint64 now_us = g_get_monotonic_time();
    ServiceWork work = {.pace = SERVICE_SLOW, .func = retain};
    if (beat->retained_us != 0 && now_us - beat->retained_us < RETAIN_EVERY_S * G_USEC_PER_SEC)
        return;
    beat->retained_us = now_us;
    work_submit_own(any, &work, NULL, NULL);
}

static gboolean
on_beat(gpointer data)
{
    Beat *beat = data;
    const GPtrArray *live = registry_live(beat->service->registry);
    for (guint i = 0; i < live->len; i++)
        collect_from(live->pdata[i]);
    if (live->len > 0)
        retain_at_times(beat, live->pdata[0]);
    return G_SOURCE_CONTINUE;
}

void
beat_stop(Beat *beat)
{
    if (beat->timer != NULL)
        g_source_destroy(beat->timer);
    g_clear_pointer(&beat->timer, g_source_unref);
}

void
beat_reconfigure(Beat *beat)
{
    guint64 every_ms = beat->service->options.every_us / 1000;
    beat_stop(beat);
    if (every_ms == 0)
        return;
    beat->timer = g_timeout_source_new((guint)MIN(every_ms, G_MAXINT32));
    g_source_set_callback(beat->timer, on_beat, beat, NULL);
    g_source_attach(beat->timer, beat->service->context);
}

Beat *
beat_new(Service *service)
{
    Beat *beat = g_new0(Beat, 1);
    beat->service = service;
    beat_reconfigure(beat);
    return beat;
}

void
beat_free(Beat *beat)
{
    beat_stop(beat);
    g_free(beat);
}
