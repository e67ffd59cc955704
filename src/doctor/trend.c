/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/trend.h"

#include "profile/growth.h"
#include "profile/significance.h"

#include <math.h>

enum { FEWEST = 4, FEWEST_OF_TAIL = 12, WANDER_PARTS = 30, LONGEST_WANDER = 5 };

static const gdouble Z95 = 1.96;
static const gdouble NORMAL = 1e6; /* degrees of freedom with which Student's distribution is the normal one */
static const gdouble Z_ALARM = 5;  /* high, since programs are watched often, and drift looks like growth at times */
static const gdouble SINCE_ENDED = 0.02; /* maximum share of all growth after it has ended */
static const gdouble CHANCE = 0.02;      /* accepted probability of a random rise in a watch of SHORT_WATCH */
static const gdouble LEAST_WANDER = 0.1; /* minimum variance, relative to that of the steps */
static const gdouble DRAWN_BACK = 0.4;   /* of the variance of the steps: with less, values revert to their line */
static const gdouble WALK_SLOPE = 1.2;   /* variance of the slope of a random walk, relative to that from its ends */
static const gdouble LEAST_OF_TAIL = 2 * TREND_LEAST; /* bytes: more, since the end of a fill is slow as well */
static const gdouble SHORT_WATCH = 120;               /* seconds: longer watches are tested repeatedly */
static const gdouble IN_STEP = 0.9;                   /* minimum correlation of live bytes and the rate of allocation */
static const gdouble LOAD_LEAST = 0.1;                /* minimum relative rise of that rate */
static const gdouble SURVIVE = 0.5;      /* maximum live share of allocated bytes; with more, it is not temporary */
static const gdouble LONGEST_STAY = 0.5; /* maximum lifetime relative to the watch; longer ones look like a leak */
static const gdouble STRONGEST_MEMORY = 0.95; /* maximum autocorrelation */

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

/* The factor by which autocorrelation increases the error of a slope. */
static gdouble
memory_factor(const gdouble *times, const gdouble *values, gsize n, gdouble slope)
{
    g_autofree gdouble *rest = g_new(gdouble, n);
    gdouble memory;

    for (gsize i = 0; i < n; i++)
        rest[i] = values[i] - slope * times[i];
    memory = doctor_correlation(rest, rest + 1, n - 1);
    /* Autocorrelation is underestimated in a short series, and more so after detrending (Marriott and Pope 1954). */
    memory = CLAMP(memory + (2 + 4 * memory) / (gdouble)n, 0, STRONGEST_MEMORY);
    return sqrt((1 + memory) / (1 - memory));
}

/* The time of the last value that is at most a tenth of the total rise above the minimum. */
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

/* Thins a series to at most TREND_POINTS evenly spaced values, including the last. Returns their number. */
static gsize
thin(const gdouble *from, gsize n, gdouble *to)
{
    gsize step = (n + TREND_POINTS - 1) / TREND_POINTS, kept = 0;

    for (gsize i = (n - 1) % step; i < n; i += step)
        to[kept++] = from[i];
    return kept;
}

/* An upper bound of the rate in the last third; without the error, which is unknown, for three values or fewer. */
static gdouble
recent_rate(const gdouble *times, const gdouble *values, gsize n)
{
    gsize recent = MAX(2, n / 3);
    static const gdouble exact[TREND_POINTS];
    GrowthRow row;

    growth_analyse(times + n - recent, values + n - recent, exact, recent, &row);
    return row.slope + row.slope_error;
}

/* Whether there is almost no growth since the middle: a startup or a warm-up that is over. */
static gboolean
has_ended(const gdouble *values, gsize n)
{
    gdouble before = values[0], after = values[n / 2];

    for (gsize i = n / 2; i < n; i++)
        after = MIN(after, values[i]);
    return values[n - 1] - after <= SINCE_ENDED * (values[n - 1] - before);
}

/* The accepted probability of a random rise: less for long watches, which are tested repeatedly, and for each of AMONG
 * series. */
static gdouble
allowed_chance(gdouble span, guint among)
{
    return span > SHORT_WATCH ? CHANCE * SHORT_WATCH / span / MAX(1, among) : CHANCE;
}

