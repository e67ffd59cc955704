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
#define TREND_STEADY 0.8 /* what is not, does not, where there is reason to think that it may */

typedef struct {
    gboolean grows;      /* beyond its own movement, with rising low-water marks, by the least amounts above, and still
                            in the second half */
    gboolean slows;      /* and in the last third at less than half of the speed */
    gboolean behind;     /* behind a larger start: what is said is of the second half */
    gdouble rate;        /* per second */
    gdouble low, high;   /* 95 % interval of the rate */
    gdouble error;       /* standard error of the rate as far as the values are drawn back to their line */
    gdouble recent;      /* rate of the last third, at most: the end of its interval */
    gdouble first, last; /* values */
    gdouble onset;       /* seconds: the moment from which on it rises; that of the first value if always */
    gdouble detectable;  /* rate that would have been seen */
} DoctorTrend;

/* Fewer than 4 values never grow. Times are seconds, ascending. */
void doctor_trend(const gdouble *times, const gdouble *values, gsize n, DoctorTrend *trend);

/* Of one of AMONG series that are looked at for the same purpose. */
void doctor_trend_among(const gdouble *times, const gdouble *values, gsize n, guint among, DoctorTrend *trend);

/* The interval also has the chance of which objects come: VARIANCE is that of the growth over SECONDS, the sum of the
 * squares of the sizes of what came for it. */
void doctor_trend_widen(DoctorTrend *trend, gdouble variance, gdouble seconds);

/* Of the objects of one size over some time, exactly. */
typedef struct {
    gdouble size;           /* bytes of each */
    gdouble births, deaths; /* objects */
    gdouble live;           /* objects, on average */
} DoctorTurnover;

/*
 * What comes and goes by itself does not grow: N objects that are born and die independently of each other, each living
 * for W on average, change their number over a time T with the variance 2 N (1 - exp(-T / W)) (the queue M/M/infinity);
 * W is N by the rate of births and deaths (Little 1961). What is not beyond that, over SECONDS and of AMONG series,
 * does not grow.
 */
void doctor_trend_doubt(DoctorTrend *trend, const DoctorTurnover *turnover, gdouble seconds, guint among);

/* The rate of allocation that VALUES, the live bytes, rise in step with. */
typedef struct {
    gdouble from, to; /* bytes a second, at first and at last */
} DoctorLoad;

/*
 * Whether live bytes rise since more is allocated, and not since less is freed: what lives for a time is what was
 * allocated in that time, as far as it ever dies. MADE are the bytes allocated so far. By Little's law (1961) the rise
 * of what is held is that of the rate of allocation times the mean time that objects live, which has to be within the
 * watch.
 */
gboolean doctor_follows(const gdouble *times, const gdouble *values, const gdouble *made, gsize n, DoctorLoad *load);

/* What turnover adds to a slope: the spectral density of the live bytes at frequency 0, 2 N W of N objects that live
 * for W on average, in square bytes times seconds; of a watch that is shorter, that of the deaths in it. */
gdouble doctor_turnover_noise(const DoctorTurnover *turnover, gdouble seconds);

/*
 * Whether VALUES grow with time, at no less than half of their rate, when what follows LOAD, the bytes of others that
 * come and go with it, is taken out of both: the slope of a regression on time and load (Frisch and Waugh 1933), beyond
 * its error by the residuals and by NOISE, that of their turnover.
 */
gboolean doctor_outgrows(const gdouble *times, const gdouble *values, const gdouble *load, gsize n, gdouble noise);

/* The correlation of two series; 0 if one of them does not vary. */
gdouble doctor_correlation(const gdouble *a, const gdouble *b, gsize n);

#endif
