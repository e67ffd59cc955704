/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads samples out of files that contain malloc_stats_print's output, as text (jemalloc 3.x to head) or JSON (4.3 to
 * head), wherever it stands: alone, between the lines of a console log, behind a logger's prefix, many snapshots in one
 * file, several writers mixed line by line (told apart by their prefix). Which of the two it is, each snapshot tells.
 *
 * Streaming: memory is bounded by the snapshots that are open at once, whatever the size of the file. What is damaged
 * or cut short is left out and counted in the report; reading goes on behind it.
 */
#ifndef JESCOPE_STATS_READER_H
#define JESCOPE_STATS_READER_H

#include "stats/stats.h"

typedef struct {
    uint64_t bytes;
    uint64_t lines;
    uint64_t samples;         /* handed out */
    uint64_t truncated;       /* snapshots that begin and do not end: left out */
    uint64_t damaged;         /* snapshots with malformed or contradictory numbers, which are skipped */
    uint64_t first_left_out;  /* line where the first of those begins; 0: none */
    const char *why_left_out; /* of that first one; static string */
} StatsReport;

typedef struct StatsReader StatsReader;

StatsReader *stats_reader_new(StatsSampleFunc func, gpointer data);
void stats_reader_free(StatsReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StatsReader, stats_reader_free)

/* The next LENGTH bytes of the source, cut anywhere. Fails only with FUNC's error, after which the reader is of no use.
 */
gboolean stats_reader_feed(StatsReader *reader, const char *bytes, gsize length, GError **error);

/* The source ended. REPORT may be NULL. */
gboolean stats_reader_finish(StatsReader *reader, StatsReport *report, GError **error);

/* Opens PATH ("-": standard input) for stats_read_file(); -1 with an error. */
int stats_open_file(const char *path, GError **error);

typedef struct {
    const char *path; /* for messages */
    int fd;
} StatsFile;

/* Reads FILE, plain or gzip, from its position to its end; it stays open. */
gboolean stats_read_file(const StatsFile *file, StatsSampleFunc func, gpointer data, StatsReport *report,
                         GError **error);

#endif