/* The minimum of each of N_PARTS parts. */
static void
find_lows(const gdouble *values, gsize n, gdouble *lows, gsize n_parts)
{
    for (gsize i = 0; i < n_parts; i++) {
        lows[i] = values[i * n / n_parts];
        for (gsize j = i * n / n_parts; j < (i + 1) * n / n_parts; j++)
            lows[i] = MIN(lows[i], values[j]);
    }
}

/* The variance of the growth over N values, from its unevenness: for a random walk that of its steps, which is set in
 * STEPS; less for values that revert, more for persistent changes (Newey and West 1987). */
static gdouble
wander(const gdouble *values, gsize n, gdouble *steps)
{
    gdouble step = (values[n - 1] - values[0]) / (gdouble)(n - 1), rest[TREND_POINTS], own = 0, sum;
    gsize memory = MIN((n - 1) / 7, LONGEST_WANDER);

    for (gsize i = 0; i + 1 < n; i++) {
        rest[i] = values[i + 1] - values[i] - step;
        own += rest[i] * rest[i];
    }
    sum = own;
    if (own <= 0)
        return *steps = 0;
    for (gsize lag = 1; lag <= memory; lag++)
        for (gsize i = lag; i + 1 < n; i++)
            sum += 2 * (1 - (gdouble)lag / (gdouble)(memory + 1)) * rest[i] * rest[i - lag];
    *steps = own * (gdouble)(n - 1) / (gdouble)(n - 2);
    return MAX(sum / own, LEAST_WANDER) * *steps;
}

/*
 * The largest rise of the low-water marks that may be due to chance in a random series; RISEN is set to the actual
 * rise. The marks of short parts of the watch include most of its steps, those of long parts the troughs of a series
 * that oscillates: the clearest result counts.
 */
static gdouble
chance_rise(const gdouble *values, gsize n, gdouble chance, gdouble *risen)
{
    static const gsize parts[] = {WANDER_PARTS, WANDER_PARTS * 2 / 5, WANDER_PARTS / 5};
    gdouble lows[WANDER_PARTS], best = INFINITY;

    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
        gsize n_parts = MIN(parts[i], n);
        find_lows(values, n, lows, n_parts);
        gdouble rise = lows[n_parts - 1] - lows[0];
        gdouble steps,
            least = sqrt(wander(lows, n_parts, &steps)) * significance_quantile(chance, (gdouble)n_parts - 2);
        if (i == 0 || rise - least > *risen - best) {
            *risen = rise;
            best = least;
        }
    }
    return best;
}

/*
 * The resolution of the low-water marks of an oscillating series. On average, a low is this far below the nearer of its
 * two neighbours, and the true minimum is at most as far below the low. If the sampling beats with the oscillation, the
 * lows rise by up to that, and fall back at the end of the beat.
 */
static gdouble
resolution_of_lows(const gdouble *values, gsize n)
{
    gdouble sum = 0;
    gsize lows = 0;

    for (gsize i = 1; i + 1 < n; i++) {
        if (values[i] >= values[i - 1] || values[i] > values[i + 1])
            continue;
        sum += MIN(values[i - 1], values[i + 1]) - values[i];
        lows++;
    }
    return lows > 0 ? sum / (gdouble)lows : 0;
}

/* The standard error of the slope of a random walk, such as the number of objects that have leaked; 0 if the values
 * revert to their line. */
static gdouble
walk_error(const gdouble *values, gsize n, gdouble span)
{
    gdouble steps, variance = wander(values, n, &steps);

    return variance >= DRAWN_BACK * steps ? sqrt(WALK_SLOPE * MAX(variance, steps)) / span : 0;
}

static void
look_at(const gdouble *times, const gdouble *values, gsize n, guint among, DoctorTrend *trend)
{
    static const gdouble exact[TREND_POINTS];
    gdouble at[TREND_POINTS] = {0}, value[TREND_POINTS] = {0};
    GrowthRow row = {0};
    gdouble least, error, either, span, by_chance, risen = 0;
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
    either = MAX(error, walk_error(value, kept, span));
    by_chance = MAX(chance_rise(values, n, allowed_chance(span, among), &risen), resolution_of_lows(values, n));
    trend->rate = row.slope;
    trend->error = error;
    trend->low = row.slope - Z95 * either;
    trend->high = row.slope + Z95 * either;
    trend->onset = find_onset(at, value, kept);
    trend->detectable = MAX(MAX(least, by_chance) / span, Z_ALARM * error);
    trend->recent = recent_rate(at, value, kept);
    trend->slows = trend->recent < TREND_SLOWER * row.slope;
    trend->grows = !has_ended(value, kept) && (row.verdict == GROWTH_STILL_GROWING || row.verdict == GROWTH_PLATEAU) &&
                   row.slope > (trend->slows ? Z95 : Z_ALARM) * error && row.slope * span >= least &&
                   trend->last - trend->first >= least && risen > by_chance;
}

