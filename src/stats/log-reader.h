/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads logs in an unprivileged child process (confine/peer.h), which sends the samples one by one. These are validated
 * (sample-bytes.h), since the writer of the log may have taken over the child.
 */
#ifndef JESCOPE_STATS_LOG_READER_H
#define JESCOPE_STATS_LOG_READER_H

#include "stats/reader.h"

typedef struct LogReader LogReader;

/* A reader for a growing log; FUNC is called in this process. */
LogReader *log_reader_new(StatsSampleFunc func, gpointer data);
void log_reader_free(LogReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LogReader, log_reader_free)

/* Before anything is read: the processor time that the child, and that FUNC, may each take; 0: as the sandbox allows.
 */
void log_reader_limit_seconds(LogReader *reader, guint seconds);

/* Before anything is read: stats_reader_limit() for log_reader_read_fd(). */
void log_reader_limit(LogReader *reader, guint64 rows);

/* Like stats_reader_feed(). Also fails if the child cannot be started, dies, or takes over a minute for 64 KiB; a new
 * child then reads the next piece, and an open snapshot is lost. */
gboolean log_reader_feed(LogReader *reader, const char *bytes, gsize length, GError **error);

/* Like stats_open_file(), stats_read_file() and close(), but reads in a child. It and FUNC have
 * INPUT_FILE_FOREIGN_SECONDS each for a file of another user. */
gboolean log_reader_read(const char *path, StatsSampleFunc func, gpointer data, StatsReport *report, GError **error);

/* Reads FD to its end, within a minute; NAME is used in messages. */
gboolean log_reader_read_fd(LogReader *reader, int fd, const char *name, GError **error);

#endif
