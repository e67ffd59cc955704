/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests whether sampled memory has grown. Samples are drawn at allocation, so an object that lives in two dumps is the
 * same sample in both: the change of a stack has the variance of its births and deaths between the dumps, not of all
 * that they hold.
 */
#ifndef JESCOPE_PROFILE_SIGNIFICANCE_H
#define JESCOPE_PROFILE_SIGNIFICANCE_H

#include <glib.h>

/*
 * The probability, as by significance_share(), of at least BIRTHS among BIRTHS + DEATHS samples if both are equally
 * likely: if nothing grows on balance, each change of the number of live samples is as likely up as down.
 */
gdouble significance_binomial(guint64 births, guint64 deaths);

/* The probability of at least INSIDE among INSIDE + OUTSIDE samples in a part of the time that has SHARE (between 0 and
 * 1) of them on average: the upper tail of the binomial distribution. Exact up to 1000 samples. With more of them the
 * relative error, up to four standard deviations from the mean, is at most 0.0001 for a share of 1/2, and 0.011 for
 * shares from 0.1 to 0.9. */
gdouble significance_share(guint64 inside, guint64 outside, gdouble share);

/*
 * The same as significance_binomial() if births and deaths are not known, from N values in bytes in time order and the
 * mean bytes per sample: the larger of two probabilities. The first is Student's test of the increments, whose scatter
 * reflects the births and deaths; the second, since few increments may be equal by chance, that of this number of
 * births without deaths. 1: fewer than 3 values, or no growth.
 */
gdouble significance_increments(const gdouble *values, gsize n, gdouble bytes_per_sample);

/* Student's quantile: the number of standard deviations (estimated by significance_spread() from FREEDOM + 1
 * increments) that growth exceeds with the probability P, 0 to 1/2, if the increments have no trend. */
gdouble significance_quantile(gdouble p, gdouble freedom);

/* The standard deviation of the growth from the first to the last of N values, from the scatter of the increments; 0:
 * fewer than 3. */
gdouble significance_spread(const gdouble *values, gsize n);

/* Benjamini and Hochberg 1995: accepted[i] is set where p[i] stays below the rate Q of false discoveries among N. */
void significance_select(const gdouble *p, gsize n, gdouble q, gboolean *accepted);

#endif
