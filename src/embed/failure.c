/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/failure.h"

#include "wire/sampler-choice.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PUBLIC_CODE(name, number) _Static_assert(JESCOPE_##name == (number), "the numbers of jescope.h stay");
#include "wire/outcomes.def"

int
failure_publish(Outcome outcome, const Failure *failure, JescopeError *error)
{
    static const JescopeCode codes[] = {
#define OUTCOME(name, wire, http, exit, public, ...) [OUTCOME_##name] = JESCOPE_##public,
#include "wire/outcomes.def"
    };
    _Static_assert(sizeof(failure->why) == sizeof(error->message), "a sentence fits");
    if (outcome != OUTCOME_DONE && error != NULL) {
        error->code = (int)codes[outcome];
        error->error = failure->error;
        memcpy(error->message, failure->why, sizeof(error->message));
    }
    return (int)codes[outcome];
}

const char *
jescope_code_name(int code)
{
    static const char *const names[] = {
#define PUBLIC_CODE(name, number) [number] = "JESCOPE_" #name,
#include "wire/outcomes.def"
    };
    bool known = code >= 0 && (size_t)code < sizeof(names) / sizeof(names[0]);
    return known ? names[code] : "unknown";
}

Outcome
failure_set_no_jemalloc(Failure *failure)
{
    return failure_set(
        failure, OUTCOME_NO_JEMALLOC,
        "no jemalloc serves this process; link it, or start the program with LD_PRELOAD=libjemalloc.so.2");
}

Outcome
failure_set_no_profiling(Failure *failure, const Allocator *allocator, WireSamplerObstacle obstacle)
{
    const WireHelloReply hello = {.sampler_obstacle = obstacle};
    const char *needs = sampler_choice_needs(&hello);
    const char *and = needs != NULL ? "; " : "";
    needs = needs != NULL ? needs : "";
    if ((allocator->flags & WIRE_FLAG_CONFIG_PROF) == 0) {
        return failure_set(failure, OUTCOME_NO_PROFILING,
                           "jemalloc %s was built without profiling; use one configured with --enable-prof%s%s",
                           allocator->version, and, needs);
    }
    char prefix[WIRE_PREFIX_MAX] = "";
    for (size_t i = 0; i + 1 < sizeof(prefix) && allocator->prefix[i] != '\0'; i++) {
        char c = allocator->prefix[i];
        prefix[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    return failure_set(failure, OUTCOME_NO_PROFILING,
                       "jemalloc was started without prof:true; restart the program with "
                       "%sMALLOC_CONF=prof:true,prof_active:false%s%s",
                       prefix, and, needs);
}

Outcome
failure_set_busy(Failure *failure, uint64_t remaining_ms)
{
    if (failure != NULL) {
        char pid[16];
        snprintf(pid, sizeof(pid), "%d", (int)getpid());
        failure->error = 0;
        outcome_describe_busy(failure->why, "this process", pid, remaining_ms);
    }
    return OUTCOME_BUSY;
}
