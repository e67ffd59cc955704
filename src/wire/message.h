/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of requests: the size of each operation, and whether it has a descriptor. Pure functions over untrusted
 * bytes; thread safe, they neither allocate nor touch errno.
 */
#ifndef JESCOPE_WIRE_MESSAGE_H
#define JESCOPE_WIRE_MESSAGE_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>

/* Room for any request, aligned for all of them. */
typedef union {
    WireHeader header;
    WireHelloRequest hello;
    WireCtlRequest ctl;
    WireDumpRequest dump;
    WireStatsRequest stats;
    WireLeaseRequest lease;
    WireSampleRequest sample;
    WireLeaveRequest leave;
    unsigned char bytes[WIRE_MESSAGE_MAX];
} WireRequest;

/* Room for any reply. */
typedef union {
    WireReply reply;
    WireHelloReply hello;
    WireCtlReply ctl;
    WireOutputReply output;
    WireLeaseReply lease;
    WireSampleReply sample;
} WireAnswer;

/*
 * Checks a request of RECEIVED bytes in REQUEST as received: header, size, version, enum values, NULs, and that there
 * is a descriptor if and only if the operation takes one. WIRE_STATUS_OK means that every field may be used as
 * declared.
 */
WireStatus wire_request_check(const WireRequest *request, size_t received, bool has_descriptor);

/* Stores in NAME the control that ITEM, a name of WireSampleRequest.names after its type digit, means for arena ARENA.
 * False: it does not fit. */
bool wire_sample_name(const char *item, uint32_t arena, char name[static WIRE_CONTROL_NAME_MAX]);

/* Whether all but the header of REQUEST may be used as declared. */
bool wire_lease_is_sound(const WireLeaseRequest *request);

/*
 * The size of a reply to OP with STATUS; 0: the protocol has no such reply. The only table of legal replies: the
 * agent sends no other, and a client rejects any other as malformed.
 */
size_t wire_reply_size(uint32_t op, uint32_t status);

/* Zeroes ANSWER and makes it the reply of SIZE bytes to REQUEST, of which RECEIVED bytes are valid. */
void wire_answer_begin(WireAnswer *answer, const WireRequest *request, size_t received, WireStatus status, size_t size);

#endif
