/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and reads the timestamps that loggers write. Known forms:
 *   2026-11-20 21:13:58.060, 2026-11-20T21:13:58Z, 2026/11/20 21:13:58,123 +01:00, Nov 20 2026 21:13:58 GMT
 * (Aerospike), 20 Nov 2026 21:13:58.060 (Redis), 1763673238.06 (seconds since 1970), Nov 20 21:13:58 (syslog: no year,
 * so no time). Times without a zone are local (TZ).
 */
#ifndef JESCOPE_STATS_TIMESTAMP_H
#define JESCOPE_STATS_TIMESTAMP_H

#include "stats/stats.h"

typedef struct {
    const char *form; /* which of the forms matched; static */
    gsize start;      /* offset in the text */
    gsize end;
    gint64 time_us; /* time, or STATS_TIME_UNKNOWN */
} Timestamp;

/* Finds the first timestamp in TEXT. FALSE, with FOUND unchanged, if there is none. */
gboolean timestamp_find(const char *text, gsize length, Timestamp *found);

/* The length of a timestamp of FORM at the beginning of TEXT, 0 if there is none. */
gsize timestamp_match(const char *form, const char *text, gsize length);

#endif
