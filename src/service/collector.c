/* SPDX-License-Identifier: Apache-2.0 */
#include "service/collector.h"

#include "service/log-source.h"
#include "service/registry.h"
#include "service/sampling.h"
#include "service/work.h"

#include <malloc.h>

enum {
    LOOK_AGAIN_MS = 20,   /* interval of checking whether the existing targets are known */
    WIDE_BYTES = 1 << 20, /* a sample of many arenas or of their size classes */
    TOP_BYTES = 1 << 20, /* at the end of each thread's heap, which malloc_trim() leaves; a multiple of it by default */
};

/* Difference between the wall clock and the monotonic clock per tick above which a remark is added. */
#define CLOCK_STEP_US (2 * G_USEC_PER_SEC)

/* A sample that takes longer than this and than its interval is reported. A missing answer is detected sooner. */
#define SLOW_US (12 * G_USEC_PER_SEC)

struct Collector {
    Service *service; /* borrowed: it owns this */
    GSource *timer;   /* NULL: not collecting */
    gint64 begun_us;  /* monotonic start: ticks are at multiples of the interval after it */
    gint64 clock_us;  /* wall clock minus monotonic clock at the last tick; 0: no tick yet */
    GPtrArray *logs;  /* of LogSource */
};

/* ---- one target ---- */

/* The state of a target, used in the main context. */
typedef struct {
    gboolean waiting;
    gint64 since_us;     /* monotonic time at which the pending sample was due */
    gboolean incomplete; /* the last sample is not stored as a whole; used on the thread of the target's work */
} Collecting;

static const LivePart collecting_part = {sizeof(Collecting), NULL};

/* Why not all of SAMPLE is stored, to be freed; NULL: it is. */
static char *
incomplete(const StatsSample *sample)
{
    char *unread = stats_unread_notice(sample);
    if (unread != NULL || stats_sample_values(sample) <= HISTORY_VALUES_MAX)
        return unread;
    return g_strdup_printf("the size classes of single arenas are not stored: a sample has more than %d values",
                           HISTORY_VALUES_MAX);
}

/* Remarks once that samples are not stored as a whole. */
static void
remark_incomplete(ServiceTarget *target, const StatsSample *sample)
{
    Collecting *collecting = live_part(target, &collecting_part);
    g_autofree char *text = incomplete(sample);
    const CollectedRemark note = {.kind = REMARK_NOTE,
                                  .series = service_target_series(target),
                                  .subject = live_subject(target),
                                  .text = text,
                                  .target = target};
    if (text != NULL && !collecting->incomplete)
        service_hand_remark(live_service(target), &note);
    collecting->incomplete = text != NULL;
}

/* glibc has a heap for each thread, in which what a wide sample and its storing have used would stay. SAMPLE may be
 * NULL. */
static void
release(StatsSample *sample)
{
    const gboolean wide = sample != NULL && stats_sample_bytes(sample) > WIDE_BYTES;
    g_clear_pointer(&sample, stats_sample_unref);
    if (wide)
        malloc_trim(0);
}

static gpointer
collect(const RouteHost *host, gpointer data)
{
    ServiceTarget *target = work_target(host->data);
    g_autoptr(GError) error = NULL;
    StatsSample *sample = sampling_take(host->data, SAMPLED_FOR_HISTORY, NULL, &error);
    if (sample != NULL) {
        const CollectedSample collected = {
            .life = live_history_life(target, sample->version, service_every_us(live_service(target))),
            .subject = live_subject(target),
            .sample = sample,
            .target = target};
        remark_incomplete(target, sample);
        service_hand_sample(live_service(target), &collected);
    } else if (!g_error_matches(error, TARGET_ERROR, OUTCOME_GONE)) { /* exiting is not an error */
        const CollectedRemark missing = {.kind = REMARK_MISSING,
                                         .series = service_target_series(target),
                                         .subject = live_is_followed(target) ? live_subject(target) : NULL,
                                         .text = error->message,
                                         .target = target};
        service_hand_remark(live_service(target), &missing);
    }
    release(sample);
    return NULL;
}

static void
on_collected(gpointer result, const GError *error, gpointer data)
{
    ((Collecting *)live_part(data, &collecting_part))->waiting = FALSE;
}

static void
remark_slow(ServiceTarget *target, gint64 waited_us)
{
    g_autofree char *text =
        g_strdup_printf("its last sample has been under way for %.0f s; take fewer (--every) or less "
                        "of each (--detail)",
                        (gdouble)waited_us / G_USEC_PER_SEC);
    const CollectedRemark slow = {.kind = REMARK_MISSING,
                                  .series = service_target_series(target),
                                  .subject = live_is_followed(target) ? live_subject(target) : NULL,
                                  .text = text,
                                  .target = target};
    service_hand_remark(live_service(target), &slow);
}

