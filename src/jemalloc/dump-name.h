/* SPDX-License-Identifier: Apache-2.0 */
/* The name that jemalloc gives to a dump without one (src/prof_sys.c of jemalloc 5.3, src/prof.c before). */
#ifndef JESCOPE_JEMALLOC_DUMP_NAME_H
#define JESCOPE_JEMALLOC_DUMP_NAME_H

/* opt.prof_prefix, the pid as a long, and twice an unsigned: how many dumps there were before. */
#define DUMP_NAME_FORMAT "%s.%ld.%u.m%u.heap"

enum {
    DUMP_NAMES_MAX = 10000, /* that are tried until one is free */
};

#endif
