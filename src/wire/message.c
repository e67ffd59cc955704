/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/message.h"

#include <string.h>

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
    if (ctl->type > WIRE_TYPE_STRING || ctl->flags == 0 || (ctl->flags & ~known) != 0)
        return false;
    /* An action cannot be read: a call without arguments would run it. */
    if (ctl->type == WIRE_TYPE_NONE && ctl->flags != WIRE_CTL_WRITE)
        return false;
    if (ctl->type == WIRE_TYPE_STRING && ctl->flags != WIRE_CTL_READ)
        return false;
    return ctl->name[0] != '\0' && memchr(ctl->name, '\0', sizeof(ctl->name)) != NULL;
}

static bool
always_sound(const WireRequest *request)
{
    return true;
}

static bool
stats_is_sound(const WireRequest *request)
{
    return memchr(request->stats.letters, '\0', sizeof(request->stats.letters)) != NULL;
}

bool
wire_lease_is_sound(const WireLeaseRequest *lease)
{
    bool timed = lease->action == WIRE_LEASE_TAKE || lease->action == WIRE_LEASE_RENEW;
    if (lease->action < WIRE_LEASE_TAKE || lease->action > WIRE_LEASE_RELEASE || lease->active > 1 ||
        lease->period > WIRE_LEASE_PERIOD_MAX)
        return false;
    const uint32_t samplers = WIRE_LEASE_JEMALLOC | WIRE_LEASE_JESCOPE;
    if ((lease->flags & ~(WIRE_LEASE_REPLACE | WIRE_LEASE_YIELDS | samplers)) != 0 ||
        (lease->flags & samplers) == samplers)
        return false;
    return !timed || (lease->duration_ms >= 1 && lease->duration_ms <= WIRE_LEASE_MAX_MS);
}

static bool
lease_is_sound(const WireRequest *request)
{
    return wire_lease_is_sound(&request->lease);
}

/* Each name has a WireType digit in front, and the list ends inside the field. */
static bool
sample_is_sound(const WireRequest *request)
{
    const WireSampleRequest *sample = &request->sample;
    const char *name = sample->names;
    const char *end = name + sizeof(sample->names);
    unsigned controls = 0;
    if (sample->names[sizeof(sample->names) - 1] != '\0' || (sample->flags & ~(uint32_t)WIRE_SAMPLE_REFRESH) != 0)
        return false;
    for (; name < end && *name != '\0'; name += strlen(name) + 1) {
        uint32_t type = (uint32_t)(unsigned char)*name - '0';
        if (type < WIRE_TYPE_BOOL || type > WIRE_TYPE_U64 || strlen(name) < 2 ||
            strlen(name) >= WIRE_CONTROL_NAME_MAX - 32 || ++controls > WIRE_SAMPLE_CONTROLS_MAX)
            return false;
    }
    return name < end && controls > 0 && sample->count > 0;
}

bool
wire_sample_name(const char *item, uint32_t arena, char name[static WIRE_CONTROL_NAME_MAX])
{
    const char *star = item[0] == '.' ? NULL : strchr(item, '*');
    const char *head = item[0] == '.' ? "stats.arenas." : item;
    const char *tail = item[0] == '.' ? item : star != NULL ? star + 1 : "";
    const size_t n_head = star != NULL ? (size_t)(star - item) : strlen(head);
    const size_t n_tail = strlen(tail);
    char digits[sizeof("4294967295")];
    size_t at = sizeof(digits);
    for (uint32_t left = arena; (item[0] == '.' || star != NULL) && (left > 0 || at == sizeof(digits)); left /= 10)
        digits[--at] = (char)('0' + left % 10);
    const size_t n_digits = sizeof(digits) - at;
    if (n_head + n_digits + n_tail >= WIRE_CONTROL_NAME_MAX)
        return false;
    memcpy(name, head, n_head);
    memcpy(name + n_head, digits + at, n_digits);
    memcpy(name + n_head + n_digits, tail, n_tail + 1);
    return true;
}

typedef struct {
    size_t size;
    bool takes_descriptor;
    bool (*is_sound)(const WireRequest *request);
} RequestShape;

