/* SPDX-License-Identifier: Apache-2.0 */
#include "service/sampling.h"
#include "service/work.h"

#include "stats/process.h"

/* The parts to read for a sample with PARTS. Classes of every arena, which are many, are only read if everything is
 * wanted. */
static StatsLiveParts
live_parts(HistoryParts parts)
{
    static const struct {
        HistoryParts kept;
        StatsLiveParts read;
    } pairs[] = {
        {HISTORY_ARENAS, STATS_LIVE_ARENAS},
        {HISTORY_CLASSES, STATS_LIVE_CLASSES},
        {HISTORY_MUTEXES, STATS_LIVE_MUTEXES},
        {HISTORY_EVERYTHING, STATS_LIVE_ARENA_CLASSES},
    };
    StatsLiveParts read = STATS_LIVE_TOTALS;
    for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++)
        if ((parts & pairs[i].kept) == pairs[i].kept)
            read |= pairs[i].read;
    return read;
}

static StatsLiveParts
parts_for(ServiceTarget *target, SampledFor what)
{
    if (what == SAMPLED_FOR_HISTORY)
        return live_parts(service_parts(live_service(target)));
    return what == SAMPLED_FOR_VIEW ? STATS_LIVE_ARENAS | STATS_LIVE_CLASSES : STATS_LIVE_TOTALS;
}

/* Called within live_begin_use(). Notes the outcome of an exchange with an agent. */
static StatsSample *
take(ServiceTarget *target, SampledFor what, WireHelloReply *hello, GError **error)
{
    GError *cause = NULL;
    StatsSample *sample = NULL;
    Target *connected = live_connect_gently(target, error);
    if (connected == NULL)
        return NULL;
    if (hello == NULL || target_hello(connected, hello, &cause)) {
        StatsLive *live = live_sampler(target, what, parts_for(target, what), &cause);
        sample = live != NULL ? stats_live_sample(live, &cause) : NULL;
    }
    if (target_via(connected) != TARGET_VIA_ATTACH)
        live_note_outcome(target, cause);
    if (cause != NULL)
        g_propagate_error(error, cause);
    return sample;
}

static void
count(Service *service, gboolean taken)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    service->figures.samples += taken;
    service->figures.missed += !taken;
}

StatsSample *
sampling_take(Job *job, SampledFor what, WireHelloReply *hello, GError **error)
{
    ServiceTarget *target = work_target(job);
    live_begin_use(target);
    StatsSample *sample = take(target, what, hello, error);
    live_end_use(target);
    if (sample != NULL)
        stats_read_process(sample->totals, live_process(target));
    if (sample != NULL && !live_check_unchanged(target, error))
        g_clear_pointer(&sample, stats_sample_unref);
    count(live_service(target), sample != NULL);
    if (sample != NULL)
        live_set_latest(target, sample);
    return sample;
}

StatsSample *
service_work_sample(const RouteHost *host, GError **error)
{
    return sampling_take(host->data, SAMPLED_FOR_VIEW, NULL, error);
}
