/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of the tests of this room: a private directory, and samples generated from a number. */
#ifndef JESCOPE_TEST_HISTORY_FIXTURE_H
#define JESCOPE_TEST_HISTORY_FIXTURE_H

#include "history/history.h"

#define SECOND   G_GINT64_CONSTANT(1000000)
#define SOME_DAY (G_GINT64_CONSTANT(1700000000) * SECOND)

/* A file name in a new temporary directory. Free with fixture_remove(). */
char *fixture_path(void);

/* Removes PATH, what SQLite left beside it and its directory; frees PATH. */
void fixture_remove(char *path);

/* A sample with every scope; its values follow from NUMBER. */
StatsSample *fixture_sample(gint64 time_us, guint number);

/* Asserts that SAMPLE is what fixture_sample(its time, NUMBER) gives. */
void fixture_assert_sample(const StatsSample *sample, guint number);

/* Opens for writing; no error is expected. */
History *fixture_open(const char *path);

/* A life of TARGET with this PID, sampled every ten seconds. */
gint64 fixture_begin(History *history, const char *target, gint64 pid);

/* COUNT samples, ten seconds apart, from FIRST_US on, numbered from 0. */
void fixture_add(History *history, gint64 incarnation, gint64 first_us, guint count);

/* The samples of TARGET in RANGE, of StatsSample. */
GPtrArray *fixture_read(History *history, const char *target, HistoryRange range);

#endif
