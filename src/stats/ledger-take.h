/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the ledger of a running process: reads statistics and mappings in immediate succession, and repeats this if too
 * much is unexplained, since the process may have allocated between the two.
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
    guint64 size;  /* size of a region */
    guint64 holes; /* bytes */
    guint64 live;  /* bytes */
} LedgerClass;

typedef struct {
    Ledger ledger;
    char *label;    /* "redis-server (4711)" */
    gint64 time_us; /* CLOCK_REALTIME */
    gint64 skew_us; /* from the refresh of the statistics to the end of the mappings */
    guint attempts; /* 1: the first one was sufficient */
    gboolean cut;   /* the list of mappings was not read to its end, so the rest is unexplained */
    char *notice;   /* why there are no statistics, or that they do not cover the main heap; NULL: none */
    guint n_classes;
    LedgerClass classes[LEDGER_CLASSES_MAX]; /* those with the most holes, in descending order */
} LedgerTaken;

/* Of the process FOUND, that of TARGET, which is NULL for a process without statistics. FALSE with TARGET_ERROR if the
 * process has exited, has changed, or may not be read. */
gboolean ledger_take(const Process *found, Target *target, LedgerTaken *taken, GError **error);
void ledger_taken_clear(LedgerTaken *taken);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LedgerTaken, ledger_taken_clear)

#endif
