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
    QUERY_LONG, /* there, but more than fits: the value is its beginning */
} QueryState;

typedef struct {
    QueryState state;
    char text[QUERY_VALUE_MAX]; /* decoded: "%41" and '+' for a blank; a "%" that begins no byte, or that of a NUL,
                                   stays */
} QueryValue;

/* The first NAME of QUERY ("a=1&b=2", split at '&' alone; names are encoded as well). */
QueryState query_find(const char *query, const char *name, QueryValue *value);

/* The first of a form of SIZE bytes, or fewer if there is a NUL among them. */
QueryState query_find_in(const char *text, size_t size, const char *name, QueryValue *value);

/* The name of the parameter at *at, which is moved to the next one; false: none before END. There is no NUL between
 * them. */
bool query_next(const char **at, const char *end, QueryValue *name);

#endif
