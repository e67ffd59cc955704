/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mathematics of Poisson sampling by bytes: an allocation of S bytes is sampled with probability 1 - e^(-S/R) for
 * the period R = 2^lg; at period 1 (lg 0) every allocation is. Without libm; async-signal-safe, takes no lock.
 */
#ifndef JESCOPE_AGENT_SAMPLER_MATH_H
#define JESCOPE_AGENT_SAMPLER_MATH_H

#include <stdatomic.h>
#include <stdint.h>

enum { SAMPLER_LG_MAX = 40 }; /* of the period */

/* A random number generator that any number of threads may use at the same time. */
typedef struct {
    uint64_t seed;
    atomic_uint_fast64_t drawn;
} SamplerRandom;

/* Uniform in (0, 1]. */
double sampler_uniform(SamplerRandom *random);

/* -ln(x) for x in (0, 1]. */
double sampler_minus_log(double x);

/* 1 - e^(-x) for x >= 0. */
double sampler_one_minus_exp(double x);

/* The number of bytes up to and including the next sampled one: at least 1. */
int64_t sampler_interval(unsigned lg, double uniform);

/* The probability that an allocation of SIZE bytes is sampled. */
double sampler_probability(uint64_t size, unsigned lg);

/* The probability that a sample taken at period 2^FROM remains one at 2^TO >= 2^FROM: the ratio of the two above. */
double sampler_keep(uint64_t size, unsigned from, unsigned to);

/* The number of N independent samples that remain if each remains with probability P. */
uint64_t sampler_binomial(SamplerRandom *random, uint64_t n, double p);

#endif
