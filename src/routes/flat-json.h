/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON object of scalars, {"for": "30s", "active": true}: the body of a native request (RFC 8259). Reads in place,
 * allocates nothing. Pure, thread safe.
 */
#ifndef JESCOPE_ROUTES_FLAT_JSON_H
#define JESCOPE_ROUTES_FLAT_JSON_H

#include "routes/query.h"

typedef enum {
    FLAT_STRING,
    FLAT_INTEGER,
    FLAT_NUMBER, /* with a fraction or an exponent */
    FLAT_BOOLEAN,
    FLAT_OTHER, /* null, an array or an object, whose end is not searched */
} FlatKind;

typedef struct {
    QueryValue name;
    QueryValue value; /* the characters of a string, else the raw text */
    FlatKind kind;
} FlatMember;

typedef enum {
    FLAT_MEMBER, /* *member is the next one */
    FLAT_END,    /* no further member, and nothing after the object */
    FLAT_BROKEN, /* it is not such an object */
} FlatStep;

typedef struct {
    const char *at;
    const char *end;
    bool begun;
} FlatJson;

/* Whether TEXT is intended as JSON: its first non-blank character opens an object or an array. */
bool flat_json_is_meant(const char *text, size_t size);

void flat_json_begin(FlatJson *json, const char *text, size_t size);

/* Must not be called after a result other than FLAT_MEMBER, or after a member of FLAT_OTHER. */
FlatStep flat_json_next(FlatJson *json, FlatMember *member);

/* Finds the first member NAME. */
QueryState flat_json_find(const char *text, size_t size, const char *name, QueryValue *value);

#endif
