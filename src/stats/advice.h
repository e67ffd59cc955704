/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sample shows to be wasteful, with the numbers that show it and the setting that changes it. The rules are a
 * table in advice.c; docs/advice.md is made from it.
 */
#ifndef JESCOPE_STATS_ADVICE_H
#define JESCOPE_STATS_ADVICE_H

#include "stats/stats.h"

typedef struct {
    const char *id;        /* "idle-pages": what --json and docs call it */
    const char *finding;   /* one sentence without a full stop */
    const char *threshold; /* when it is found, as docs/advice.md states it */
    const char *change;    /* the setting, and what it does */
} AdviceRule;

typedef struct {
    const AdviceRule *rule;
    char *evidence; /* the numbers */
} Advice;

/* What there is to say about NOW, of Advice, worst first as far as the rules are ordered so. EARLIER, if not NULL, is
 * an older sample of the same process: rules about growth need it. A rule whose values are absent is silent. */
GPtrArray *advice_find(const StatsSample *now, const StatsSample *earlier);

/* All rules, in their order. */
const AdviceRule *advice_rule(guint index); /* NULL behind the last one */

#endif
