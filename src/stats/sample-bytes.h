/* SPDX-License-Identifier: Apache-2.0 */
/* Serializes samples for transfer between jescope's processes: from a child that reads a log, or from the server to the
 * doctor that it runs. */
#ifndef JESCOPE_STATS_SAMPLE_BYTES_H
#define JESCOPE_STATS_SAMPLE_BYTES_H

#include "stats/stats.h"

/* Appends SAMPLE to BYTES. */
void sample_bytes_write(const StatsSample *sample, GByteArray *bytes);

/* Parses a sample from LENGTH untrusted bytes; NULL if invalid. */
StatsSample *sample_bytes_read(gconstpointer bytes, gsize length);

/* A file of several samples: this magic, and each sample preceded by its length. If they exceed SAMPLE_BYTES_FILE_MAX,
 * every second one is dropped, repeatedly if needed; the first and the last are kept. */
#define SAMPLE_BYTES_MAGIC "jescope-samples 1\n"
enum { SAMPLE_BYTES_FILE_MAX = 32 << 20 };

typedef struct SampleBytesFile SampleBytesFile;
SampleBytesFile *sample_bytes_file_new(void);
void sample_bytes_file_add(SampleBytesFile *file, const StatsSample *sample);

/* Writes the file to FD, whose offset is then at the end. FALSE with errno. */
gboolean sample_bytes_file_write(const SampleBytesFile *file, int fd);
void sample_bytes_file_free(SampleBytesFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SampleBytesFile, sample_bytes_file_free)

/* Calls FUNC with each sample in LENGTH untrusted bytes of such a file. FALSE if FUNC has failed, or with STATS_ERROR
 * if the bytes are invalid. */
gboolean sample_bytes_file_read(gconstpointer bytes, gsize length, StatsSampleFunc func, gpointer data, GError **error);

#endif
