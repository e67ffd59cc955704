/* SPDX-License-Identifier: Apache-2.0 */
/* What a request is about: a page of the service's, or a route of one target. */
#ifndef JESCOPE_HTTP_MEANING_H
#define JESCOPE_HTTP_MEANING_H

#include "http/service-routes.h"

enum {
    MEANING_TARGET_MAX = 64,
    MEANING_PREFIX_MAX = 80,
};

typedef struct {
    const ServiceRoute *page; /* NULL: it is about a target */
    const Route *route;       /* NULL: the dialects have an answer of their own to it, which needs no target */
    unsigned dialects;
    RouteRole needs;
    RouteRequest request;            /* as the routes see it: without the prefix. Borrowed */
    char target[MEANING_TARGET_MAX]; /* "": the default one */
    char prefix[MEANING_PREFIX_MAX]; /* "/targets/4711", cut off the path; "": nothing */
} Meaning;

/* MEANING borrows the strings of REQUEST. */
void meaning_find(const RouteRequest *request, unsigned dialects, Meaning *meaning);

/* The answer where there is neither page nor route. */
Answer *meaning_answer_unknown(const Meaning *meaning);

#endif
