/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the agent that is linked into the program. They are the same as those of a client on the socket and
 * subject to the same rules, but answered in the calling thread, which must hold the turn.
 */
#ifndef JESCOPE_EMBED_ASK_H
#define JESCOPE_EMBED_ASK_H

#include "wire/message.h"
#include "wire/outcome.h"

/* Initializes REQUEST as one of OP with SIZE bytes, all zero. */
void ask_prepare(WireRequest *request, WireOp op, size_t size);

/*
 * Answers REQUEST in ANSWER; OUTCOME_DONE only if the outcome in ANSWER is this, too. Fails without jemalloc, and
 * for a lease that no thread would end.
 */
Outcome ask(const WireRequest *request, int descriptor, WireAnswer *answer, Failure *failure);

/* These implement functions of RouteHostOps; HOST is not used. */
Outcome ask_hello(void *host, WireHelloReply *hello, Failure *failure);
Outcome ask_read(void *host, const char *control, WireType type, WireCtlReply *value, Failure *failure);
Outcome ask_write(void *host, const char *control, WireType type, uint64_t value, Failure *failure);
Outcome ask_lease(void *host, const WireLeaseRequest *wanted, WireLease *lease, Failure *failure);

/* Creates a memory file, at offset 0, with a dump (LETTERS NULL), as jemalloc writes it, or statistics. The caller
 * closes it. */
Outcome ask_for_file(const char *letters, int *descriptor, Failure *failure);

#endif
