/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_STATS_STATUS_H
#define JESCOPE_STATS_STATUS_H

#include "routes/status.h"
#include "stats/stats.h"

/* Copies time, figures, sampling period and notice from SAMPLE. */
void stats_set_status(RouteStatus *status, const StatsSample *sample);

/* Copies only the figures that TOTALS have. */
void stats_update_figures(RouteStatus *status, const StatsValues *totals);

/* Adds the figures of STATUS that TOTALS lack. */
void stats_add_figures(StatsValues *totals, const RouteStatus *status);

#endif
