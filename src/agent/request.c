/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/request.h"

#include "agent/control.h"
#include "agent/output.h"
#include "agent/sample.h"
#include "agent/sampler.h"

#include <string.h>
#include <unistd.h>

/* One request being answered. */
typedef struct {
    Guest *guest;
    const WireRequest *request;
    const Descriptor *descriptor;
    WireAnswer *answer;
} Exchange;

static WireStatus
answer_hello(const Exchange *exchange)
{
    const WireHelloRequest *request = &exchange->request->hello;
    WireHelloReply *reply = &exchange->answer->hello;
    Guest *guest = exchange->guest;
    if (request->version_min > WIRE_VERSION_MAX || request->version_max < WIRE_VERSION_MIN)
        return WIRE_STATUS_BAD_VERSION;
    const WireSampler sampler = profiling_sampler(&guest->profiling, &guest->allocator);
    if (sampler != WIRE_SAMPLER_AUTO)
        profiling_refresh(&guest->profiling, &guest->allocator);
    reply->version = request->version_max < WIRE_VERSION_MAX ? request->version_max : WIRE_VERSION_MAX;
    reply->flags = guest->allocator.flags | (guest->profiling.active ? WIRE_FLAG_PROF_ACTIVE : 0) |
                   (guest->profiling.lease.id != 0 ? WIRE_FLAG_LEASED : 0) |
                   (guest->profiling.obstacle == WIRE_SAMPLER_READY ? WIRE_FLAG_SAMPLER_READY : 0) |
                   (sampler == WIRE_SAMPLER_JESCOPE ? WIRE_FLAG_SAMPLER_SERVES : 0);
    reply->sampler_obstacle = guest->profiling.obstacle;
    reply->sampler = sampler_figures();
    reply->pid = guest->process.pid;
    reply->uid = geteuid();
    reply->start_time = guest->process.start_time;
    reply->active_since_ns = guest->profiling.active_since_ns;
    reply->reset_at_ns = guest->profiling.reset_at_ns;
    reply->since = guest->profiling.since;
    reply->agent_clients = guest->n_clients;
    reply->lease = profiling_describe_lease(&guest->profiling);
    process_read_name(reply->name);
    strncpy(reply->agent_version, JESCOPE_VERSION, sizeof(reply->agent_version) - 1);
    memcpy(reply->jemalloc_version, guest->allocator.version, sizeof(reply->jemalloc_version));
    memcpy(reply->prefix, guest->allocator.prefix, sizeof(reply->prefix));
    memcpy(reply->found_in, guest->allocator.found_in, sizeof(reply->found_in));
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
    if (profiling_sampler(&guest->profiling, &guest->allocator) == WIRE_SAMPLER_AUTO)
        return WIRE_STATUS_PROF_DISABLED;
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
    profiling_leave(&guest->profiling, &guest->allocator);
    guest->leaves = true;
    return WIRE_STATUS_OK;
}

static WireStatus (*const operations[])(const Exchange *exchange) = {
    [WIRE_OP_HELLO] = answer_hello, [WIRE_OP_CTL] = answer_ctl,     [WIRE_OP_DUMP] = answer_dump,
    [WIRE_OP_STATS] = answer_stats, [WIRE_OP_LEASE] = answer_lease, [WIRE_OP_SAMPLE] = answer_sample,
    [WIRE_OP_LEAVE] = answer_leave,
};

size_t
request_answer(Guest *guest, const WireRequest *request, size_t received, const Descriptor *descriptor,
               WireAnswer *answer)
{
    WireStatus status = wire_request_check(request, received, descriptor->number >= 0);
    wire_answer_begin(answer, request, received, status, sizeof(answer->reply));
    if (status != WIRE_STATUS_OK)
        return sizeof(answer->reply);
    const Exchange exchange = {guest, request, descriptor, answer};
    const uint16_t op = request->header.op;
    status = operations[op](&exchange);
    size_t size = wire_reply_size(op, status);
    answer->reply.status = status;
    answer->reply.header.size = (uint32_t)size;
    return size;
}
