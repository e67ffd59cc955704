/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history that the threads of a service share. A call waits until the history is free, which may take long: not
 * for the main context, unless it says so. While the file cannot be written, samples and notes wait in memory; if there
 * are more than 4096 of them, the oldest are lost.
 */
#ifndef JESCOPE_SERVICE_SHARED_HISTORY_H
#define JESCOPE_SERVICE_SHARED_HISTORY_H

#include "history/dumps.h"

typedef struct SharedHistory SharedHistory;

/* What is kept. */
typedef struct {
    HistoryRetention samples;
    HistoryDumpRetention dumps;
    HistoryParts parts; /* of a sample */
} HistoryRules;

/* PATH may be NULL: in memory. */
SharedHistory *shared_history_new(const char *path, const HistoryRules *rules, GError **error);
void shared_history_free(SharedHistory *shared);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SharedHistory, shared_history_free)

/* From now on. For the main context, too. */
void shared_history_set_rules(SharedHistory *shared, const HistoryRules *rules);

/* Of this boot of the machine (HistoryLife.boot). */
const char *shared_history_boot(const SharedHistory *shared);

/* The history, locked for this thread until the end of the scope:
 *
 *     g_autoptr(HistoryHold) hold = shared_history_hold(shared);
 *     return history_dumps(hold->history, incarnation, max, error);
 */
typedef struct {
    History *history;
    GMutex lock; /* private */
} HistoryHold;
HistoryHold *shared_history_hold(SharedHistory *shared);
void history_hold_release(HistoryHold *hold);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HistoryHold, history_hold_release)

/* Adds SAMPLE of LIFE. FALSE: it waits, and ERROR says why. */
gboolean shared_history_add_sample(SharedHistory *shared, const HistoryLife *life, StatsSample *sample, GError **error);

/* Has a note of now on TARGET (history_note()) written with the next sample or flush. For the main context, too. */
void shared_history_add_note(SharedHistory *shared, const char *target, const char *text);

/* Writes what waits. FALSE: something still waits, and ERROR says why. */
gboolean shared_history_flush(SharedHistory *shared, GError **error);

/* Samples. For the main context, too. */
typedef struct {
    guint64 written;
    guint64 lost;
    guint64 waiting;
} SharedHistoryCounts;
SharedHistoryCounts shared_history_counts(SharedHistory *shared);

/* Removes the samples and dumps that the rules do not keep. */
void shared_history_retain(SharedHistory *shared);

/* As those of dumps.h, compressing without the lock; older dumps are removed as the rules say. */
gboolean shared_history_add_dump(SharedHistory *shared, gint64 incarnation, int descriptor, RouteDump *dump,
                                 GError **error);
int shared_history_open_dump(SharedHistory *shared, gint64 incarnation, guint64 id, GError **error);

/* Calls FUNC with a History to read from: one of its own, or the only one, locked, if everything is in memory. */
gpointer shared_history_read(SharedHistory *shared, gpointer (*func)(History *history, gpointer data, GError **error),
                             gpointer data, GError **error);

#endif
