/* SPDX-License-Identifier: Apache-2.0 */
/* The kept dumps: the latest ones, limited in number and size. All functions require the turn. */
#ifndef JESCOPE_EMBED_KEPT_H
#define JESCOPE_EMBED_KEPT_H

#include "embed/capture.h"
#include "routes/routes.h"

/* Sets the limits, beyond which the oldest dumps are removed; 0: the default. */
void kept_limit(unsigned n, uint64_t bytes);

/* Takes and keeps a dump; with wanted->capture.symbolized it is marked as not symbolized yet (kept_name()). */
Outcome kept_take(const CaptureWanted *wanted, RouteDump *dump, Failure *failure);

/* Fills at most N rows, newest first; returns their number. */
size_t kept_list(RouteDump *rows, size_t n);

/* Copies dump ID to a memory file, which the caller closes. Sets *NAMELESS if it still has to be symbolized. */
Outcome kept_open(uint64_t id, int *descriptor, bool *nameless, Failure *failure);

/* Replaces the content of dump ID with its symbolized form in DESCRIPTOR, which is closed. Does nothing if the dump
 * is not kept any more. */
void kept_name(uint64_t id, int descriptor);

/* Implement RouteHostOps.delta_open and delta_keep. */
Outcome kept_open_delta(int *descriptor, Failure *failure);
void kept_keep_delta(int dump);

/* To be called in a forked child: forgets all dumps. */
void kept_forget(void);

#endif
