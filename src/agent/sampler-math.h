/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of Poisson sampling by bytes: an allocation of S bytes is sampled with probability 1 - e^(-S/R), R =
 * 2^lg being the period; at period 1 (lg 0) every allocation is. Without libm; async-signal-safe, takes no lock.
 */
#ifndef JESCOPE_AGENT_SAMPLER_MATH_H
#define JESCOPE_AGENT_SAMPLER_MATH_H

#include <stdatomic.h>
#include <stdint.h>

enum { SAMPLER_LG_MAX = 40 }; /* of a period */

/* A source of random numbers that any number of threads draw from at once. */
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

/* The bytes up to and with the one that is sampled next: at least 1. */
int64_t sampler_interval(unsigned lg, double uniform);

/* The probability that an allocation of SIZE bytes is sampled. */
double sampler_probability(uint64_t size, unsigned lg);

/* With which probability a sample that was taken at period 2^FROM stays one at 2^TO >= 2^FROM: the ratio of the two
 * above. */
double sampler_keep(uint64_t size, unsigned from, unsigned to);

/* How many of N independent samples stay where each does with probability P. */
uint64_t sampler_binomial(SamplerRandom *random, uint64_t n, double p);

#endif
