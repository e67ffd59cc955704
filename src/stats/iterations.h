/* SPDX-License-Identifier: Apache-2.0 */
/* The values of many samples for abs, del and eff: three values per arena, stored compactly (32 bytes per arena). */
#ifndef JESCOPE_STATS_ITERATIONS_H
#define JESCOPE_STATS_ITERATIONS_H

#include "stats/stats.h"

typedef enum {
    SIZE_TOTAL, /* allocated */
    SIZE_ACTIVE,
    SIZE_MAPPED,
    SIZE_COUNT,
} SizeKind;

typedef struct {
    guint32 arena;
    guint32 present; /* one bit per SizeKind */
    uint64_t sizes[SIZE_COUNT];
} ArenaSizes;

typedef struct Iterations Iterations;

Iterations *iterations_new(void);
void iterations_free(Iterations *iterations);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Iterations, iterations_free)

/* A StatsSampleFunc; DATA is the Iterations. */
gboolean iterations_add(StatsSample *sample, gpointer data, GError **error);

guint iterations_count(const Iterations *iterations);

/* The arenas of an iteration by ascending number, without merged and destroyed ones. */
const ArenaSizes *iterations_arenas(const Iterations *iterations, guint index, guint *count);

/* The process's totals in an iteration; all are absent if the source has none (jemdata.py). */
const ArenaSizes *iterations_totals(const Iterations *iterations, guint index);

/* The time of an iteration, or STATS_TIME_UNKNOWN. */
gint64 iterations_time(const Iterations *iterations, guint index);

const char *size_kind_name(SizeKind kind); /* "total", "active", "mapped" */

#endif
