/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/significance.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_EXACT = 1000 };

/* The sum of the terms of the binomial distribution from FIRST on in the direction of STEP, away from the mean, where
 * each is smaller than the one before. */
static gdouble
sum_of_tail(gdouble n, gdouble first, gdouble share, gint step)
{
    static const gdouble NEGLIGIBLE = 1e-16;
    gdouble odds = share / (1 - share), sum = 0;
    gdouble term = exp(lgamma(n + 1) - lgamma(first + 1) - lgamma(n - first + 1) + first * log(share) +
                       (n - first) * log1p(-share));

    for (gdouble k = first; k >= 0 && k <= n && term > sum * NEGLIGIBLE; k += step) {
        sum += term;
        term *= step > 0 ? (n - k) / (k + 1) * odds : k / (n - k + 1) / odds;
    }
    return sum;
}

/* The probability of at least K of N samples by Edgeworth's series to the second order, with corrections for continuity
 * and Sheppard's for the variance (Kolassa and McCullagh 1990, "Edgeworth series for lattice distributions"): constant
 * in time. Beyond FAR standard deviations the series does not hold; by the normal law alone the probability is
 * negligible there, too. */
static gdouble
edgeworth_tail(gdouble n, gdouble k, gdouble share)
{
    static const gdouble FAR = 6;
    const gdouble variance = n * share * (1 - share), sigma = sqrt(variance), z = (k - 0.5 - n * share) / sigma;
    const gdouble skewness = (1 - 2 * share) / sigma, excess = (1 - 6 * share * (1 - share)) / variance;
    const gdouble normal = 0.5 * erfc(z * M_SQRT1_2), density = exp(-z * z / 2) / sqrt(2 * M_PI);
    const gdouble first = skewness / 6 * (z * z - 1);
    const gdouble second = excess / 24 * (pow(z, 3) - 3 * z) +
                           skewness * skewness / 72 * (pow(z, 5) - 10 * pow(z, 3) + 15 * z) - z / (24 * variance);

    return fabs(z) < FAR ? CLAMP(normal + density * (first + second), 0, 1) : normal;
}

gdouble
significance_share(guint64 inside, guint64 outside, gdouble share)
{
    gdouble k = (gdouble)inside, n = k + (gdouble)outside, mean = n * share;

    if (inside == 0)
        return 1;
    /* Each of millions of stacks may have that many samples. */
    if (n > MOST_EXACT)
        return edgeworth_tail(n, k, share);
    return CLAMP(k > mean ? sum_of_tail(n, k, share, 1) : 1 - sum_of_tail(n, k - 1, share, -1), 0, 1);
}

gdouble
significance_binomial(guint64 births, guint64 deaths)
{
    return significance_share(births, deaths, 0.5);
}

/* The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's method. */
static gdouble
beta_fraction(gdouble a, gdouble b, gdouble x)
{
    enum { MOST_TERMS = 300 };
    gdouble c = 1, d = 1 - (a + b) * x / (a + 1), result;

    d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
    result = d;
    for (int m = 1; m <= MOST_TERMS; m++) {
        gdouble before = result;
        const gdouble terms[] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                                 -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            c = 1 + terms[i] / c;
            d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
            result *= d * c;
        }
        if (fabs(result - before) < 1e-12 * fabs(result))
            break;
    }
    return result;
}

/* The probability that Student's t with this many degrees of freedom is larger. */
static gdouble
student_tail(gdouble t, gdouble freedom)
{
    gdouble x = freedom / (freedom + t * t), a = freedom / 2, b = 0.5;
    gdouble front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    gdouble both;

    if (x < (a + 1) / (a + b + 2))
        both = front * beta_fraction(a, b, x) / a;
    else
        both = 1 - front * beta_fraction(b, a, 1 - x) / b;
    return t > 0 ? both / 2 : 1 - both / 2;
}

gdouble
significance_quantile(gdouble p, gdouble freedom)
{
    gdouble low = 0, high = 1;

    while (student_tail(high, freedom) > p && high < 1e9)
        high *= 2;
    for (int i = 0; i < 50; i++) {
        gdouble middle = (low + high) / 2;
        *(student_tail(middle, freedom) > p ? &low : &high) = middle;
    }
    return high;
}

gdouble
significance_spread(const gdouble *values, gsize n)
{
    gdouble increments = (gdouble)n - 1, sum = 0;

    for (gsize i = 1; i < n && n >= 3; i++) {
        gdouble rest = values[i] - values[i - 1] - (values[n - 1] - values[0]) / increments;
        sum += rest * rest;
    }
    return n >= 3 ? sqrt(sum / (increments - 1) * increments) : 0;
}

gdouble
significance_increments(const gdouble *values, gsize n, gdouble bytes_per_sample)
{
    gdouble increments = (gdouble)n - 1;

    if (n < 3 || values[n - 1] <= values[0] || bytes_per_sample <= 0)
        return 1;
    gdouble grown = values[n - 1] - values[0];
    gdouble by_samples = significance_binomial((guint64)MIN(grown / bytes_per_sample, (gdouble)G_MAXUINT32), 0);
    gdouble error = significance_spread(values, n);
    return MAX(by_samples, error > 0 ? student_tail(grown / error, increments - 1) : 0);
}

static int
compare(gconstpointer a, gconstpointer b)
{
    gdouble left = *(const gdouble *)a, right = *(const gdouble *)b;

    return left < right ? -1 : left > right;
}

void
significance_select(const gdouble *p, gsize n, gdouble q, gboolean *accepted)
{
    g_autofree gdouble *sorted = g_memdup2(p, n * sizeof(*p));
    gdouble limit = -1;

    if (n > 0)
        qsort(sorted, n, sizeof(*sorted), compare);
    for (gsize i = 0; i < n; i++)
        if (sorted[i] <= q * (gdouble)(i + 1) / (gdouble)n)
            limit = sorted[i];
    for (gsize i = 0; i < n; i++)
        accepted[i] = p[i] <= limit;
}
