/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds hosts that differ from the others, by the distance from the median in units of the median absolute deviation
 * (Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993), corrected for few hosts (Croux and Rousseeuw,
 * "Time-efficient algorithms for two highly robust estimators of scale", 1992) and widened by the sampling error of
 * each value. Both statistics are robust against outliers that are fewer than half. With equal, normally distributed
 * hosts, 3 to 6 of 100 fleets of 6 to 9 hosts have a false outlier; larger fleets have fewer.
 */
#ifndef JESCOPE_FLEET_OUTLIERS_H
#define JESCOPE_FLEET_OUTLIERS_H

#include <glib.h>

enum {
    OUTLIERS_MIN_HOSTS = 6, /* with 5, 8 of 100 fleets of equal hosts have a false outlier */
};
#define OUTLIERS_LIMIT     5.0  /* minimum distance of an outlier */
#define OUTLIERS_MIN_SHARE 0.05 /* of the median: smaller differences are not reported, even if significant */

/* Sets the distances of the N (at least OUTLIERS_MIN_HOSTS) values: 0 for the median, infinite if all others are
 * exactly equal. Returns the median. */
gdouble outliers_distances(const gdouble *values, const gdouble *variances, guint n, gdouble *distances);

/* Whether VALUE, which has DISTANCE, is an outlier. */
gboolean outliers_is(gdouble value, gdouble median, gdouble distance);

#endif
