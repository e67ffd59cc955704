/* SPDX-License-Identifier: Apache-2.0 */
/* Matches paths of requests against the patterns of the route table. They never name files. Pure and thread safe. */
#ifndef JESCOPE_ROUTES_PATH_H
#define JESCOPE_ROUTES_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether PATTERN (Route.pattern) matches PATH. */
bool path_matches(const char *pattern, const char *path);

/* The same for PATH without a trailing slash. */
bool path_matches_open(const char *pattern, const char *path);

/* Copies the component of PATH at INDEX, counted from 0. False, TEXT untouched: there is none, or it does not fit. */
bool path_component(const char *path, unsigned index, char *text, size_t size);

/* The same for a component that is a decimal number. */
bool path_number(const char *path, unsigned index, uint64_t *number);

/* Encodes PATH for a URL: all but unreserved characters and '/' as %XX. Cut at SIZE. */
void path_encode(const char *path, char *text, size_t size);

#endif
