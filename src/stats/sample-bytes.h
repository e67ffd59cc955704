/* SPDX-License-Identifier: Apache-2.0 */
/* A sample as bytes, on its way from one process of ours to another: from a child that has read it out of a log, or
 * from the server to the doctor that it runs. */
#ifndef JESCOPE_STATS_SAMPLE_BYTES_H
#define JESCOPE_STATS_SAMPLE_BYTES_H

#include "stats/stats.h"

/* Appends SAMPLE to BYTES. */
void sample_bytes_write(const StatsSample *sample, GByteArray *bytes);

/* The sample in LENGTH untrusted bytes; NULL: not a valid sample. */
StatsSample *sample_bytes_read(gconstpointer bytes, gsize length);

/* Several samples in a file: this, and each with its length in front. Of more than fit SAMPLE_BYTES_FILE_MAX every
 * second one is left out, as often as it takes; the first and the last stay. */
#define SAMPLE_BYTES_MAGIC "jescope-samples 1\n"
enum { SAMPLE_BYTES_FILE_MAX = 32 << 20 };

typedef struct SampleBytesFile SampleBytesFile;
SampleBytesFile *sample_bytes_file_new(void);
void sample_bytes_file_add(SampleBytesFile *file, const StatsSample *sample);

/* FD is at its end afterwards. FALSE with errno. */
gboolean sample_bytes_file_write(const SampleBytesFile *file, int fd);
void sample_bytes_file_free(SampleBytesFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SampleBytesFile, sample_bytes_file_free)

/* Calls FUNC with each sample of LENGTH untrusted bytes of such a file. FALSE: FUNC has failed, or the bytes are not
 * valid (STATS_ERROR). */
gboolean sample_bytes_file_read(gconstpointer bytes, gsize length, StatsSampleFunc func, gpointer data, GError **error);

#endif
