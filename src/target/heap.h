/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the malloc of a program from outside, for messages about programs without a visible jemalloc. No process
 * is stopped or contacted.
 */
#ifndef JESCOPE_TARGET_HEAP_H
#define JESCOPE_TARGET_HEAP_H

#include "target/process.h"

/* The allocator of an executable. */
typedef enum {
    HEAP_EXPORTS_MALLOC = 1u << 0,    /* its own malloc, which precedes a preloaded one */
    HEAP_STRIPPED_JEMALLOC = 1u << 1, /* a linked jemalloc with stripped symbols */
    HEAP_UNREAD = 1u << 2,            /* it takes too long to read */
} HeapTrait;

/* HeapTraits of the file at PATH; 0 if it cannot be read. Reads the file, at most 256 MiB of it. */
unsigned heap_traits(const char *path);

/* The malloc of a process without a usable jemalloc, and the remedy, as a phrase to follow its name: "does not use
 * jemalloc, but tcmalloc (libtcmalloc.so.4); ...". Never NULL. */
char *heap_describe(const Process *process);

#endif