static gdouble
median_slope(const gdouble *times, const gdouble *values, gsize n)
{
    static const gdouble exact[TREND_POINTS];
    gdouble at[TREND_POINTS] = {0}, value[TREND_POINTS] = {0};
    GrowthRow row = {0};
    gsize kept = thin(times, n, at);

    thin(values, n, value);
    growth_analyse(at, value, exact, kept, &row);
    return row.slope;
}

/* Whether the second half continues to slow down like the first: a fill at a speed proportional to what is missing
 * loses the same share of its speed in each quarter, and steady growth loses none. The threshold is the geometric mean
 * of both. */
static gboolean
goes_on_filling(const gdouble *times, const gdouble *values, gsize n)
{
    gsize half = n / 2, quarter = half + (n - half) / 2;
    gdouble before = median_slope(times, values, half), after = median_slope(times + half, values + half, n - half);
    gdouble third = median_slope(times + half, values + half, quarter - half);
    gdouble fourth = median_slope(times + quarter, values + quarter, n - quarter);

    return after > 0 && after < TREND_SLOWER * before && fourth < pow(after / before, 0.25) * third;
}

/* Takes the trend of the second half if it grows steadily, which a faster start may hide. Since this is a second test,
 * it must also exceed a random walk. */
static void
take_tail(const gdouble *times, const gdouble *values, gsize n, guint among, DoctorTrend *trend)
{
    gsize first = n / 2;
    DoctorTrend tail;

    if (n - first < FEWEST_OF_TAIL)
        return;
    look_at(times + first, values + first, n - first, among, &tail);
    gdouble error = (tail.high - tail.low) / 2 / Z95;
    gdouble chance = allowed_chance(times[n - 1] - times[first], among);
    if (!tail.grows || tail.slows || tail.rate < significance_quantile(chance, NORMAL) * error ||
        goes_on_filling(times, values, n) || tail.recent < TREND_STEADY * tail.rate ||
        tail.last - tail.first < LEAST_OF_TAIL)
        return;
    tail.behind = TRUE;
    tail.detectable = MIN(tail.detectable, trend->detectable);
    *trend = tail;
}

void
doctor_trend_among(const gdouble *times, const gdouble *values, gsize n, guint among, DoctorTrend *trend)
{
    look_at(times, values, n, among, trend);
    if (!trend->grows || trend->slows)
        take_tail(times, values, n, among, trend);
}

void
doctor_trend(const gdouble *times, const gdouble *values, gsize n, DoctorTrend *trend)
{
    doctor_trend_among(times, values, n, 1, trend);
}

void
doctor_trend_widen(DoctorTrend *trend, gdouble variance, gdouble seconds)
{
    gdouble half = (trend->high - trend->low) / 2;

    if (variance <= 0 || seconds <= 0)
        return;
    half = MAX(half, Z95 * sqrt(trend->error * trend->error + WALK_SLOPE * variance / seconds / seconds));
    trend->low = trend->rate - half;
    trend->high = trend->rate + half;
}

void
doctor_trend_doubt(DoctorTrend *trend, const DoctorTurnover *turnover, gdouble seconds, guint among)
{
    gdouble turned = (turnover->births + turnover->deaths) / 2;

    if (turnover->live <= 0 || seconds <= 0)
        return;
    gdouble variance = -2 * turnover->live * expm1(-turned / turnover->live);
    trend->grows &= trend->rate * seconds >
                    significance_quantile(allowed_chance(seconds, among), NORMAL) * sqrt(variance) * turnover->size;
}

/* Correlates HELD with what was allocated in the last MEMORY of PARTS parts of the watch. */
static gdouble
correlate_load(const gdouble *held, const gdouble *made, gsize parts, gsize memory, gsize longest, DoctorLoad *load)
{
    gdouble rates[WANDER_PARTS];
    gsize n = 0;

    for (gsize i = longest; i <= parts; i++)
        rates[n++] = made[i] - made[i - memory];
    load->from = (rates[0] + rates[1] + rates[2]) / 3 / (gdouble)memory;
    load->to = (rates[n - 1] + rates[n - 2] + rates[n - 3]) / 3 / (gdouble)memory;
    return doctor_correlation(held + longest, rates, n);
}

