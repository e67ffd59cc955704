/* SPDX-License-Identifier: Apache-2.0 */
/* Watching a live target for the doctor: statistics and figures of the process at intervals, its ledger at both ends,
 * and a few heap dumps if it is sampled. */
#ifndef JESCOPE_CLI_WATCHING_H
#define JESCOPE_CLI_WATCHING_H

#include "doctor/evidence.h"
#include "target/target.h"

typedef enum {
    WATCHING_PLAIN = 0,
    WATCHING_RECORD = 1 << 0, /* switch sampling on for the watch if it is off, and restore it */
} WatchingFlags;

typedef struct {
    DoctorEvidence evidence; /* without the stacks of the dumps */
    Ledger first, last;      /* that evidence points to */
    GArray *dumps;           /* int: descriptors of dumps, in the order of time */
    GPtrArray *vanished;     /* char *: files that were mapped executable, and unmapped */
    int statistics;          /* descriptor of jemalloc's own JSON at the end, of every arena; -1: none */
    gint64 since_us;         /* the begin of sampling by us; 0: it was on before */
    gdouble seconds;         /* of the watch */
} Watching;

/* Takes TARGET, also on failure. An interrupt ends the watch early. */
gboolean watching_run(Watching *watching, Target *target, guint64 watch_ms, WatchingFlags flags, GError **error);
void watching_clear(Watching *watching);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Watching, watching_clear)

#endif
