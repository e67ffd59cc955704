/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/status.h"

static const StatsMetric metrics[STATUS_FIGURES] = {
    [STATUS_HELD] = STATS_HELD,           [STATUS_ALLOCATED] = STATS_ALLOCATED,
    [STATUS_ACTIVE] = STATS_ACTIVE,       [STATUS_METADATA] = STATS_METADATA,
    [STATUS_RESIDENT] = STATS_RESIDENT,   [STATUS_MAPPED] = STATS_MAPPED,
    [STATUS_RETAINED] = STATS_RETAINED,   [STATUS_RSS] = STATS_RSS,
    [STATUS_ANONYMOUS] = STATS_ANONYMOUS, [STATUS_OUTSIDE] = STATS_OUTSIDE,
};

void
stats_set_status(RouteStatus *status, const StatsSample *sample)
{
    g_autofree char *notice = stats_outside_notice(sample->totals);
    uint64_t lg = stats_values_or(sample->totals, STATS_SAMPLING_LG_PERIOD, 64);
    status->sampled_ms = (uint64_t)(sample->time_us / 1000);
    for (size_t i = 0; i < STATUS_FIGURES; i++)
        status->figures[i] = stats_values_or(sample->totals, metrics[i], STATUS_UNKNOWN);
    status->sample_bytes = lg < 64 ? UINT64_C(1) << lg : 0;
    g_strlcpy(status->notice, notice != NULL ? notice : "", sizeof(status->notice));
}

void
stats_update_figures(RouteStatus *status, const StatsValues *totals)
{
    for (size_t i = 0; i < STATUS_FIGURES; i++)
        status->figures[i] = stats_values_or(totals, metrics[i], status->figures[i]);
}

void
stats_add_figures(StatsValues *totals, const RouteStatus *status)
{
    uint64_t known;
    for (size_t i = 0; i < STATUS_FIGURES; i++)
        if (status->figures[i] != STATUS_UNKNOWN && !stats_values_get(totals, metrics[i], &known))
            stats_values_set(totals, metrics[i], status->figures[i]);
}
