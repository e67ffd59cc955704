/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums the mappings of a process by kind, from /proc/PID/smaps (proc(5), the kernel's filesystems/proc.rst): bytes that
 * are resident, in huge pages, and in swap. The process determines the length of the list, so reading is limited in
 * bytes and in time. The kernel holds the process's mmap lock for reading while it writes a part of the list.
 */
#ifndef JESCOPE_TARGET_MAPPINGS_H
#define JESCOPE_TARGET_MAPPINGS_H

#include "target/memory-map.h"

#include <glib.h>
#include <sys/types.h>

typedef enum {
    /* Private anonymous memory mapped with MAP_NORESERVE, as jemalloc has done since 4.2 unless vm.overcommit_memory is
     * 2; the flag keeps the kernel from merging it with mappings without it. */
    MAPPING_NORESERVE,
    MAPPING_ANONYMOUS,   /* other private anonymous memory */
    MAPPING_BRK,         /* [heap] */
    MAPPING_GLIBC_ARENA, /* an arena of glibc's malloc: aligned to 64 MiB, the unused rest without access rights */
    MAPPING_ALLOCATOR,   /* named by another allocator, as [anon:scudo:primary] */
    MAPPING_STACK,       /* [stack], and stacks of threads */
    MAPPING_DATA,        /* .bss, and modified pages of data segments */
    MAPPING_TEXT,        /* the other pages of programs and libraries, and the vdso */
    MAPPING_FILE,        /* other files */
    MAPPING_SHARED,      /* shared anonymous memory, System V segments */
    MAPPING_MEMORY_FILE, /* memfd, files below /dev/shm */
    MAPPING_KINDS,
} MappingKind;

/* In bytes, except count. */
typedef struct {
    guint64 count;
    guint64 size; /* of address space */
    guint64 rss;
    guint64 pss;
    guint64 anonymous;        /* of rss */
    guint64 shared_anonymous; /* of anonymous: pages shared with other processes */
    guint64 lazy_free;        /* of rss: the kernel may reclaim them (MADV_FREE) */
    guint64 huge;             /* of rss: in transparent huge pages */
    guint64 swap;
} MappingSum;

enum {
    MAPPINGS_RANGES_MAX = 64,
};

/* One mapping with the bytes by which it is ranked. */
typedef struct {
    guint64 start, end;
    guint64 bytes;
    MappingKind kind;
} MappingRange;

typedef struct {
    guint n;
    MappingRange ranges[MAPPINGS_RANGES_MAX]; /* those with the most bytes, in no order */
} MappingRanges;

typedef struct {
    MappingSum kinds[MAPPING_KINDS];
    guint64 unread;          /* resident bytes missing here since a limit was reached */
    MappingRanges huge;      /* by bytes in huge pages */
    MappingRanges anonymous; /* of MAPPING_ANONYMOUS, by resident bytes */
} Mappings;

/* Hints for recognising stacks; zeros: none. */
typedef struct {
    const guint64 *stack_pointers; /* of the threads, ascending */
    gsize n_stack_pointers;
    guint64 stack_size; /* default size of a thread's stack (RLIMIT_STACK) */
} MappingHints;

/* Reads a list line by line. HINTS are borrowed until mappings_reader_end(). */
typedef struct MappingsReader MappingsReader;
MappingsReader *mappings_reader_new(const MappingHints *hints);

/* Adds LINE, without its line feed. Lines other than mappings and their figures are ignored. */
void mappings_reader_line(MappingsReader *reader, const char *line);

/* Sets *MAPPINGS and frees READER. */
void mappings_reader_end(MappingsReader *reader, Mappings *mappings);

/* Reads the mappings of the process FOUND (reach-open.h) for TIME_US microseconds at most. After MEMORY_MAP_STOPPED (no
 * time left) and MEMORY_MAP_TOO_LARGE, unread has the rest; after MEMORY_MAP_DENIED and MEMORY_MAP_GONE, nothing was
 * read. */
MemoryMapEnd mappings_read(const Process *found, gint64 time_us, Mappings *mappings);

#endif
