/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files of statistics into the history. Importing a file again, or after it has grown, adds only new samples: a
 * sample is identified by its time and its main values (or without a time, by the values and the number of their
 * earlier occurrences), not by its file.
 */
#ifndef JESCOPE_HISTORY_IMPORT_H
#define JESCOPE_HISTORY_IMPORT_H

#include "history/history.h"
#include "stats/reader.h"

/* Called after each sample with the number of samples so far and the sample's time. */
typedef void (*ImportProgressFunc)(guint64 samples, gint64 time_us, gpointer data);

typedef struct {
    const char *target;  /* NULL: import_target_name() */
    gint64 start_us;     /* time of the first sample without a time; STATS_TIME_UNKNOWN: chosen so that the last one has
                          * the file's modification time */
    guint different_max; /* samples that one file may have, of which the occurrences are counted; 0: a million */
    guint64 every_us;    /* interval between samples without a time */
    ImportProgressFunc progress; /* may be NULL */
    gpointer data;
} ImportOptions;

typedef struct {
    StatsReport report; /* numbers of samples read and skipped */
    guint64 added;
    guint64 known;    /* already there */
    guint64 timeless; /* samples added with an assumed time */
    guint64 misdated; /* samples left out: their assumed time is not in the years 1 to 9999 */
} ImportResult;

/* Imports PATH ("-": standard input). On failure the samples written so far are kept; importing again continues. */
gboolean import_file(History *history, const char *path, const ImportOptions *options, ImportResult *result,
                     GError **error);

/* "redis" for "logs/redis.log.gz". */
char *import_target_name(const char *path);

#endif
