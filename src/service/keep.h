/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept: samples, dumps and recordings, in the history, for all threads. Each call waits for its turn. While the
 * file cannot be written, samples wait in memory (pending.h).
 */
#ifndef JESCOPE_SERVICE_KEEP_H
#define JESCOPE_SERVICE_KEEP_H

#include "history/dumps.h"

typedef struct Keep Keep;

/* PATH may be NULL: in memory. */
Keep *keep_new(const char *path, HistoryParts parts, GError **error);
void keep_free(Keep *keep);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Keep, keep_free)

/* Of the machine's present life; part of what makes a life of a process. */
const char *keep_boot(const Keep *keep);

/* What stays; before the first, everything does. */
void keep_set_retention(Keep *keep, const HistoryRetention *retention, const HistoryDumpRetention *dumps);

/* Samples are kept with these PARTS from now on. */
void keep_set_parts(Keep *keep, HistoryParts parts);

/* The incarnation of LIFE; its boot may be NULL: the present one. */
gboolean keep_life(Keep *keep, const HistoryLife *life, gint64 *incarnation, GError **error);

/* Adds SAMPLE of LIFE. FALSE: it waits, and ERROR says why. */
gboolean keep_sample(Keep *keep, const HistoryLife *life, StatsSample *sample, GError **error);

/* A remark: why samples are missing. */
void keep_note(Keep *keep, const char *target, const char *text);

/* Lets RETENTION have its way with samples. */
void keep_retain(Keep *keep);

/* As those of dumps.h; dumps are retained after each. */
gboolean keep_dump_add(Keep *keep, gint64 incarnation, int descriptor, HistoryDump *dump, GError **error);
GArray *keep_dumps(Keep *keep, gint64 incarnation, guint max, GError **error);
int keep_dump_open(Keep *keep, gint64 incarnation, guint64 id, GError **error);
gboolean keep_recording(Keep *keep, gint64 incarnation, const HistoryRecording *recording, GError **error);
GArray *keep_recordings(Keep *keep, gint64 incarnation, guint max, GError **error);
GArray *keep_lives(Keep *keep, guint max);

/* FUNC with a History to read from: one of its own, or, if everything is in memory, the only one. */
gpointer keep_read(Keep *keep, gpointer (*func)(History *history, gpointer data, GError **error), gpointer data,
                   GError **error);

#endif
