/* SPDX-License-Identifier: Apache-2.0 */
/* The dumps that are kept: the last few, within limits of number and size. With the turn. */
#ifndef JESCOPE_EMBED_KEPT_H
#define JESCOPE_EMBED_KEPT_H

#include "embed/capture.h"
#include "routes/routes.h"

/* 0: the default. Above them the oldest are removed. */
void kept_limit(unsigned n, uint64_t bytes);

/* Takes a dump and keeps it; with wanted->capture.symbolized it waits for its names (kept_name()). */
Outcome kept_take(const CaptureWanted *wanted, RouteDump *dump, Failure *failure);

/* Newest first; how many. */
size_t kept_list(RouteDump *rows, size_t n);

/* A copy in a memory file, the caller's to close. *NAMELESS: it waits for its names. */
Outcome kept_open(uint64_t id, int *descriptor, bool *nameless, Failure *failure);

/* Replaces the content of the dump ID by that of @descriptor, which is closed: the same with names. Nothing happens if
 * it is not kept any more. */
void kept_name(uint64_t id, int descriptor);

/* RouteHostOps.delta. */
Outcome kept_exchange_delta(int dump, int *previous, Failure *failure);

/* In a forked child: forgets all. */
void kept_forget(void);

#endif
