/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files of statistics into the history. Doing it again, or with a file that has grown, adds only what is new: a
 * sample is known by its time and its main values (or, where its source tells no time, by those and by how often they
 * stood there before), not by the file it came from.
 */
#ifndef JESCOPE_HISTORY_IMPORT_H
#define JESCOPE_HISTORY_IMPORT_H

#include "history/history.h"
#include "stats/reader.h"

/* Called after each sample with how many are done, and its time. */
typedef void (*ImportProgressFunc)(guint64 samples, gint64 time_us, gpointer data);

typedef struct {
    const char *target; /* NULL: import_target_name() */
    gint64 start_us;    /* time of the first sample that has none; STATS_TIME_UNKNOWN: so that the last of them has the
                         * time of the file's last change */
    guint64 every_us;   /* between samples without a time */
    ImportProgressFunc progress; /* may be NULL */
    gpointer data;
} ImportOptions;

typedef struct {
    StatsReport report; /* what was read, and what was left out */
    guint64 added;
    guint64 known;    /* already there */
    guint64 timeless; /* of those added: with a time made up */
} ImportResult;

/* Imports PATH ("-": standard input). On failure what was written up to there stays: importing again goes on. */
gboolean import_file(History *history, const char *path, const ImportOptions *options, ImportResult *result,
                     GError **error);

/* "redis" for "logs/redis.log.gz". */
char *import_target_name(const char *path);

#endif
