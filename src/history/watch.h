/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One live target that is sampled from a thread of its own, so that one that hangs delays nobody. The thread connects,
 * reconnects when the process was restarted, and hands each result to the main context it was made on.
 *
 * The functions belong to the thread of that context.
 */
#ifndef JESCOPE_HISTORY_WATCH_H
#define JESCOPE_HISTORY_WATCH_H

#include "history/history.h"

#include "stats/live.h"

/* What is to be read of a live target for a sample of these PARTS. */
StatsLiveParts watch_live_parts(HistoryParts parts);

/* What came of one request. */
typedef struct {
    StatsSample *sample; /* NULL: ERROR says why */
    GError *error;
    gint pid; /* of the process the sample is of */
    guint64 start_ticks;
} WatchResult;

/* RESULT is borrowed. */
typedef void (*WatchFunc)(const WatchResult *result, gpointer data);

typedef struct Watch Watch;

/* ADDRESS is what target_open() takes. The first process that is found there tells the name under which the next one
 * is looked for when it has ended; NAME (may be NULL) is that name if it is known already. */
Watch *watch_new(const char *address, const char *name, HistoryParts parts, WatchFunc func, gpointer data);

/* Stops the thread; one that hangs in its target is left to end by itself. FUNC is not called any more. */
void watch_free(Watch *watch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Watch, watch_free)

/* Asks for a sample. FALSE: the last request is not answered yet. */
gboolean watch_request(Watch *watch);

/* A request is not answered yet. */
gboolean watch_is_busy(const Watch *watch);

#endif