static const RequestShape request_shapes[] = {
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
    if (received < sizeof(*header) || header->magic != WIRE_MAGIC || header->size != received)
        return WIRE_STATUS_BAD_MESSAGE;
    if (header->op == 0 || header->op >= sizeof(request_shapes) / sizeof(request_shapes[0]))
        return WIRE_STATUS_UNKNOWN_OP;
    /* HELLO negotiates the version, so its header's is not checked. */
    if (header->op != WIRE_OP_HELLO && (header->version < WIRE_VERSION_MIN || header->version > WIRE_VERSION_MAX))
        return WIRE_STATUS_BAD_VERSION;
    const RequestShape *shape = &request_shapes[header->op];
    if (received != shape->size || has_descriptor != shape->takes_descriptor || !shape->is_sound(request))
        return WIRE_STATUS_BAD_MESSAGE;
    return WIRE_STATUS_OK;
}

#define STATUS(name) (UINT32_C(1) << WIRE_STATUS_##name)

typedef struct {
    size_t size;     /* of a whole reply */
    uint32_t whole;  /* statuses of whole replies */
    uint32_t header; /* statuses of replies that are a WireReply alone */
} ReplyShape;

/* Statuses of any reply, in particular of an agent of another version. */
#define MISUNDERSTOOD   (STATUS(UNKNOWN_OP) | STATUS(BAD_MESSAGE) | STATUS(BAD_VERSION))
#define REFUSED_CONTROL (STATUS(NOT_ALLOWED) | STATUS(PROF_DISABLED) | STATUS(CONTROL_FAILED))

static const ReplyShape reply_shapes[] = {
    [WIRE_OP_HELLO] = {sizeof(WireHelloReply), STATUS(OK), STATUS(BAD_MESSAGE) | STATUS(BAD_VERSION)},
    [WIRE_OP_CTL] = {sizeof(WireCtlReply), STATUS(OK), MISUNDERSTOOD | REFUSED_CONTROL},
    [WIRE_OP_DUMP] = {sizeof(WireOutputReply), STATUS(OK),
                      MISUNDERSTOOD | STATUS(PROF_DISABLED) | STATUS(CONTROL_FAILED) | STATUS(BAD_DESCRIPTOR) |
                          STATUS(WRITE_FAILED)},
    [WIRE_OP_STATS] = {sizeof(WireOutputReply), STATUS(OK),
                       MISUNDERSTOOD | STATUS(BAD_DESCRIPTOR) | STATUS(WRITE_FAILED)},
    [WIRE_OP_LEASE] = {sizeof(WireLeaseReply), STATUS(OK) | STATUS(BUSY),
                       MISUNDERSTOOD | STATUS(PROF_DISABLED) | STATUS(CONTROL_FAILED) | STATUS(NO_LEASE)},
    [WIRE_OP_SAMPLE] = {sizeof(WireSampleReply), STATUS(OK), MISUNDERSTOOD | REFUSED_CONTROL},
    [WIRE_OP_LEAVE] = {sizeof(WireReply), STATUS(OK), MISUNDERSTOOD},
};

size_t
wire_reply_size(uint32_t op, uint32_t status)
{
    if (op >= sizeof(reply_shapes) / sizeof(reply_shapes[0]) || status > WIRE_STATUS_WRITE_FAILED)
        return 0;
    const ReplyShape *shape = &reply_shapes[op];
    if ((shape->whole >> status & 1) != 0)
        return shape->size;
    return (shape->header >> status & 1) != 0 ? sizeof(WireReply) : 0;
}

void
wire_answer_begin(WireAnswer *answer, const WireRequest *request, size_t received, WireStatus status, size_t size)
{
    memset(answer, 0, sizeof(*answer));
    if (received >= sizeof(request->header)) {
        answer->reply.header.op = request->header.op;
        answer->reply.header.sequence = request->header.sequence;
    }
    answer->reply.header.magic = WIRE_MAGIC;
    answer->reply.header.version = WIRE_VERSION_MAX;
    answer->reply.header.size = (uint32_t)size;
    answer->reply.status = status;
}