gboolean
doctor_follows(const gdouble *times, const gdouble *values, const gdouble *made, gsize n, DoctorLoad *load)
{
    enum { LONGEST = 8, FEWEST_PARTS = 26 }; /* a busy machine misses some moments of a watch */
    gdouble held[WANDER_PARTS + 1], all[WANDER_PARTS + 1], best = 0;
    gsize parts = MIN(n, WANDER_PARTS + 1) - 1;

    if (n <= FEWEST_PARTS || values[n - 1] - values[0] > SURVIVE * (made[n - 1] - made[0]))
        return FALSE;
    for (gsize i = 0; i <= parts; i++) {
        gsize at = i * (n - 1) / parts;
        held[i] = values[at];
        all[i] = made[at];
    }
    for (gsize memory = 1; memory <= LONGEST; memory *= 2) {
        DoctorLoad here;
        gdouble correlation = correlate_load(held, all, parts, memory, LONGEST, &here);
        if (correlation > best && here.to >= (1 + LOAD_LEAST) * here.from) {
            best = correlation;
            *load = here;
        }
    }
    gdouble span = times[n - 1] - times[0], part = span / (gdouble)parts;
    load->from /= part;
    load->to /= part;
    return best >= IN_STEP && values[n - 1] - values[0] <= (load->to - load->from) * LONGEST_STAY * span;
}

/* Replaces VALUES by their residuals after regression on a constant and X. */
static void
take_out(const gdouble *x, gdouble *values, gsize n)
{
    gdouble mean_x = 0, mean = 0, xx = 0, xy = 0;

    for (gsize i = 0; i < n; i++) {
        mean_x += x[i] / (gdouble)n;
        mean += values[i] / (gdouble)n;
    }
    for (gsize i = 0; i < n; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (values[i] - mean);
    }
    for (gsize i = 0; i < n; i++)
        values[i] -= mean + (xx > 0 ? xy / xx : 0) * (x[i] - mean_x);
}

/* The slope of the regression of VALUE on TIME, whose mean is 0; SQUARES is set to the sum of the squares of TIME. */
static gdouble
slope_of(const gdouble *time, const gdouble *value, gsize n, gdouble *squares)
{
    gdouble products = 0;

    *squares = 0;
    for (gsize i = 0; i < n; i++) {
        *squares += time[i] * time[i];
        products += time[i] * value[i];
    }
    return *squares > 0 ? products / *squares : 0;
}

gboolean
doctor_outgrows(const gdouble *times, const gdouble *values, const gdouble *load, gsize n, gdouble noise)
{
    gdouble time[TREND_POINTS] = {0}, value[TREND_POINTS] = {0}, other[TREND_POINTS] = {0};
    gdouble all, left, squares = 0;

    if (n < FEWEST_OF_TAIL)
        return FALSE;
    gsize kept = thin(times, n, time);
    thin(values, n, value);
    thin(load, n, other);
    gdouble span = time[kept - 1] - time[0], middle = time[0] + span / 2;
    for (gsize i = 0; i < kept; i++)
        time[i] -= middle;
    gdouble rate = slope_of(time, value, kept, &all);
    take_out(other, time, kept);
    take_out(other, value, kept);
    gdouble slope = slope_of(time, value, kept, &left), memory = memory_factor(time, value, kept, slope);
    if (left <= 0)
        return FALSE;
    for (gsize i = 0; i < kept; i++) {
        value[i] -= slope * time[i];
        squares += value[i] * value[i];
    }
    /* The more of the variation of time is also that of the load, the less certain is the slope. */
    gdouble error =
        MAX(sqrt(squares / (gdouble)(kept - 3) / left) * memory, walk_error(value, kept, span) * sqrt(all / left));
    error = MAX(error, sqrt(noise * (gdouble)kept / span / left));
    return slope > Z_ALARM * error && slope >= TREND_SLOWER * rate;
}

gdouble
doctor_turnover_noise(const DoctorTurnover *turnover, gdouble seconds)
{
    gdouble live = turnover->live, died = turnover->deaths;

    return died > 0 ? 2 * seconds * MIN(died, live * live / died) * turnover->size * turnover->size : 0;
}
