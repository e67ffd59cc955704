/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an exact series grows, and how fast: a counter of the allocator, one value per moment. */
#ifndef JESCOPE_DOCTOR_TREND_H
#define JESCOPE_DOCTOR_TREND_H

#include <glib.h>

enum {
    TREND_POINTS = 120,      /* longer series are thinned to this many */
    TREND_LEAST = 1 << 20,   /* bytes: less growth over the whole watch is not told from nothing */
    TREND_LEAST_SHARE = 200, /* and one part in this many of the series */
};

#define TREND_SLOWER 0.5 /* of the rate: what is slower in the last third slows down */

typedef struct {
    gboolean grows;      /* beyond its own movement, with rising low-water marks, by the least amounts above, and still
                            in the second half */
    gboolean slows;      /* and in the last third at less than half of the speed */
    gdouble rate;        /* per second */
    gdouble low, high;   /* 95 % interval of the rate */
    gdouble recent;      /* rate of the last third, at most: the end of its interval */
    gdouble first, last; /* values */
    gdouble onset;       /* seconds: the moment from which on it rises; that of the first value if always */
    gdouble detectable;  /* rate that would have been seen */
} DoctorTrend;

/* Fewer than 4 values never grow. Times are seconds, ascending. */
void doctor_trend(const gdouble *times, const gdouble *values, gsize n, DoctorTrend *trend);

/* The correlation of two series; 0 if one of them does not vary. */
gdouble doctor_correlation(const gdouble *a, const gdouble *b, gsize n);

#endif
