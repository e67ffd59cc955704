/* SPDX-License-Identifier: Apache-2.0 */
/* SAMPLE: many numbers in one exchange, for a range of arenas. In the agent thread. */
#ifndef JESCOPE_AGENT_SAMPLE_H
#define JESCOPE_AGENT_SAMPLE_H

#include "agent/guest.h"
#include "wire/wire.h"

/*
 * REQUEST has passed wire_request_check(). Each control is checked like a CTL that reads it; one that is not allowed
 * fails the request. A control that jemalloc does not have is only absent from its rows.
 */
WireStatus sample_answer(const Guest *guest, const WireSampleRequest *request, WireSampleReply *reply);

/* Discards the cached check: jemalloc or its capabilities have changed. */
void sample_forget(void);

#endif
