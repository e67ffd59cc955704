/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a sampler in a request, jescope's own extension of every dialect. Thread safe. */
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

/* Completes "it must be ..." for an invalid word. */
extern const char choice_sampler_must[];

/* WIRE_SAMPLER_AUTO if absent. False: invalid word. */
bool choice_parse(const QueryValue *given, WireSampler *sampler);

/* Reads the parameter "sampler" of a query; OUTCOME_INVALID: invalid word. */
Outcome choice_read(const char *query, WireSampler *sampler, Failure *failure);

/* Whether the target supports CHOICE; sets the memory of jescope's own sampler. */
Outcome choice_prepare(const RouteHost *host, const SamplerChoice *choice, Failure *failure);

/* The same; permanently makes CHOICE the sampler that setting prof.active starts. */
Outcome choice_make(const RouteHost *host, const SamplerChoice *choice, Failure *failure);

#endif
