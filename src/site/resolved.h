/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A resolved request: its row of the route table and its target. It is self-contained, so that a thread can answer it,
 * repeatedly. Immutable once shared; references are thread-safe.
 */
#ifndef JESCOPE_SITE_RESOLVED_H
#define JESCOPE_SITE_RESOLVED_H

#include "site/site.h"

typedef struct {
    gatomicrefcount references;
    RouteMatch match;
    RouteRequest request; /* as routes receive it: without PREFIX */
    const char *target;   /* as in the path; "": the default one */
    const char *prefix;   /* "/targets/4711", removed from the path; NULL: nothing */
    unsigned grants;      /* RouteGrant */
    guint64 sampler_memory_max;
    Viewer viewer;
    AnswerCoding coding;
    GStringChunk *strings; /* of all of the above */
} Resolved;

/* REQUEST is copied. VIEWER is VIEWER_NONE and CODING ANSWER_PLAIN. */
Resolved *resolved_new(const Site *site, const RouteRequest *request);

/* Resolves the request of EXCHANGE for its client. */
Resolved *resolved_of(const Site *site, const Exchange *exchange);

Resolved *resolved_ref(Resolved *resolved);
void resolved_unref(Resolved *resolved);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Resolved, resolved_unref)

/* The current target; borrowed. NULL like service_lookup(). */
ServiceTarget *resolved_target(const Resolved *resolved, Service *service, GError **error);

/* The work of answering it on a thread, for service_target_submit(); the result is an Answer. Only for a row about a
 * target. WHO is borrowed, see ServiceWork.who. */
ServiceWork resolved_work(Resolved *resolved, const char *who);

/* The answer if no row matched. */
Answer *resolved_answer_unknown(const Resolved *resolved);

/* NULL: the row accepts all parameters of the request. Else the error. */
Answer *resolved_check(const Resolved *resolved);

/* The answer for an error. */
Answer *resolved_answer_error(const GError *error);

#endif
