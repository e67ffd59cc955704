/* SPDX-License-Identifier: Apache-2.0 */
/* A client's choice of the sampler: which one, and the memory of jescope's own. libc only, allocates nothing. */
#ifndef JESCOPE_WIRE_SAMPLER_CHOICE_H
#define JESCOPE_WIRE_SAMPLER_CHOICE_H

#include "wire/outcome.h"
#include "wire/wire.h"

#include <stdbool.h>

typedef struct {
    WireSampler sampler;
    uint64_t memory; /* bytes of WIRE_SAMPLER_MEMORY_CONTROL; 0: unchanged */
} SamplerChoice;

/* The words for a WireSampler: "auto", "jemalloc", "jescope"; NULL at the end. */
extern const char *const sampler_choice_words[];

/* The flags of a lease that asks for SAMPLER. */
uint32_t sampler_choice_flags(WireSampler sampler);

/* Whether the process that sent HELLO supports CHOICE: OUTCOME_DONE, or FAILURE says why not, without naming the
 * process. */
Outcome sampler_choice_check(const SamplerChoice *choice, const WireHelloReply *hello, Failure *failure);

/* What jescope's own sampler needs and the process that sent HELLO lacks, as a clause; NULL: nothing is known to be
 * missing. */
const char *sampler_choice_needs(const WireHelloReply *hello);

#endif
