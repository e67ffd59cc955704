/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking the agent that is linked: the same requests, judged by the same rules, as those of a client on the socket, but
 * answered in the calling thread. With the turn.
 */
#ifndef JESCOPE_EMBED_ASK_H
#define JESCOPE_EMBED_ASK_H

#include "wire/message.h"
#include "wire/outcome.h"

/* Zeroes @request and makes it one of OP with SIZE bytes. */
void ask_prepare(WireRequest *request, WireOp op, size_t size);

/*
 * Answers @request in @answer: OUTCOME_DONE only if @answer says so, too. Fails where there is no jemalloc, and where a
 * lease is wanted that no thread would end.
 */
Outcome ask(const WireRequest *request, int descriptor, WireAnswer *answer, Failure *failure);

/* As the functions of RouteHostOps; HOST is not looked at. */
Outcome ask_hello(void *host, WireHelloReply *hello, Failure *failure);
Outcome ask_read(void *host, const char *control, WireType type, WireCtlReply *value, Failure *failure);
Outcome ask_write(void *host, const char *control, WireType type, uint64_t value, Failure *failure);
Outcome ask_lease(void *host, const WireLeaseRequest *wanted, WireLease *lease, Failure *failure);

/* A dump (@letters NULL), as jemalloc writes it, or statistics, in a memory file at offset 0: the caller's to close. */
Outcome ask_for_file(const char *letters, int *descriptor, Failure *failure);

#endif
