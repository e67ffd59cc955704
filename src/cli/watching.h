/* SPDX-License-Identifier: Apache-2.0 */
/* Watches a live target for the doctor: statistics and figures of the process at intervals, its ledger at the start and
 * the end, and some heap dumps if it is sampled. */
#ifndef JESCOPE_CLI_WATCHING_H
#define JESCOPE_CLI_WATCHING_H

#include "cli/sampling.h"
#include "doctor/evidence.h"
#include "target/target.h"

/* Options of a watch. */
typedef struct {
    guint64 ms;
    gboolean record;       /* switch sampling on for the watch if it is off, and restore it... */
    SamplerChoice sampler; /* ...with this one */
} WatchingChoice;

typedef struct {
    DoctorEvidence evidence; /* without the stacks of the dumps */
    Ledger first, last;      /* referenced by evidence */
    GArray *dumps;           /* int: descriptors of dumps, in time order */
    GArray *births; /* int: of dumps of jescope's sampler, which counts births, at the start and the end of its time */
    GPtrArray *vanished; /* char *: files that were mapped executable and were unmapped */
    int statistics;      /* descriptor of jemalloc's own JSON of every arena at the end; -1: none */
    gint64 since_us;     /* when the watch switched sampling on; 0: it was on before */
    gdouble seconds;     /* duration of the watch */
} Watching;

/* Takes over TARGET, also on failure. An interrupt ends the watch early. */
gboolean watching_run(Watching *watching, Target *target, const WatchingChoice *choice, GError **error);
void watching_clear(Watching *watching);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Watching, watching_clear)

#endif
