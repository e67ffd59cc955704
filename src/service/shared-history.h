/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history shared by the threads of a service. Calls wait until the history is free, which may take long, so the
 * main context must not make them unless noted. While the file cannot be written, samples and notes wait in memory;
 * beyond SHARED_HISTORY_WAITING of them, or SHARED_HISTORY_WAITING_BYTES, the oldest of the account
 * (confine/account.h) with most are lost.
 */
#ifndef JESCOPE_SERVICE_SHARED_HISTORY_H
#define JESCOPE_SERVICE_SHARED_HISTORY_H

#include "history/dumps.h"

typedef struct SharedHistory SharedHistory;

enum {
    SHARED_HISTORY_WAITING = 4096,
    SHARED_HISTORY_WAITING_BYTES = 64 << 20,
};

/* What is stored, and for how long. */
typedef struct {
    HistoryRetention samples;
    HistoryDumpRetention dumps;
    HistoryParts parts; /* parts of a sample */
} HistoryRules;

/* Opens the history at PATH, or if NULL, one in memory. */
SharedHistory *shared_history_new(const char *path, const HistoryRules *rules, GError **error);
void shared_history_free(SharedHistory *shared);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SharedHistory, shared_history_free)

/* Replaces the rules. May be called in the main context. */
void shared_history_set_rules(SharedHistory *shared, const HistoryRules *rules);

/* The current HistoryLife.boot of the machine. */
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

/* Adds SAMPLE of LIFE, charged to ACCOUNT ((uid_t)-1: unknown). FALSE with ERROR if it has to wait. */
gboolean shared_history_add_sample(SharedHistory *shared, const HistoryLife *life, uid_t account, StatsSample *sample,
                                   GError **error);

/* Queues a note on TARGET with the current time (history_note()), charged to ACCOUNT, to be written with the next
 * sample or flush. May be called in the main context. */
void shared_history_add_note(SharedHistory *shared, const char *target, uid_t account, const char *text);

/* Writes waiting samples and notes. FALSE with ERROR if some still wait. */
gboolean shared_history_flush(SharedHistory *shared, GError **error);

/* Numbers of samples. May be called in the main context. */
typedef struct {
    guint64 written;
    guint64 lost;
    guint64 waiting;
} SharedHistoryCounts;
SharedHistoryCounts shared_history_counts(SharedHistory *shared);

/* Whether it has grown by a quarter beyond the limit, or beyond what was left when it was last retained. */
gboolean shared_history_has_grown(SharedHistory *shared);

/* Removes the samples and dumps beyond the rules' limits. */
void shared_history_retain(SharedHistory *shared);

/* Like the functions of dumps.h, but compress and decompress without the lock. Adding removes older dumps beyond the
 * rules' limits. */
gboolean shared_history_add_dump(SharedHistory *shared, gint64 incarnation, int descriptor, RouteDump *dump,
                                 GError **error);
int shared_history_open_dump(SharedHistory *shared, gint64 incarnation, guint64 id, GError **error);

/* Calls FUNC with a History to read from: a separate one, or if everything is in memory, the only one, locked. */
gpointer shared_history_read(SharedHistory *shared, gpointer (*func)(History *history, gpointer data, GError **error),
                             gpointer data, GError **error);

#endif
