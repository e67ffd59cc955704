/* SPDX-License-Identifier: Apache-2.0 */
#include "service/sampling.h"

#include "history/process-facts.h"
#include "history/watch.h"

/* With ServiceTarget.use. */
static StatsLive *
prepare(ServiceTarget *target, SampledFor what, GError **error)
{
    StatsLiveParts parts =
        what == SAMPLED_FOR_SCRAPE ? STATS_LIVE_TOTALS : watch_live_parts(service_parts(target->service));
    if (target->live_parts[what] != parts)
        g_clear_pointer(&target->live[what], stats_live_free);
    target->live_parts[what] = parts;
    if (target->live[what] == NULL)
        target->live[what] = stats_live_new(target->target, parts, error);
    return target->live[what];
}

static StatsSample *
take(ServiceTarget *target, SampledFor what, WireHelloReply *hello, GError **error)
{
    if (target_connect_gently(target, error) == NULL || (hello != NULL && !target_hello(target->target, hello, error)))
        return NULL;
    StatsLive *live = prepare(target, what, error);
    return live != NULL ? stats_live_sample(live, error) : NULL;
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
    GError *cause = NULL;
    g_mutex_lock(&target->use);
    StatsSample *sample = take(target, what, hello, &cause);
    if (target->target != NULL && target_via(target->target) != TARGET_VIA_ATTACH)
        target_note_outcome(target, cause);
    g_mutex_unlock(&target->use);
    count(target->service, sample != NULL);
    if (sample == NULL) {
        g_propagate_error(error, cause);
        return NULL;
    }
    process_facts_read("/proc", "/sys/fs/cgroup", (int)target->process.pid, sample->totals);
    g_mutex_lock(&target->lock);
    g_clear_pointer(&target->latest, stats_sample_unref);
    target->latest = stats_sample_ref(sample);
    g_mutex_unlock(&target->lock);
    return sample;
}
