/* SPDX-License-Identifier: Apache-2.0 */
/* A sample as bytes, on its way from a child that has read it out of a log. */
#ifndef JESCOPE_STATS_SAMPLE_BYTES_H
#define JESCOPE_STATS_SAMPLE_BYTES_H

#include "stats/stats.h"

/* Appends SAMPLE to BYTES. */
void sample_bytes_write(const StatsSample *sample, GByteArray *bytes);

/* The sample in LENGTH untrusted bytes; NULL: not a valid sample. */
StatsSample *sample_bytes_read(gconstpointer bytes, gsize length);

#endif