static void
collect_from(Collector *collector, ServiceTarget *target)
{
    /* A clean shutdown waits for a sample in progress only if collecting is the service's only task. */
    ServiceWork work = {
        .pace = SERVICE_QUICK, .forgoable = collector->service->options.n_sources == 0, .func = collect};
    Collecting *collecting = live_part(target, &collecting_part);
    if (collecting->waiting) {
        gint64 waited_us = g_get_monotonic_time() - collecting->since_us;
        service_count_missed(collector->service);
        if (waited_us > SLOW_US)
            remark_slow(target, waited_us);
        return;
    }
    collecting->waiting = TRUE;
    collecting->since_us = g_get_monotonic_time();
    /* The job holds the target; it may never be done if jescope exits. */
    work_submit_own(target, &work, on_collected, target);
}

/* ---- the tick ---- */

/* Samples have wall-clock times, so setting the clock shows as a gap or overlap: adds a remark that explains it. */
static void
check_clock(Collector *collector)
{
    gint64 clock_us = g_get_real_time() - g_get_monotonic_time();
    gint64 step_us = collector->clock_us != 0 ? clock_us - collector->clock_us : 0;
    collector->clock_us = clock_us;
    if (ABS(step_us) < CLOCK_STEP_US)
        return;
    g_autofree char *text = g_strdup_printf("the clock was set %s by %.1f s", step_us < 0 ? "back" : "forward",
                                            (double)ABS(step_us) / G_USEC_PER_SEC);
    const GPtrArray *live = registry_live(collector->service->registry);
    for (guint i = 0; i < live->len; i++)
        shared_history_add_note(collector->service->history, service_target_series(live->pdata[i]),
                                live_account(live->pdata[i]), text);
    for (guint i = 0; i < collector->logs->len; i++)
        shared_history_add_note(collector->service->history, log_source_series(collector->logs->pdata[i]), (uid_t)-1,
                                text);
    service_say(collector->service, "%s", text);
}

static void
tick_sinks(gpointer data)
{
    g_autoptr(ServiceHold) service = data;
    service_hand_tick(service);
}

static void
schedule(Collector *collector)
{
    gint64 every_us = (gint64)service_every_us(collector->service);
    /* Missed ticks are skipped, not made up for. */
    gint64 next = (g_get_monotonic_time() - collector->begun_us) / every_us + 1;
    g_source_set_ready_time(collector->timer, collector->begun_us + next * every_us);
}

static gboolean
on_tick(gpointer data)
{
    Collector *collector = data;
    Service *service = collector->service;
    const GPtrArray *live = registry_live(service->registry);
    if (!registry_has_looked(service->registry)) {
        g_source_set_ready_time(collector->timer, g_get_monotonic_time() + LOOK_AGAIN_MS * 1000);
        return G_SOURCE_CONTINUE;
    }
    check_clock(collector);
    for (guint i = 0; i < live->len; i++)
        collect_from(collector, live->pdata[i]);
    service_offload(service, tick_sinks, service_ref(service));
    schedule(collector);
    return G_SOURCE_CONTINUE;
}

static void
end_timer(Collector *collector)
{
    if (collector->timer != NULL)
        g_source_destroy(collector->timer);
    g_clear_pointer(&collector->timer, g_source_unref);
}

void
collector_stop(Collector *collector)
{
    end_timer(collector);
    for (guint i = 0; i < collector->logs->len; i++)
        log_source_finish(collector->logs->pdata[i]);
}

void
collector_reconfigure(Collector *collector)
{
    end_timer(collector);
    if (service_every_us(collector->service) == 0)
        return;
    collector->timer = service_new_alarm(collector->service, on_tick, collector);
    schedule(collector);
}

Collector *
collector_new(Service *service)
{
    Collector *collector = g_new0(Collector, 1);
    const ServiceOptions *options = &service->options;
    mallopt(M_TRIM_THRESHOLD, TOP_BYTES);
    collector->service = service;
    collector->begun_us = g_get_monotonic_time();
    collector->logs = g_ptr_array_new_with_free_func((GDestroyNotify)log_source_free);
    for (guint i = 0; i < options->n_sources; i++)
        if (options->sources[i].kind == SERVICE_SOURCE_LOG)
            g_ptr_array_add(collector->logs, log_source_new(service, &options->sources[i]));
    collector_reconfigure(collector);
    if (collector->timer != NULL && options->n_sources > 0)
        g_source_set_ready_time(collector->timer, 0);
    return collector;
}

void
collector_free(Collector *collector)
{
    end_timer(collector);
    g_ptr_array_unref(collector->logs);
    g_free(collector);
}
