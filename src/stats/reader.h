/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads samples from files that contain malloc_stats_print's output, as text (jemalloc 3.x to head) or JSON (4.3 to
 * head), detected per snapshot: alone, between the lines of a console log, after a logger's prefix, many snapshots in a
 * file, and several writers mixed line by line (distinguished by their prefix).
 *
 * Reading is streamed: memory is bounded by the number of open snapshots, whatever the size of the file. Damaged and
 * truncated snapshots are skipped and counted in the report.
 */
#ifndef JESCOPE_STATS_READER_H
#define JESCOPE_STATS_READER_H

#include "stats/stats.h"

enum {
    STATS_WHY_SIZE = 256,
};

typedef struct {
    uint64_t bytes;
    uint64_t lines;
    uint64_t samples;                  /* samples passed to the function */
    uint64_t truncated;                /* snapshots without an end, which are skipped */
    uint64_t damaged;                  /* snapshots with malformed or contradictory numbers, which are skipped */
    uint64_t first_left_out;           /* line where the first skipped snapshot begins; 0: none */
    char why_left_out[STATS_WHY_SIZE]; /* reason for the first one */
} StatsReport;

typedef struct StatsReader StatsReader;

StatsReader *stats_reader_new(StatsSampleFunc func, gpointer data);
/* The rows of size classes and mutexes that all samples together may have; the rest is damaged. Without this call: any
 * number. */
void stats_reader_limit(StatsReader *reader, guint64 rows);
void stats_reader_free(StatsReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StatsReader, stats_reader_free)

/* Feeds the next LENGTH bytes of the source, split anywhere. Fails only with FUNC's error, after which only
 * stats_reader_free() may be called. */
gboolean stats_reader_feed(StatsReader *reader, const char *bytes, gsize length, GError **error);

/* To be called at the end of the source. REPORT may be NULL. */
gboolean stats_reader_finish(StatsReader *reader, StatsReport *report, GError **error);

/* Opens PATH ("-": standard input) for stats_read_file(); -1 with ERROR. */
int stats_open_file(const char *path, GError **error);

typedef struct {
    const char *path; /* for messages */
    int fd;
    guint64 rows; /* of stats_reader_limit(); 0: any number */
} StatsFile;

/* Reads FILE, plain or gzip, from its position to its end; it stays open. FALSE with STATS_ERROR_OVERFLOW: it is gzip
 * of more than INPUT_FILE_MAX_UNPACKED. */
gboolean stats_read_file(const StatsFile *file, StatsSampleFunc func, gpointer data, StatsReport *report,
                         GError **error);

#endif
