/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of requests: which operation has which size and whether a descriptor comes along. Pure functions over bytes
 * from the other end; thread safe, they neither allocate nor touch errno.
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
 * Judges a request of @received bytes in @request as it came off the socket: header, size, version, enum values, NULs,
 * and that a descriptor is there if and only if the operation takes one. WIRE_STATUS_OK means that every field may be
 * used as declared.
 */
WireStatus wire_request_check(const WireRequest *request, size_t received, bool has_descriptor);

/* Zeroes @answer and makes it the reply of @size bytes to @request, of which @received bytes are known to be there. */
void wire_answer_begin(WireAnswer *answer, const WireRequest *request, size_t received, WireStatus status, size_t size);

#endif
