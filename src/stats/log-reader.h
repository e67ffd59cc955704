/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs are read by a child without privileges (confine/peer.h), which sends the samples one by one. They are checked
 * (sample-bytes.h): the writer of the log may have taken over the child.
 */
#ifndef JESCOPE_STATS_LOG_READER_H
#define JESCOPE_STATS_LOG_READER_H

#include "stats/reader.h"

typedef struct LogReader LogReader;

/* For a log that grows; FUNC is called in the process itself. */
LogReader *log_reader_new(StatsSampleFunc func, gpointer data);
void log_reader_free(LogReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LogReader, log_reader_free)

/* As stats_reader_feed(). Fails also where the child cannot be started, dies, or takes a minute for 64 KiB; the next
 * piece is then read by a new one, which knows nothing of a snapshot that was open. */
gboolean log_reader_feed(LogReader *reader, const char *bytes, gsize length, GError **error);

/* Opens PATH as stats_open_file() does, has it read as by stats_read_file(), and closes it. */
gboolean log_reader_read(const char *path, StatsSampleFunc func, gpointer data, StatsReport *report, GError **error);

/* Has FD read to its end, within a minute; NAME is for messages. */
gboolean log_reader_read_fd(LogReader *reader, int fd, const char *name, GError **error);

#endif
