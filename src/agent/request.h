/* SPDX-License-Identifier: Apache-2.0 */
/* Answers messages. In the agent thread. */
#ifndef JESCOPE_AGENT_REQUEST_H
#define JESCOPE_AGENT_REQUEST_H

#include "agent/descriptor.h"
#include "agent/guest.h"
#include "wire/message.h"

#include <stddef.h>

/*
 * Answers the @received unchecked bytes in @request, with the @descriptor received with them (number -1: none; the
 * caller keeps ownership). Returns the size of the reply in @answer, which is never 0.
 */
size_t request_answer(Guest *guest, const WireRequest *request, size_t received, const Descriptor *descriptor,
                      WireAnswer *answer);

#endif
