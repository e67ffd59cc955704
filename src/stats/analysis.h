/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abs, del, eff: which arenas are large, grow, or hold more than they use, over iterations (the samples of a source,
 * numbered from 0). Output is in jescope's format, or line for line as Aerospike's jemabs, jemdel and jemeff write it.
 */
#ifndef JESCOPE_STATS_ANALYSIS_H
#define JESCOPE_STATS_ANALYSIS_H

#include "stats/iterations.h"

typedef enum {
    ANALYSIS_ABSOLUTE,
    ANALYSIS_DELTA,
    ANALYSIS_EFFICIENCY,
} AnalysisKind;

typedef enum {
    ANALYSIS_TOTAL = 1 << 0,      /* the process instead of its arenas */
    ANALYSIS_SUCCESSIVE = 1 << 1, /* DELTA: compare with the previous iteration, not with BASE */
    ANALYSIS_ORIGINAL = 1 << 2,   /* as Aerospike's tools write it */
    ANALYSIS_JSON = 1 << 3,       /* one object (docs/formats.md) instead of text; not with ORIGINAL */
} AnalysisFlags;

typedef struct {
    AnalysisKind kind;
    AnalysisFlags flags;
    gint64 threshold_mib; /* smaller values are omitted; 0: none */
    gint64 start;         /* first iteration */
    gint64 end;           /* exclusive */
    gint64 base;          /* DELTA: the iteration to compare with */
} AnalysisRequest;

/* Receives text in pieces; FALSE with ERROR set ends the analysis. */
typedef gboolean (*AnalysisSink)(const char *text, gsize length, gpointer data, GError **error);

/* Errors: STATS_ERROR_RANGE for a missing iteration: before any output, or with ANALYSIS_ORIGINAL after the output for
 * the preceding iterations, as in the original. Only with ANALYSIS_ORIGINAL: STATS_ERROR_RANGE for an arena that is
 * missing in a later iteration, and STATS_ERROR_FORMAT for a percentage if nothing is mapped. */
gboolean analysis_run(const Iterations *iterations, const AnalysisRequest *request, AnalysisSink sink, gpointer data,
                      GError **error);

#endif
