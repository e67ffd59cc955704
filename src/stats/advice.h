/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds waste in a sample: the causes (causes.h) that can be recognised from statistics alone, with the numbers that
 * show them.
 */
#ifndef JESCOPE_STATS_ADVICE_H
#define JESCOPE_STATS_ADVICE_H

#include "stats/causes.h"
#include "stats/stats.h"

typedef struct {
    CauseId cause;
    char *evidence;     /* the numbers */
    uint64_t bytes;     /* bytes that the change would free */
    const char *change; /* what to do */
} Advice;

/* The findings about NOW, of Advice, the most bytes first. EARLIER (may be NULL) is an older sample of the same
 * process, or its summary, for rules about growth. A rule whose values are absent finds nothing. */
GPtrArray *advice_find(const StatsSample *now, const StatsSample *earlier);

/* Whether advice_find() can find CAUSE. */
gboolean advice_covers(CauseId cause);

#endif
