/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking the ledger of a living process: statistics and mappings one right after the other, repeated if too much stays
 * unexplained, since a process that allocates meanwhile changes between the two.
 */
#ifndef JESCOPE_STATS_LEDGER_TAKE_H
#define JESCOPE_STATS_LEDGER_TAKE_H

#include "stats/ledger.h"
#include "target/target.h"

enum {
    LEDGER_CLASSES_MAX = 5,
};

/* A size class with many free regions in slabs in use. */
typedef struct {
    guint64 size;  /* of a region */
    guint64 holes; /* bytes */
    guint64 live;  /* bytes */
} LedgerClass;

typedef struct {
    Ledger ledger;
    char *label;    /* "redis-server (4711)" */
    gint64 time_us; /* CLOCK_REALTIME */
    gint64 skew_us; /* from the refresh of the statistics to the last of the mappings */
    guint attempts; /* 1: the first one was good enough */
    gboolean cut;   /* the list of mappings was not read to its end: the rest is unexplained */
    char *notice;   /* why there are no statistics, or that they are not about the main heap; NULL: nothing to say */
    guint n_classes;
    LedgerClass classes[LEDGER_CLASSES_MAX]; /* those with the most holes, the worst first */
} LedgerTaken;

/* TARGET is NULL for a process whose statistics cannot be had. TARGET_ERROR if the process has ended or may not be
 * read. */
gboolean ledger_take(pid_t pid, Target *target, LedgerTaken *taken, GError **error);
void ledger_taken_clear(LedgerTaken *taken);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LedgerTaken, ledger_taken_clear)

#endif
