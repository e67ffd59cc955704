/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings of waste in a sample: the part of the causes (causes.h) that statistics alone can tell, with the numbers
 * that show it.
 */
#ifndef JESCOPE_STATS_ADVICE_H
#define JESCOPE_STATS_ADVICE_H

#include "stats/causes.h"
#include "stats/stats.h"

typedef struct {
    CauseId cause;
    char *evidence;     /* the numbers */
    uint64_t bytes;     /* that a remedy would give back */
    const char *change; /* what to do */
} Advice;

/* The findings about NOW, of Advice, the most bytes first. EARLIER, if not NULL, is an older sample of the same
 * process, for rules about growth. A rule with absent values is silent. */
GPtrArray *advice_find(const StatsSample *now, const StatsSample *earlier);

/* Whether advice_find() can find it. */
gboolean advice_knows(CauseId cause);

#endif
