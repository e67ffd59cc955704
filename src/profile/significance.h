/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether what was sampled has grown. Samples are drawn at allocation, and what lives in two dumps is the same samples:
 * the change of a stack has the variance of its births and deaths between the dumps, not of what both hold.
 */
#ifndef JESCOPE_PROFILE_SIGNIFICANCE_H
#define JESCOPE_PROFILE_SIGNIFICANCE_H

#include <glib.h>

/*
 * The probability of at least BIRTHS among BIRTHS + DEATHS samples if both are equally likely, exact: where nothing
 * grows on balance, each change of the number of live samples is as likely up as down.
 */
gdouble significance_binomial(guint64 births, guint64 deaths);

/*
 * The same where births and deaths are not known, from N values in bytes in the order of time and the mean bytes that
 * one sample stands for: the larger of two probabilities. Student's test of the increments, whose movement shows the
 * births and deaths there are; and, since few increments may be equal by chance, that of this number of samples born
 * and none dead. 1: fewer than 3 values, or no growth.
 */
gdouble significance_increments(const gdouble *values, gsize n, gdouble bytes_per_sample);

/* How many standard deviations as significance_spread() estimates them, from FREEDOM + 1 increments, growth exceeds
 * with the probability P, of 0 to 1/2, if the increments have no direction: Student's quantile. */
gdouble significance_quantile(gdouble p, gdouble freedom);

/* The standard deviation of the growth from the first to the last of N values, by how unevenly they have grown; 0:
 * fewer than 3. */
gdouble significance_spread(const gdouble *values, gsize n);

/* Benjamini and Hochberg 1995: accepted[i] is set where p[i] stays below the rate Q of false discoveries among N. */
void significance_select(const gdouble *p, gsize n, gdouble q, gboolean *accepted);

#endif
