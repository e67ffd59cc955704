/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DUMP and STATS: output to the client's memfd. In the agent thread.
 *
 * Only a memfd is accepted: writing to it cannot block, it has no file name, and it vanishes with its last descriptor.
 */
#ifndef JESCOPE_AGENT_OUTPUT_H
#define JESCOPE_AGENT_OUTPUT_H

#include "agent/descriptor.h"
#include "agent/guest.h"
#include "wire/wire.h"

/* Replace the content of DESCRIPTOR by a heap profile, or by the statistics with the option LETTERS. */
WireStatus output_dump(const Guest *guest, const Descriptor *descriptor, WireOutputReply *reply);
WireStatus output_stats(const Guest *guest, const Descriptor *descriptor, const char *letters, WireOutputReply *reply);

#endif
