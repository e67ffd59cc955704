/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler-math.h"

#include <string.h>

enum {
    LOG_TERMS = 12,   /* of the series in z^2 <= 1/9: 1e-12 */
    EXP_HALVINGS = 6, /* e^-x is squared as often */
    BINOMIAL_ONE_BY_ONE = 64,
};

#define LN2 0.69314718055994530942

/* splitmix64: the n-th number of the sequence, so that drawing is one addition. */
static uint64_t
draw(SamplerRandom *random)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = random->seed + golden * atomic_fetch_add_explicit(&random->drawn, 1, memory_order_relaxed);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double
sampler_uniform(SamplerRandom *random)
{
    return (double)((draw(random) >> 11) + 1) * 0x1p-53;
}

double
sampler_minus_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
    double mantissa;
    memcpy(&mantissa, &bits, sizeof(mantissa));
    /* ln m = 2 artanh((m - 1) / (m + 1)) */
    const double z = (mantissa - 1) / (mantissa + 1);
    double power = z;
    double sum = 0;
    for (int i = 0; i < LOG_TERMS; i++) {
        sum += power / (2 * i + 1);
        power *= z * z;
    }
    return -(exponent * LN2 + 2 * sum);
}

double
sampler_one_minus_exp(double x)
{
    if (x > 40)
        return 1;
    /* 1 - e^-2y = q (2 - q) for q = 1 - e^-y, which loses no digits of a small one. */
    const double y = x / (1 << EXP_HALVINGS);
    double q = 0;
    for (int i = 10; i > 0; i--)
        q = y / i * (1 - q);
    for (int i = 0; i < EXP_HALVINGS; i++)
        q *= 2 - q;
    return q;
}

int64_t
sampler_interval(unsigned lg, double uniform)
{
    if (lg == 0)
        return 1;
    const double bytes = sampler_minus_log(uniform) * (double)(UINT64_C(1) << lg);
    const int64_t whole = (int64_t)bytes;
    return whole + ((double)whole < bytes || whole == 0);
}

double
sampler_probability(uint64_t size, unsigned lg)
{
    return lg == 0 ? 1 : sampler_one_minus_exp((double)size / (double)(UINT64_C(1) << lg));
}

double
sampler_keep(uint64_t size, unsigned from, unsigned to)
{
    const double old = sampler_probability(size, from);
    return from >= to || old <= 0 ? 1 : sampler_probability(size, to) / old;
}

/* A normal deviate by the sum of uniform ones; the mean and the variance are exact, which is what estimates need. */
static double
deviate(SamplerRandom *random)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += sampler_uniform(random);
    return sum - 6;
}

static double
square_root(double x)
{
    double root = x < 1 ? 1 : x;
    for (int i = 0; i < 64; i++)
        root = (root + x / root) / 2;
    return root;
}

uint64_t
sampler_binomial(SamplerRandom *random, uint64_t n, double p)
{
    uint64_t kept = 0;
    if (n > BINOMIAL_ONE_BY_ONE) {
        const double mean = (double)n * p;
        const double drawn = mean + deviate(random) * square_root(mean * (1 - p)) + sampler_uniform(random);
        /* Rounded down after a uniform was added: rounded to either neighbour, without bias. */
        return drawn < 0 ? 0 : drawn > (double)n ? n : (uint64_t)drawn;
    }
    for (uint64_t i = 0; i < n; i++)
        kept += sampler_uniform(random) <= p;
    return kept;
}
