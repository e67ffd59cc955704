/* SPDX-License-Identifier: Apache-2.0 */
/* Answers messages. In the agent thread. */
#ifndef JESCOPE_AGENT_REQUEST_H
#define JESCOPE_AGENT_REQUEST_H

#include "agent/descriptor.h"
#include "agent/guest.h"
#include "wire/message.h"

#include <stddef.h>

/*
 * Answers the RECEIVED unchecked bytes in REQUEST, with the DESCRIPTOR received with them (number -1: none; the
 * caller keeps ownership). Returns the size of the reply in ANSWER, which is never 0.
 */
size_t request_answer(Guest *guest, const WireRequest *request, size_t received, const Descriptor *descriptor,
                      WireAnswer *answer);

#endif
