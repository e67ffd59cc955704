/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/trend.h"

#include "profile/growth.h"

#include <math.h>

enum { FEWEST = 4 };

static const gdouble Z95 = 1.96;
static const gdouble Z_ALARM = 5;             /* a program is watched often, and what drifts seems to rise at times */
static const gdouble SINCE_ENDED = 0.02;      /* of all growth, that has come since it ended */
static const gdouble STRONGEST_MEMORY = 0.95; /* of the correlation of a value with the one before */

gdouble
doctor_correlation(const gdouble *a, const gdouble *b, gsize n)
{
    gdouble mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;

    for (gsize i = 0; i < n; i++) {
        mean_a += a[i] / (gdouble)n;
        mean_b += b[i] / (gdouble)n;
    }
    for (gsize i = 0; i < n; i++) {
        aa += (a[i] - mean_a) * (a[i] - mean_a);
        bb += (b[i] - mean_b) * (b[i] - mean_b);
        ab += (a[i] - mean_a) * (b[i] - mean_b);
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

/* How much longer a series has to be since its values remember the ones before: the errors of a slope are not
 * independent. */
static gdouble
memory_factor(const gdouble *times, const gdouble *values, gsize n, gdouble slope)
{
    g_autofree gdouble *rest = g_new(gdouble, n);
    gdouble memory;

    for (gsize i = 0; i < n; i++)
        rest[i] = values[i] - slope * times[i];
    memory = doctor_correlation(rest, rest + 1, n - 1);
    /* A short series seems to remember less than it does, more so after its trend was taken off (Marriott and Pope
     * 1954). */
    memory = CLAMP(memory + (2 + 4 * memory) / (gdouble)n, 0, STRONGEST_MEMORY);
    return sqrt((1 + memory) / (1 - memory));
}

/* The last value from which on none falls below it: before, it came back. */
static gdouble
find_onset(const gdouble *times, const gdouble *values, gsize n)
{
    gdouble least = values[n - 1];
    gdouble low = values[0];
    gsize onset = 0;

    for (gsize i = 0; i < n; i++)
        low = MIN(low, values[i]);
    for (gsize i = n; i-- > 0;) {
        least = MIN(least, values[i]);
        if (least <= low + (values[n - 1] - low) / 10) {
            onset = i;
            break;
        }
    }
    return times[onset];
}

/* Every this many values, the last one always. */
static gsize
thin(const gdouble *from, gsize n, gdouble *to)
{
    gsize step = (n + TREND_POINTS - 1) / TREND_POINTS, kept = 0;

    for (gsize i = (n - 1) % step; i < n; i += step)
        to[kept++] = from[i];
    return kept;
}

/* At most how fast the last third is; its own error is unknown if it has three values or fewer. */
static gdouble
recent_rate(const gdouble *times, const gdouble *values, gsize n)
{
    gsize recent = MAX(2, n / 3);
    static const gdouble exact[TREND_POINTS];
    GrowthRow row;

    growth_analyse(times + n - recent, values + n - recent, exact, recent, &row);
    return row.slope + Z95 * row.slope_error;
}

/* Whether nothing to speak of has come since the middle: a start or a warm-up that is over. */
static gboolean
has_ended(const gdouble *values, gsize n)
{
    gdouble before = values[0], after = values[n / 2];

    for (gsize i = n / 2; i < n; i++)
        after = MIN(after, values[i]);
    return values[n - 1] - after <= SINCE_ENDED * (values[n - 1] - before);
}

void
doctor_trend(const gdouble *times, const gdouble *values, gsize n, DoctorTrend *trend)
{
    static const gdouble exact[TREND_POINTS];
    gdouble at[TREND_POINTS] = {0}, value[TREND_POINTS] = {0};
    GrowthRow row = {0};
    gdouble least, error, span;
    gsize kept;

    *trend = (DoctorTrend){.first = n > 0 ? values[0] : 0, .last = n > 0 ? values[n - 1] : 0, .detectable = INFINITY};
    if (n < FEWEST)
        return;
    kept = thin(times, n, at);
    thin(values, n, value);
    growth_analyse(at, value, exact, kept, &row);
    span = at[kept - 1] - at[0];
    least = MAX((gdouble)TREND_LEAST, trend->last / TREND_LEAST_SHARE);
    error = row.slope_error * memory_factor(at, value, kept, row.slope);
    trend->rate = row.slope;
    trend->low = row.slope - Z95 * error;
    trend->high = row.slope + Z95 * error;
    trend->onset = find_onset(at, value, kept);
    trend->detectable = MAX(least / span, Z_ALARM * error);
    trend->recent = recent_rate(at, value, kept);
    trend->slows = trend->recent < TREND_SLOWER * row.slope;
    trend->grows = !has_ended(value, kept) && (row.verdict == GROWTH_STILL_GROWING || row.verdict == GROWTH_PLATEAU) &&
                   trend->low > 0 && (trend->slows || row.slope > Z_ALARM * error) && row.slope * span >= least &&
                   trend->last - trend->first >= least;
}
