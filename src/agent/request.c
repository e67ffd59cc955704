/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/request.h"

#include "agent/control.h"
#include "agent/output.h"
#include "agent/sample.h"

#include <string.h>
#include <unistd.h>

/* One request being answered. */
typedef struct {
    Guest *guest;
    const WireRequest *request;
    const Descriptor *descriptor;
    WireAnswer *answer;
} Exchange;

static uint32_t
current_flags(const Guest *guest)
{
    return guest->allocator.flags | (guest->profiling.active ? WIRE_FLAG_PROF_ACTIVE : 0) |
           (guest->profiling.lease.id != 0 ? WIRE_FLAG_LEASED : 0);
}

static WireStatus
answer_hello(const Exchange *exchange)
{
    const WireHelloRequest *request = &exchange->request->hello;
    WireHelloReply *reply = &exchange->answer->hello;
    Guest *guest = exchange->guest;
    if (request->version_min > WIRE_VERSION_MAX || request->version_max < WIRE_VERSION_MIN) {
        return WIRE_STATUS_BAD_VERSION;
    }
    if (allocator_can_profile(&guest->allocator)) {
        profiling_refresh(&guest->profiling, &guest->allocator);
    }
    reply->version = request->version_max < WIRE_VERSION_MAX ? request->version_max : WIRE_VERSION_MAX;
    reply->flags = current_flags(guest);
    reply->pid = guest->process.pid;
    reply->uid = geteuid();
    reply->start_time = guest->process.start_time;
    reply->active_since_ns = guest->profiling.active_since_ns;
    reply->reset_at_ns = guest->profiling.reset_at_ns;
    reply->since = guest->profiling.since;
    reply->agent_clients = guest->n_clients;
    reply->lease = profiling_describe_lease(&guest->profiling);
    process_read_name(reply->name);
    strncpy(reply->agent_version, JESCOPE_VERSION, sizeof reply->agent_version - 1);
    memcpy(reply->jemalloc_version, guest->allocator.version, sizeof reply->jemalloc_version);
    memcpy(reply->prefix, guest->allocator.prefix, sizeof reply->prefix);
    memcpy(reply->found_in, guest->allocator.found_in, sizeof reply->found_in);
    return WIRE_STATUS_OK;
}

static WireStatus
answer_ctl(const Exchange *exchange)
{
    return control_answer(exchange->guest, &exchange->request->ctl, &exchange->answer->ctl);
}

static WireStatus
answer_dump(const Exchange *exchange)
{
    return output_dump(exchange->guest, exchange->descriptor, &exchange->answer->output);
}

static WireStatus
answer_stats(const Exchange *exchange)
{
    return output_stats(exchange->guest, exchange->descriptor, exchange->request->stats.letters,
                        &exchange->answer->output);
}

static WireStatus
answer_lease(const Exchange *exchange)
{
    WireLeaseReply *reply = &exchange->answer->lease;
    Guest *guest = exchange->guest;
    if (!allocator_can_profile(&guest->allocator)) {
        return WIRE_STATUS_PROF_DISABLED;
    }
    int error = 0;
    WireStatus status = profiling_lease(&guest->profiling, &guest->allocator, &exchange->request->lease, &error);
    reply->reply.error = error;
    reply->lease = profiling_describe_lease(&guest->profiling);
    return status;
}

static WireStatus
answer_sample(const Exchange *exchange)
{
    return sample_answer(exchange->guest, &exchange->request->sample, &exchange->answer->sample);
}

static WireStatus
answer_leave(const Exchange *exchange)
{
    Guest *guest = exchange->guest;
    if (allocator_can_profile(&guest->allocator)) {
        profiling_end_lease(&guest->profiling, &guest->allocator);
    }
    guest->leaves = true;
    return WIRE_STATUS_OK;
}

static const struct {
    WireStatus (*answer)(const Exchange *exchange);
    size_t size;                /* of the reply */
    WireStatus also_whole_with; /* a status other than OK whose reply is whole; WIRE_STATUS_OK: none */
} operations[] = {
    [WIRE_OP_HELLO] = {answer_hello, sizeof(WireHelloReply), WIRE_STATUS_OK},
    [WIRE_OP_CTL] = {answer_ctl, sizeof(WireCtlReply), WIRE_STATUS_OK},
    [WIRE_OP_DUMP] = {answer_dump, sizeof(WireOutputReply), WIRE_STATUS_OK},
    [WIRE_OP_STATS] = {answer_stats, sizeof(WireOutputReply), WIRE_STATUS_OK},
    [WIRE_OP_LEASE] = {answer_lease, sizeof(WireLeaseReply), WIRE_STATUS_BUSY},
    [WIRE_OP_SAMPLE] = {answer_sample, sizeof(WireSampleReply), WIRE_STATUS_OK},
    [WIRE_OP_LEAVE] = {answer_leave, sizeof(WireReply), WIRE_STATUS_OK},
};

size_t
request_answer(Guest *guest, const WireRequest *request, size_t received, const Descriptor *descriptor,
               WireAnswer *answer)
{
    WireStatus status = wire_request_check(request, received, descriptor->number >= 0);
    wire_answer_begin(answer, request, received, status, sizeof answer->reply);
    if (status != WIRE_STATUS_OK) {
        return sizeof answer->reply;
    }
    const Exchange exchange = {guest, request, descriptor, answer};
    const uint16_t op = request->header.op;
    status = operations[op].answer(&exchange);
    bool whole = status == WIRE_STATUS_OK || status == operations[op].also_whole_with;
    size_t size = whole ? operations[op].size : sizeof answer->reply;
    answer->reply.status = status;
    answer->reply.header.size = (uint32_t)size;
    return size;
}
