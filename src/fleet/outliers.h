/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of several hosts differ from the others, by the distance from the median in units of the median absolute
 * deviation (Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993), corrected for few hosts (Croux and
 * Rousseeuw, "Time-efficient algorithms for two highly robust estimators of scale", 1992) and widened by the sampling
 * error of each value. Neither statistic is moved by outliers that are fewer than
 * half. Of equal, normally distributed hosts one is called an outlier in 3 to 6 of 100 fleets of 6 to 9, fewer in
 * larger ones.
 */
#ifndef JESCOPE_FLEET_OUTLIERS_H
#define JESCOPE_FLEET_OUTLIERS_H

#include <glib.h>

enum {
    OUTLIERS_MIN_HOSTS = 6, /* with 5, an equal host is called an outlier in 8 of 100 fleets */
};
#define OUTLIERS_LIMIT     5.0  /* distances from which a host is one */
#define OUTLIERS_MIN_SHARE 0.05 /* of the median: smaller differences are not reported, however certain */

/* Distances of the N values; 0 of the median, infinite where all others agree exactly. N is at least
 * OUTLIERS_MIN_HOSTS. Returns the median. */
gdouble outliers_distances(const gdouble *values, const gdouble *variances, guint n, gdouble *distances);

/* Whether VALUE, with its distance, is one. */
gboolean outliers_is(gdouble value, gdouble median, gdouble distance);

#endif
