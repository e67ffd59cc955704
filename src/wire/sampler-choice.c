/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/sampler-choice.h"

enum { PROFILER = WIRE_FLAG_CONFIG_PROF | WIRE_FLAG_OPT_PROF };

const char *const sampler_choice_words[] = {
    [WIRE_SAMPLER_AUTO] = "auto", [WIRE_SAMPLER_JEMALLOC] = "jemalloc", [WIRE_SAMPLER_JESCOPE] = "jescope", NULL};

uint32_t
sampler_choice_flags(WireSampler sampler)
{
    static const uint32_t flags[] = {
        [WIRE_SAMPLER_JEMALLOC] = WIRE_LEASE_JEMALLOC, [WIRE_SAMPLER_JESCOPE] = WIRE_LEASE_JESCOPE};
    return flags[sampler];
}

const char *
sampler_choice_needs(const WireHelloReply *hello)
{
    static const char *const needs[] = {
        [WIRE_SAMPLER_NO_HOOKS] = "jescope's own sampler needs jemalloc 5.2.0 to 5.3.1",
        [WIRE_SAMPLER_NO_UNWINDER] = "jescope's own sampler needs glibc 2.35 or later on x86-64 or AArch64",
        [WIRE_SAMPLER_ODD_SIZES] = "jescope's own sampler does not know the size classes of this jemalloc",
        [WIRE_SAMPLER_NO_ENDS] =
            "jescope's own sampler cannot follow the ends of this program's threads, and would not be "
            "safe in it",
        [WIRE_SAMPLER_NO_AGENT] = "jescope's own sampler must be inside the process; bring it in with 'jescope attach "
                                  "PID'",
    };
    const uint32_t obstacle = hello->sampler_obstacle;
    return obstacle < sizeof(needs) / sizeof(needs[0]) ? needs[obstacle] : NULL;
}

static Outcome
check_sampler(WireSampler sampler, const WireHelloReply *hello, Failure *failure)
{
    if (sampler == WIRE_SAMPLER_JESCOPE && (hello->flags & WIRE_FLAG_SAMPLER_READY) == 0) {
        const char *needs = sampler_choice_needs(hello);
        return failure_set(failure, OUTCOME_NO_PROFILING, "%s, and this is jemalloc %s",
                           needs != NULL ? needs : "jescope's own sampler cannot be used", hello->jemalloc_version);
    }
    if (sampler == WIRE_SAMPLER_JEMALLOC && (hello->flags & PROFILER) != PROFILER)
        return failure_set(failure, OUTCOME_NO_PROFILING,
                           "its jemalloc cannot profile; restart the program under 'jescope run', or leave the choice "
                           "of the sampler out");
    return OUTCOME_DONE;
}

/* The memory of the sampler can be changed only while it is off. */
static Outcome
check_memory(WireSampler sampler, const WireHelloReply *hello, Failure *failure)
{
    const bool serves = (hello->flags & WIRE_FLAG_SAMPLER_SERVES) != 0;
    if (sampler == WIRE_SAMPLER_AUTO && !serves)
        return failure_set(
            failure, OUTCOME_INVALID,
            "jescope's own sampler, which the memory is for, does not sample it; choose that sampler, too: "
            "--sampler=jescope, over HTTP sampler=jescope");
    if (serves && (hello->flags & WIRE_FLAG_PROF_ACTIVE) != 0)
        return failure_set(failure, OUTCOME_BUSY,
                           "jescope's own sampler is on already, and takes another memory only while it is off; "
                           "switch profiling off first");
    return OUTCOME_DONE;
}

Outcome
sampler_choice_check(const SamplerChoice *choice, const WireHelloReply *hello, Failure *failure)
{
    const Outcome result = check_sampler(choice->sampler, hello, failure);
    return result != OUTCOME_DONE || choice->memory == 0 ? result : check_memory(choice->sampler, hello, failure);
}
