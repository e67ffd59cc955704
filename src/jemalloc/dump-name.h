/* SPDX-License-Identifier: Apache-2.0 */
/* jemalloc's default name for dumps (src/prof_sys.c of jemalloc 5.3, src/prof.c before). */
#ifndef JESCOPE_JEMALLOC_DUMP_NAME_H
#define JESCOPE_JEMALLOC_DUMP_NAME_H

/* Arguments: opt.prof_prefix, the pid as a long, and twice the number of earlier dumps as an unsigned. */
#define DUMP_NAME_FORMAT "%s.%ld.%u.m%u.heap"

enum {
    DUMP_NAMES_MAX = 10000, /* names to try until one is free */
};

#endif
