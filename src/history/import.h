/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files of statistics into the history. Importing again, or a file that has grown, adds only new samples: a
 * sample is identified by its time and its main values (or, without times, by those and their number of occurrences
 * before), not by its file.
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
    StatsReport report; /* numbers of samples read and skipped */
    guint64 added;
    guint64 known;    /* already there */
    guint64 timeless; /* of those added: with a time made up */
} ImportResult;

/* Imports PATH ("-": standard input). On failure the samples written so far stay: importing again continues. */
gboolean import_file(History *history, const char *path, const ImportOptions *options, ImportResult *result,
                     GError **error);

/* "redis" for "logs/redis.log.gz". */
char *import_target_name(const char *path);

#endif
