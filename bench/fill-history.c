/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills a history file with simulated months: fill-history FILE TARGETS DAYS ARENAS [SECONDS].
 *
 * Adds a sample every ten seconds (or SECONDS). Gauges are random walks in pages, counters grow at individual noisy
 * rates, and one metric in three is constant, as in a real service.
 */
#include "history/store.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_DAY (G_GINT64_CONSTANT(1750000000) * G_USEC_PER_SEC)

enum {
    DAY_S = 86400,
    STILL = 3, /* one metric in STILL is constant */
    PAGE = 4096,
};

static guint64 state = 88172645463325252u;

static guint64
random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static guint64
next_value(guint64 value, StatsMetric metric)
{
    guint64 noise = random_bits();
    if (metric % STILL == 0)
        return value;
    if (stats_metrics[metric].type == STATS_COUNTER)
        return value + 1000 * (metric % 17 + 1) + noise % 500;
    guint64 unit = stats_metrics[metric].unit == STATS_UNIT_BYTES ? PAGE : 1;
    guint64 step = noise % 64 * unit;
    return noise & 64 ? value + step : value - MIN(step, value);
}

static void
advance(StatsValues *values, StatsScope scope)
{
    for (guint i = 0; i < stats_scope_count(scope); i++) {
        StatsMetric metric = stats_scope_first(scope) + i;
        stats_values_set(values, metric, next_value(stats_values_or(values, metric, 1 << 24), metric));
    }
}

static StatsSample *
make_sample(guint arenas)
{
    StatsSample *sample = stats_sample_new(STATS_SOURCE_LIVE);
    sample->time_us = FIRST_DAY;
    for (guint i = 0; i < arenas; i++)
        stats_sample_arena(sample, i);
    stats_sample_arena(sample, STATS_ARENA_MERGED);
    return sample;
}

static void
advance_sample(StatsSample *sample, gint64 step_us)
{
    sample->time_us += step_us + (gint64)(random_bits() % 4000);
    advance(sample->totals, STATS_SCOPE_TOTALS);
    for (guint i = 0; i < sample->arenas->len; i++)
        advance(((StatsArena *)sample->arenas->pdata[i])->values, STATS_SCOPE_ARENA);
}

static gboolean
fill(History *history, gint64 target, gint64 incarnation, guint64 samples, StatsSample *sample, gint64 step_us,
     GError **error)
{
    Block *block = block_new(target, incarnation);
    gboolean ok = TRUE;
    for (guint64 i = 0; ok && i < samples; i++) {
        advance_sample(sample, step_us);
        if (!block_takes(block, sample->time_us, stats_sample_values(sample))) {
            ok = block_write(block, history, STORE_LEVEL_PACKED, error);
            block_free(block);
            block = block_new(target, incarnation);
        }
        ok = ok && block_append(block, history, sample, HISTORY_TOTALS | HISTORY_ARENAS, error);
    }
    ok = ok && block_write(block, history, STORE_LEVEL_PACKED, error);
    block_free(block);
    return ok;
}

int
main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    if (argc < 5) {
        fprintf(stderr, "usage: fill-history FILE TARGETS DAYS ARENAS [SECONDS]\n");
        return 2;
    }
    int targets = atoi(argv[2]), arenas = atoi(argv[4]), seconds = argc > 5 ? atoi(argv[5]) : 10;
    guint64 samples = (guint64)(atof(argv[3]) * DAY_S / seconds);
    g_autoptr(History) history = history_open(argv[1], HISTORY_WRITE, &error);
    for (int i = 0; history != NULL && error == NULL && i < targets; i++) {
        g_autofree char *name = g_strdup_printf("service-%d", i);
        g_autoptr(StatsSample) sample = make_sample((guint)arenas);
        HistoryLife life = {.target = name,
                            .pid = 1000 + i,
                            .boot = "",
                            .version = "5.3.0",
                            .every_us = (guint64)seconds * G_USEC_PER_SEC};
        gint64 incarnation, target;
        if (history_begin(history, &life, &incarnation, &error) && store_target(history, name, &target, &error))
            fill(history, target, incarnation, samples, sample, seconds * G_USEC_PER_SEC, &error);
    }
    if (error == NULL)
        return 0;
    fprintf(stderr, "fill-history: %s\n", error->message);
    return 1;
}
