/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/choice.h"

#include "wire/recorder.h"

#include <string.h>

const char choice_sampler_must[] = "auto, jemalloc or jescope";

bool
choice_parse(const QueryValue *given, WireSampler *sampler)
{
    *sampler = WIRE_SAMPLER_AUTO;
    for (unsigned i = 0; given->state != QUERY_ABSENT; i++) {
        if (sampler_choice_words[i] == NULL)
            return false;
        *sampler = (WireSampler)i;
        if (strcmp(sampler_choice_words[i], given->text) == 0)
            break;
    }
    return true;
}

Outcome
choice_read(const char *query, WireSampler *sampler, Failure *failure)
{
    QueryValue given;
    query_find(query, "sampler", &given);
    if (choice_parse(&given, sampler))
        return OUTCOME_DONE;
    return failure_set(failure, OUTCOME_INVALID, "sampler: invalid value '%.64s'; it must be %s", given.text,
                       choice_sampler_must);
}

Outcome
choice_prepare(const RouteHost *host, const SamplerChoice *choice, Failure *failure)
{
    const RecorderControls controls = {host->ops->hello, host->ops->lease, host->ops->write, host->data};
    return recorder_choose(choice, &controls, failure);
}

Outcome
choice_make(const RouteHost *host, const SamplerChoice *choice, Failure *failure)
{
    const Outcome result = choice_prepare(host, choice, failure);
    if (result != OUTCOME_DONE || choice->sampler == WIRE_SAMPLER_AUTO)
        return result;
    return host->ops->write(host->data, WIRE_SAMPLER_CONTROL, WIRE_TYPE_UNSIGNED, choice->sampler, failure);
}
