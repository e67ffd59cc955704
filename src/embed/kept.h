/* SPDX-License-Identifier: Apache-2.0 */
/* The dumps that are kept: the last few, within limits of number and size. With the turn. */
#ifndef JESCOPE_EMBED_KEPT_H
#define JESCOPE_EMBED_KEPT_H

#include "routes/routes.h"

#include <jescope.h>

/* 0: the default. What is over them goes, oldest first. */
void kept_limit(unsigned n, uint64_t bytes);

/* Takes a dump and keeps it, for @recording (0: for none). */
int kept_take(uint64_t recording, RouteDump *dump, JescopeError *error);

/* Newest first; how many. */
size_t kept_list(RouteDump *rows, size_t n);

/* A copy in a memory file, the caller's to close. */
int kept_open(uint64_t id, int *descriptor, JescopeError *error);

/* RouteHostOps.delta. */
int kept_exchange_delta(int dump, int *previous, JescopeError *error);

/* In a forked child: there are none. */
void kept_forget(void);

#endif
