/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/message.h"

#include <string.h>

enum { LEASE_MAX_MS_DAYS = 30 };
#define LEASE_MAX_MS ((uint64_t)LEASE_MAX_MS_DAYS * 24 * 60 * 60 * 1000)

static bool
hello_is_sound(const WireRequest *request)
{
    return request->hello.version_min <= request->hello.version_max;
}

static bool
ctl_is_sound(const WireRequest *request)
{
    const WireCtlRequest *ctl = &request->ctl;
    const uint32_t known = WIRE_CTL_READ | WIRE_CTL_WRITE;
    if (ctl->type > WIRE_TYPE_STRING || ctl->flags == 0 || (ctl->flags & ~known) != 0) {
        return false;
    }
    /* There is nothing to read from an action: a call without arguments would run it. */
    if (ctl->type == WIRE_TYPE_NONE && ctl->flags != WIRE_CTL_WRITE) {
        return false;
    }
    if (ctl->type == WIRE_TYPE_STRING && ctl->flags != WIRE_CTL_READ) {
        return false;
    }
    return ctl->name[0] != '\0' && memchr(ctl->name, '\0', sizeof ctl->name) != NULL;
}

static bool
always_sound(const WireRequest *request)
{
    return true;
}

static bool
stats_is_sound(const WireRequest *request)
{
    return memchr(request->stats.letters, '\0', sizeof request->stats.letters) != NULL;
}

static bool
lease_is_sound(const WireRequest *request)
{
    const WireLeaseRequest *lease = &request->lease;
    bool timed = lease->action == WIRE_LEASE_TAKE || lease->action == WIRE_LEASE_RENEW;
    if (lease->action < WIRE_LEASE_TAKE || lease->action > WIRE_LEASE_RELEASE || lease->active > 1) {
        return false;
    }
    if ((lease->flags & ~(uint32_t)WIRE_LEASE_REPLACE) != 0) {
        return false;
    }
    return !timed || (lease->duration_ms >= 1 && lease->duration_ms <= LEASE_MAX_MS);
}

/* A WireType digit and a name for each, and an end inside the field. */
static bool
sample_is_sound(const WireRequest *request)
{
    const WireSampleRequest *sample = &request->sample;
    const char *name = sample->names;
    const char *end = name + sizeof sample->names;
    unsigned controls = 0;
    if (sample->names[sizeof sample->names - 1] != '\0' || (sample->flags & ~(uint32_t)WIRE_SAMPLE_REFRESH) != 0) {
        return false;
    }
    for (; name < end && *name != '\0'; name += strlen(name) + 1) {
        uint32_t type = (uint32_t)(unsigned char)*name - '0';
        if (type < WIRE_TYPE_BOOL || type > WIRE_TYPE_U64 || strlen(name) < 2 ||
            strlen(name) >= WIRE_CONTROL_NAME_MAX - 32 || ++controls > WIRE_SAMPLE_CONTROLS_MAX) {
            return false;
        }
    }
    return name < end && controls > 0 && sample->count > 0;
}

typedef struct {
    size_t size;
    bool takes_descriptor;
    bool (*is_sound)(const WireRequest *request);
} Shape;

static const Shape shapes[] = {
    [WIRE_OP_HELLO] = {sizeof(WireHelloRequest), false, hello_is_sound},
    [WIRE_OP_CTL] = {sizeof(WireCtlRequest), false, ctl_is_sound},
    [WIRE_OP_DUMP] = {sizeof(WireDumpRequest), true, always_sound},
    [WIRE_OP_STATS] = {sizeof(WireStatsRequest), true, stats_is_sound},
    [WIRE_OP_LEASE] = {sizeof(WireLeaseRequest), false, lease_is_sound},
    [WIRE_OP_SAMPLE] = {sizeof(WireSampleRequest), false, sample_is_sound},
    [WIRE_OP_LEAVE] = {sizeof(WireLeaveRequest), false, always_sound},
};

WireStatus
wire_request_check(const WireRequest *request, size_t received, bool has_descriptor)
{
    const WireHeader *header = &request->header;
    if (received < sizeof *header || header->magic != WIRE_MAGIC || header->size != received) {
        return WIRE_STATUS_BAD_MESSAGE;
    }
    if (header->op == 0 || header->op >= sizeof shapes / sizeof shapes[0]) {
        return WIRE_STATUS_UNKNOWN_OP;
    }
    /* HELLO is what settles the version, so its own header's is not judged. */
    if (header->op != WIRE_OP_HELLO && (header->version < WIRE_VERSION_MIN || header->version > WIRE_VERSION_MAX)) {
        return WIRE_STATUS_BAD_VERSION;
    }
    const Shape *shape = &shapes[header->op];
    if (received != shape->size || has_descriptor != shape->takes_descriptor || !shape->is_sound(request)) {
        return WIRE_STATUS_BAD_MESSAGE;
    }
    return WIRE_STATUS_OK;
}

void
wire_answer_begin(WireAnswer *answer, const WireRequest *request, size_t received, WireStatus status, size_t size)
{
    memset(answer, 0, sizeof *answer);
    if (received >= sizeof request->header) {
        answer->reply.header.op = request->header.op;
        answer->reply.header.sequence = request->header.sequence;
    }
    answer->reply.header.magic = WIRE_MAGIC;
    answer->reply.header.version = WIRE_VERSION_MAX;
    answer->reply.header.size = (uint32_t)size;
    answer->reply.status = status;
}
