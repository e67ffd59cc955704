/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings of a process by kind, as /proc/PID/smaps shows them (proc(5), the kernel's filesystems/proc.rst): what
 * each kind has resident, in huge pages, in swap. The list is as long as the process makes it: reading it is limited in
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
    MAPPING_GLIBC_ARENA, /* an arena of glibc's malloc: aligned to 64 MiB, unused rest without access rights */
    MAPPING_ALLOCATOR,   /* named by another allocator, as [anon:scudo:primary] */
    MAPPING_STACK,       /* [stack], and stacks of threads */
    MAPPING_DATA,        /* .bss, and the pages of data segments that were written to */
    MAPPING_TEXT,        /* the other pages of programs and libraries, and the vdso */
    MAPPING_FILE,        /* other files */
    MAPPING_SHARED,      /* shared anonymous memory, System V segments */
    MAPPING_MEMORY_FILE, /* memfd, files below /dev/shm */
    MAPPING_KINDS,
} MappingKind;

/* Bytes, but for count. */
typedef struct {
    guint64 count;
    guint64 size; /* of address space */
    guint64 rss;
    guint64 pss;
    guint64 anonymous;        /* of rss */
    guint64 shared_anonymous; /* of anonymous: other processes have the same pages */
    guint64 lazy_free;        /* of rss: the kernel may take them (MADV_FREE) */
    guint64 huge;             /* of rss: in transparent huge pages */
    guint64 swap;
} MappingSum;

enum {
    MAPPINGS_RANGES_MAX = 64,
};

/* One mapping, and the bytes for which it is remembered. */
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
    guint64 unread;          /* of the resident set: the list was cut, at a limit */
    MappingRanges huge;      /* by bytes in huge pages */
    MappingRanges anonymous; /* of MAPPING_ANONYMOUS, by resident bytes */
} Mappings;

/* What helps to recognise stacks; zeros: nothing. */
typedef struct {
    const guint64 *stack_pointers; /* of threads, ascending */
    gsize n_stack_pointers;
    guint64 stack_size; /* of a thread by default (RLIMIT_STACK) */
} MappingHints;

/* Reading a list line by line; HINTS stay the caller's until the end. */
typedef struct MappingsReader MappingsReader;
MappingsReader *mappings_reader_new(const MappingHints *hints);

/* LINE is without its line feed. A line that is neither a mapping nor one of its figures is passed over. */
void mappings_reader_line(MappingsReader *reader, const char *line);

/* Frees READER. */
void mappings_reader_end(MappingsReader *reader, Mappings *mappings);

/* The mappings of process PID, read for TIME_US microseconds at most. MEMORY_MAP_DENIED or MEMORY_MAP_GONE: nothing was
 * read. With MEMORY_MAP_STOPPED (no time left) and MEMORY_MAP_TOO_LARGE, unread has the rest. */
MemoryMapEnd mappings_read(pid_t pid, gint64 time_us, Mappings *mappings);

#endif
