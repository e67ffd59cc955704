/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking the agent that is linked: the same requests, judged by the same rules, as those of a client on the socket, but
 * answered in the calling thread. With the turn.
 */
#ifndef JESCOPE_EMBED_ASK_H
#define JESCOPE_EMBED_ASK_H

#include "wire/message.h"

#include <jescope.h>

/* Zeroes @request and makes it one of OP with SIZE bytes. */
void ask_prepare(WireRequest *request, WireOp op, size_t size);

/*
 * Answers @received bytes of @request, which may be anything, in @answer; @size is the answer's. Fails where there is
 * no jemalloc, and where a lease is wanted that no thread would end.
 */
int ask_any(const WireRequest *request, size_t received, int descriptor, WireAnswer *answer, size_t *size,
            JescopeError *error);

/* Answers a @request of ours: JESCOPE_OK only if @answer says so, too. */
int ask(const WireRequest *request, int descriptor, WireAnswer *answer, JescopeError *error);

/* A dump (@letters NULL) or statistics, in a memory file at offset 0: the caller's to close. */
int ask_for_file(const char *letters, int *descriptor, JescopeError *error);

#endif
