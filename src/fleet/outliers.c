/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/outliers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ratio of the standard deviation to the median absolute deviation, for normally distributed values. */
#define NORMAL_SCALE 1.4826

/* Factors by which the deviation of N values is too small, for N from 2; beyond the table, N / (N - 0.8). */
static const gdouble corrections[] = {1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107};

static int
compare(gconstpointer a, gconstpointer b)
{
    gdouble one = *(const gdouble *)a, other = *(const gdouble *)b;
    return (one > other) - (one < other);
}

static gdouble
median_of(const gdouble *values, guint n)
{
    g_autofree gdouble *sorted = g_memdup2(values, n * sizeof(*values));
    qsort(sorted, n, sizeof(*sorted), compare);
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

static gdouble
correction_of(guint n)
{
    guint place = n - 2;
    return place < G_N_ELEMENTS(corrections) ? corrections[place] : n / (n - 0.8);
}

gdouble
outliers_distances(const gdouble *values, const gdouble *variances, guint n, gdouble *distances)
{
    gdouble median = median_of(values, n);
    for (guint i = 0; i < n; i++)
        distances[i] = fabs(values[i] - median);
    gdouble deviation = NORMAL_SCALE * correction_of(n) * median_of(distances, n);
    for (guint i = 0; i < n; i++) {
        gdouble scale = sqrt(deviation * deviation + variances[i]);
        gdouble difference = values[i] - median;
        distances[i] = difference == 0 ? 0 : scale > 0 ? difference / scale : copysign(INFINITY, difference);
    }
    return median;
}

gboolean
outliers_is(gdouble value, gdouble median, gdouble distance)
{
    return fabs(distance) >= OUTLIERS_LIMIT && fabs(value - median) >= OUTLIERS_MIN_SHARE * fabs(median);
}
