/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into a JescopeError. Thread safe; errno untouched. */
#ifndef JESCOPE_EMBED_FAILURE_H
#define JESCOPE_EMBED_FAILURE_H

#include "agent/allocator.h"

#include <jescope.h>

/* Fills *@failure, where it is not NULL, with CODE, ERROR and a sentence; returns CODE. In the format, strings and
 * integers only: then nothing is allocated. */
int failure_set(JescopeError *failure, JescopeCode code, int error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* JESCOPE_SYSTEM with errno: "cannot WHAT: ..." */
int failure_set_system(JescopeError *failure, const char *what);

int failure_set_no_jemalloc(JescopeError *failure);

/* Why @allocator cannot profile, and what to change. */
int failure_set_no_profiling(JescopeError *failure, const Allocator *allocator);

#endif
