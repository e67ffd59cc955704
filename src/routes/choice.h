/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a sampler in a request, which is jescope's own addition in every dialect. Thread safe. */
#ifndef JESCOPE_ROUTES_CHOICE_H
#define JESCOPE_ROUTES_CHOICE_H

#include "routes/query.h"

/* For a route's table of parameters. */
#define CHOICE_SAMPLER_ROW                                                                                             \
    {                                                                                                                  \
        "sampler", "auto|jemalloc|jescope",                                                                            \
            "what samples: jemalloc's profiler, or jescope's own sampler; auto (default): jemalloc's where it can "    \
            "profile"                                                                                                  \
    }

/* What completes "it must be ..." for another word. */
extern const char choice_sampler_must[];

/* WIRE_SAMPLER_AUTO for one that is absent. False: another word. */
bool choice_parse(const QueryValue *given, WireSampler *sampler);

/* The parameter "sampler" of a query; OUTCOME_INVALID: another word. */
Outcome choice_read(const char *query, WireSampler *sampler, Failure *failure);

/* Whether the target can be asked for CHOICE; gives jescope's own sampler its memory. */
Outcome choice_prepare(const RouteHost *host, const SamplerChoice *choice, Failure *failure);

/* The same, and CHOICE samples from now on, once prof.active is set: permanently. */
Outcome choice_make(const RouteHost *host, const SamplerChoice *choice, Failure *failure);

#endif
