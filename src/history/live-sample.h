/* SPDX-License-Identifier: Apache-2.0 */
/* A sample of a live target's statistics, as much of it as the history keeps. */
#ifndef JESCOPE_HISTORY_LIVE_SAMPLE_H
#define JESCOPE_HISTORY_LIVE_SAMPLE_H

#include "history/history.h"
#include "target/target.h"

typedef struct LiveSample LiveSample;

/* TARGET must outlive it. */
LiveSample *live_sample_new(Target *target, HistoryParts parts, GError **error);
void live_sample_free(LiveSample *live);

/* One epoch, one sample, with the time at which it was taken. */
StatsSample *live_sample_read(LiveSample *live, GError **error);

#endif
