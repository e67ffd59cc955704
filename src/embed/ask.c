/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/ask.h"

#include "agent/sampler.h"

#include "agent/life.h"
#include "agent/request.h"
#include "agent/waker.h"
#include "embed/failure.h"
#include "embed/memory-file.h"
#include "routes/reply.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void
ask_prepare(WireRequest *request, WireOp op, size_t size)
{
    memset(request, 0, sizeof(*request));
    request->header =
        (WireHeader){.magic = WIRE_MAGIC, .version = WIRE_VERSION_MAX, .op = (uint16_t)op, .size = (uint32_t)size};
}

/* The subject of a request, for messages. */
static const char *
subject(const WireRequest *request)
{
    static const char *const subjects[] = {[WIRE_OP_DUMP] = "prof.dump", [WIRE_OP_LEASE] = "prof.active"};
    const uint16_t op = request->header.op;
    if (op == WIRE_OP_CTL)
        return request->ctl.name;
    return op < sizeof(subjects) / sizeof(subjects[0]) && subjects[op] != NULL ? subjects[op] : "the request";
}

/* Whether the request is for a lease that no thread would end. */
static bool
is_lease_without_end(const WireRequest *request)
{
    return request->header.op == WIRE_OP_LEASE && request->lease.action != WIRE_LEASE_RELEASE && !life_is_started();
}

static Outcome
refuse(const WireRequest *request, const WireAnswer *answer, const Allocator *allocator, Failure *failure)
{
    const char *what = subject(request);
    const int why = answer->reply.error;
    const Outcome outcome = outcome_of_status(answer->reply.status);
    switch (outcome) {
    case OUTCOME_DONE:
        return outcome;
    case OUTCOME_NO_PROFILING:
        return failure_set_no_profiling(failure, allocator, sampler_obstacle(allocator));
    case OUTCOME_NOT_ALLOWED:
        return failure_set(failure, outcome,
                           "'%s' may not be used through jescope; docs/protocol.md lists the permitted controls", what);
    case OUTCOME_CONTROL_FAILED:
        if (why == ENOTSUP && strcmp(what, "prof.active") == 0)
            return failure_set_no_profiling(failure, allocator, WIRE_SAMPLER_NO_ENDS);
        return failure_set_error(failure, outcome, why, "jemalloc refused '%s'", what);
    case OUTCOME_BUSY:
        return failure_set_busy(failure, answer->lease.lease.remaining_ms);
    case OUTCOME_NOT_FOUND:
        return failure_set(failure, outcome, "this lease has ended");
    case OUTCOME_SYSTEM:
        return failure_set_error(failure, outcome, why, "cannot write to the memory file");
    default:
        return failure_set(failure, OUTCOME_INVALID, "'%s' was not understood (status %u)", what, answer->reply.status);
    }
}

Outcome
ask(const WireRequest *request, int descriptor, WireAnswer *answer, Failure *failure)
{
    Descriptor borrowed = DESCRIPTOR_NONE;
    Guest *guest = life_guest();
    if (guest == NULL || !guest_examine(guest))
        return failure_set_no_jemalloc(failure);
    if (is_lease_without_end(request)) {
        return failure_set(failure, OUTCOME_NOT_STARTED,
                           "only the library's thread can end it in time; call jescope_start() first");
    }
    descriptor_borrow(&borrowed, descriptor);
    request_answer(guest, request, request->header.size, &borrowed, answer);
    if (request->header.op == WIRE_OP_LEASE)
        waker_wake(); /* the thread may have to wake up earlier than before */
    return refuse(request, answer, &guest->allocator, failure);
}

Outcome
ask_hello(void *host, WireHelloReply *hello, Failure *failure)
{
    WireRequest request;
    WireAnswer answer;
    ask_prepare(&request, WIRE_OP_HELLO, sizeof(request.hello));
    request.hello.version_min = WIRE_VERSION_MIN;
    request.hello.version_max = WIRE_VERSION_MAX;
    Outcome result = ask(&request, -1, &answer, failure);
    if (result == OUTCOME_DONE)
        *hello = answer.hello;
    return result;
}

static Outcome
use_control(const char *control, WireRequest *request, WireCtlReply *value, Failure *failure)
{
    WireAnswer answer;
    if (strlen(control) >= sizeof(request->ctl.name))
        return failure_set(failure, OUTCOME_INVALID, "the name of the control is too long");
    memcpy(request->ctl.name, control, strlen(control));
    Outcome result = ask(request, -1, &answer, failure);
    if (result == OUTCOME_DONE)
        *value = answer.ctl;
    return result;
}

Outcome
ask_read(void *host, const char *control, WireType type, WireCtlReply *value, Failure *failure)
{
    WireRequest request;
    ask_prepare(&request, WIRE_OP_CTL, sizeof(request.ctl));
    request.ctl.flags = WIRE_CTL_READ;
    request.ctl.type = type;
    return use_control(control, &request, value, failure);
}

Outcome
ask_write(void *host, const char *control, WireType type, uint64_t value, Failure *failure)
{
    WireRequest request;
    WireCtlReply none;
    ask_prepare(&request, WIRE_OP_CTL, sizeof(request.ctl));
    request.ctl.flags = WIRE_CTL_WRITE;
    request.ctl.type = type;
    request.ctl.value = value;
    return use_control(control, &request, &none, failure);
}

Outcome
ask_lease(void *host, const WireLeaseRequest *wanted, WireLease *lease, Failure *failure)
{
    WireRequest request;
    WireAnswer answer;
    ask_prepare(&request, WIRE_OP_LEASE, sizeof(request.lease));
    const WireHeader header = request.header;
    request.lease = *wanted;
    request.header = header;
    Outcome result = ask(&request, -1, &answer, failure);
    if (result == OUTCOME_DONE)
        *lease = answer.lease.lease;
    return result;
}

Outcome
ask_for_file(const char *letters, int *descriptor, Failure *failure)
{
    WireRequest request;
    WireAnswer answer;
    if (letters != NULL && strlen(letters) >= sizeof(request.stats.letters)) {
        return failure_set(failure, OUTCOME_INVALID, "too many option letters '%.64s'; the maximum is %d", letters,
                           (int)sizeof(request.stats.letters) - 1);
    }
    int file = memory_file_make();
    if (file < 0)
        return failure_set_error(failure, OUTCOME_SYSTEM, errno, "cannot make a memory file");
    if (letters == NULL) {
        ask_prepare(&request, WIRE_OP_DUMP, sizeof(request.dump));
    } else {
        ask_prepare(&request, WIRE_OP_STATS, sizeof(request.stats));
        memcpy(request.stats.letters, letters, strlen(letters));
    }
    Outcome result = ask(&request, file, &answer, failure);
    if (result != OUTCOME_DONE) {
        close(file);
        return result;
    }
    *descriptor = file;
    return OUTCOME_DONE;
}
