/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects samples of targets and logs into a history, on the default main context.
 *
 * A target that cannot be sampled is tried again at every beat; the history gets a note of why, and the gap shows.
 * While the file is locked or its disk is full, samples wait in memory (PENDING_MAX of them) and are written when it is
 * possible again.
 */
#ifndef JESCOPE_HISTORY_COLLECTOR_H
#define JESCOPE_HISTORY_COLLECTOR_H

#include "history/history.h"

typedef struct {
    guint64 every_us;
    guint64 for_us; /* 0: until collector_stop() */
    HistoryParts parts;
    HistoryRetention retention;
    void (*say)(const char *text, gpointer data); /* what the user should know, one line without an end */
    gpointer data;
} CollectorOptions;

typedef struct {
    guint64 written; /* samples */
    guint64 missed;  /* beats at which a target gave none */
    guint64 lost;    /* samples that were taken and could not be written */
} CollectorResult;

typedef struct Collector Collector;

/* HISTORY must outlive it. */
Collector *collector_new(History *history, const CollectorOptions *options);
void collector_free(Collector *collector);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Collector, collector_free)

/* Samples what ADDRESS names under the NAME; PROCESS as in watch_new(). */
void collector_add_target(Collector *collector, const char *name, const char *address, const char *process);

/* Keeps what is appended to the log PATH under the NAME. Writers as in history_log_target(). */
void collector_add_log(Collector *collector, const char *name, const char *path);

/* Runs COMMAND by the shell at every beat. */
void collector_add_command(Collector *collector, const char *command);

/* Returns after collector_stop(), after FOR_US, or with an error that waiting does not mend. RESULT is set in any case.
 */
gboolean collector_run(Collector *collector, CollectorResult *result, GError **error);

/* May be called from a handler on the main context. */
void collector_stop(Collector *collector);

#endif
