/* SPDX-License-Identifier: Apache-2.0 */
/* Samples on their way into the history. While the file cannot be written they wait, the oldest of too many are lost.
 */
#ifndef JESCOPE_HISTORY_PENDING_H
#define JESCOPE_HISTORY_PENDING_H

#include "history/history.h"

enum {
    PENDING_MAX = 4096,
};

typedef struct Pending Pending;

Pending *pending_new(History *history, HistoryParts parts);
void pending_free(Pending *pending);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Pending, pending_free)

/* Samples are written with these PARTS from now on. */
void pending_set_parts(Pending *pending, HistoryParts parts);

/* Adds SAMPLE of LIFE, whose words are copied. */
void pending_add(Pending *pending, const HistoryLife *life, StatsSample *sample);

/* Adds a note as history_note(). */
void pending_note(Pending *pending, const char *target, gint64 time_us, const char *text);

/* Writes what waits, in order. FALSE: something still waits, ERROR says why. */
gboolean pending_flush(Pending *pending, GError **error);

/* Samples written so far, and lost because too many waited. */
guint64 pending_written(const Pending *pending);
guint64 pending_lost(const Pending *pending);

/* Samples that wait. */
guint pending_length(const Pending *pending);

#endif
