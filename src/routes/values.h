/* SPDX-License-Identifier: Apache-2.0 */
/* Parses values independently of the host's locale. Pure and thread safe. False leaves the value untouched. */
#ifndef JESCOPE_ROUTES_VALUES_H
#define JESCOPE_ROUTES_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first N characters of TEXT: digits with at most one decimal point. */
bool value_decimal(const char *text, size_t n, double *number);

/* Digits only. */
bool value_unsigned(const char *text, uint64_t *number);

/* The same with an optional '-'. */
bool value_signed(const char *text, int64_t *number);

/* "true", "yes", "on", "1" and their opposites. */
bool value_boolean(const char *text, bool *value);

/* Milliseconds from "5m", "90s", "1h30m", "250ms", "2d", "1.5s": units from large to small, each at most once. */
bool value_duration(const char *text, double *ms);

/* Bytes from "512KiB", "64K", "1.5MiB", "4096": K, M, G and T are powers of 1024, with "iB" or "B" after them or
 * nothing; the case does not matter. Below 2^63. */
bool value_size(const char *text, uint64_t *bytes);

/* The exponent of the power of two nearest to NUMBER, which is not 0, on a logarithmic scale. */
unsigned value_log2_rounded(uint64_t number);

/* The edit distance of A and B in letters: insertions, deletions, replacements (Levenshtein). Large for names over 32
 * letters. */
unsigned value_distance(const char *a, const char *b);

#endif
