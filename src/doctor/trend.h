/* SPDX-License-Identifier: Apache-2.0 */
/* Determines whether an exact series grows, and how fast. A series is a counter of the allocator, one value per
 * moment. */
#ifndef JESCOPE_DOCTOR_TREND_H
#define JESCOPE_DOCTOR_TREND_H

#include <glib.h>

enum {
    TREND_POINTS = 120,      /* longer series are thinned to this many */
    TREND_LEAST = 1 << 20,   /* bytes: less growth over the whole watch is ignored */
    TREND_LEAST_SHARE = 200, /* so is growth below the last value / TREND_LEAST_SHARE */
};

#define TREND_SLOWER 0.5 /* a series slows down if its rate in the last third is below this share of the rate */
#define TREND_STEADY 0.8 /* it is steady above this share, if it is suspected of slowing down */

typedef struct {
    gboolean grows; /* beyond its own variation, with rising low-water marks, by the minimum amounts above, and still in
                       the second half */
    gboolean slows; /* and less than half as fast in the last third */
    gboolean behind;     /* after a larger initial rise: all members describe the second half */
    gdouble rate;        /* per second */
    gdouble low, high;   /* 95 % interval of the rate */
    gdouble error;       /* standard error of the rate if the values revert to their line */
    gdouble recent;      /* upper bound of the rate in the last third */
    gdouble first, last; /* values */
    gdouble onset;       /* seconds: the time since which it rises; that of the first value if it always did */
    gdouble detectable;  /* smallest rate that would have been detected */
} DoctorTrend;

/* Fewer than 4 values never grow. Times are seconds, ascending. */
void doctor_trend(const gdouble *times, const gdouble *values, gsize n, DoctorTrend *trend);

/* Like doctor_trend(), for one of AMONG series that are tested for the same purpose. */
void doctor_trend_among(const gdouble *times, const gdouble *values, gsize n, guint among, DoctorTrend *trend);

/* Widens the interval of TREND by the randomness of which objects are allocated. VARIANCE is that of the growth over
 * SECONDS: the sum of the squared sizes of the objects that make it up. */
void doctor_trend_widen(DoctorTrend *trend, gdouble variance, gdouble seconds);

/* Exact counts of the objects of one size over a period. */
typedef struct {
    gdouble size;           /* bytes of each */
    gdouble births, deaths; /* objects */
    gdouble live;           /* objects, on average */
} DoctorTurnover;

/*
 * Clears TREND->grows if turnover alone may explain the growth. N objects that are born and die independently of each
 * other, each living for W on average, change their number over a time T with the variance 2 N (1 - exp(-T / W)) (the
 * queue M/M/infinity); W is N divided by the rate of births and deaths (Little 1961). The growth over SECONDS must be
 * significant for one of AMONG series.
 */
void doctor_trend_doubt(DoctorTrend *trend, const DoctorTurnover *turnover, gdouble seconds, guint among);

/* The rate of allocation with which live bytes rise in step. */
typedef struct {
    gdouble from, to; /* bytes per second, at the start and at the end */
} DoctorLoad;

/*
 * Whether live bytes rise because more is allocated, and not because less is freed. VALUES are the live bytes, MADE the
 * bytes allocated so far. Objects with a limited lifetime hold what was allocated during that time. By Little's law
 * (1961), live bytes rise by the rise in the rate of allocation times the mean lifetime, which must be within the
 * watch. LOAD is valid if TRUE is returned.
 */
gboolean doctor_follows(const gdouble *times, const gdouble *values, const gdouble *made, gsize n, DoctorLoad *load);

/* The noise that turnover adds to a slope: the spectral density of the live bytes at frequency 0, 2 N W for N objects
 * that live for W on average, in square bytes times seconds; in a watch shorter than W, that of the deaths in it. */
gdouble doctor_turnover_noise(const DoctorTurnover *turnover, gdouble seconds);

/*
 * Whether VALUES still grow with time, at no less than half of their rate, after removing what is correlated with LOAD,
 * the live bytes of others that follow the load. This is the slope of a regression on time and load (Frisch and Waugh
 * 1933); it must exceed its error from the residuals and from NOISE, that of the turnover of VALUES.
 */
gboolean doctor_outgrows(const gdouble *times, const gdouble *values, const gdouble *load, gsize n, gdouble noise);

/* The correlation of two series; 0 if one of them does not vary. */
gdouble doctor_correlation(const gdouble *a, const gdouble *b, gsize n);

#endif
