/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a request. Pure, thread safe. */
#ifndef JESCOPE_ROUTES_QUERY_H
#define JESCOPE_ROUTES_QUERY_H

#include "routes/routes.h"

enum {
    QUERY_VALUE_MAX = 512, /* of a decoded value, with the NUL */
};

typedef enum {
    QUERY_ABSENT,
    QUERY_BARE, /* "name" without '=': the value is empty */
    QUERY_GIVEN,
    QUERY_LONG, /* present, but too long: the value is its beginning */
} QueryState;

typedef struct {
    QueryState state;
    char text[QUERY_VALUE_MAX]; /* decoded: "%41", and '+' for a blank; an invalid "%" sequence, or that of a NUL, is
                                   kept */
} QueryValue;

/* Finds the first NAME in QUERY ("a=1&b=2", split at '&' only; names are encoded as well). */
QueryState query_find(const char *query, const char *name, QueryValue *value);

/* The same in a form of SIZE bytes, up to a NUL if it contains one. */
QueryState query_find_in(const char *text, size_t size, const char *name, QueryValue *value);

/* The name of the parameter at *at, which is moved to the next one; false: there is none before END. The text contains
 * no NUL. */
bool query_next(const char **at, const char *end, QueryValue *name);

#endif
