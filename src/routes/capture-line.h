/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about a dump that jemalloc's format lacks: the process, the time, since when sampling was on, the memory held.
 * One line at the end of the MAPPED_LIBRARIES section in the form NAME=VALUE, which gperftools also writes and which
 * jeprof and pprof skip; docs/formats.md describes it.
 */
#ifndef JESCOPE_ROUTES_CAPTURE_LINE_H
#define JESCOPE_ROUTES_CAPTURE_LINE_H

#include "wire/wire.h"

#include <stddef.h>
#include <stdint.h>

#define CAPTURE_PREFIX "jescope_capture=1"

enum { CAPTURE_LINE_MAX = 512 }; /* bytes of a line, including its newline and the NUL */

typedef enum {
    CAPTURE_ACTIVE = 1 << 0,      /* sampling was on when the dump was taken */
    CAPTURE_SINCE_START = 1 << 1, /* and has been on since the process started */
    CAPTURE_STARTED_OFF = 1 << 2, /* opt.prof_active is false */
    CAPTURE_STARTED_ON = 1 << 3,  /* opt.prof_active is true */
    CAPTURE_HAS_MEMORY = 1 << 4,  /* allocated and the following members are known */
    CAPTURE_OTHER_HEAP = 1 << 5,  /* another heap is the process's main one; see outside and resident */
} CaptureFlags;

/* Times are microseconds since 1970, 0: unknown. Sizes are bytes. */
typedef struct {
    uint64_t time;      /* when the dump was taken */
    uint64_t pid;       /* with start: identifies the process */
    uint64_t start;     /* field 22 of /proc/PID/stat */
    uint64_t since;     /* start of sampling */
    uint64_t until;     /* end of sampling if it was switched off before the dump was taken */
    uint64_t flags;     /* CaptureFlags */
    uint64_t allocated; /* stats.allocated */
    uint64_t unheld;    /* the part of it in thread caches and in jemalloc's own data */
    uint64_t large;     /* the size by which a sampled small object is counted */
    uint64_t resident;  /* stats.resident */
    uint64_t outside;   /* process.outside (docs/metrics.md) */
} CaptureLine;

/* The words of a line, in order. */
typedef struct {
    const char *name;
    size_t offset; /* in CaptureLine or ClassLine, of a uint64_t */
} CaptureWord;

enum { CAPTURE_WORDS = 11 };
extern const CaptureWord capture_words[CAPTURE_WORDS];

/* Writes the line, including its newline; words of value 0 are omitted. Returns its length. */
size_t capture_line_write(const CaptureLine *capture, char text[static CAPTURE_LINE_MAX]);

/*
 * One small size class of all arenas together when the dump was taken. Those that have slabs follow the line above, one
 * line each.
 */
#define CLASS_PREFIX "jescope_class=1"

typedef struct {
    uint64_t size;    /* bytes of a region */
    uint64_t regions; /* regions of a slab */
    uint64_t slab;    /* bytes of a slab */
    uint64_t slabs;
    uint64_t live;    /* allocated regions, including those in thread caches */
    uint64_t nonfull; /* slabs with free regions, except those that jemalloc allocates from; 0 also if unknown */
} ClassLine;

enum { CLASS_WORDS = 6 };
extern const CaptureWord class_words[CLASS_WORDS];

size_t class_line_write(const ClassLine *line, char text[static CAPTURE_LINE_MAX]);

/* Sets the process, and the start of sampling unless capture->since is already known. */
void capture_line_take_hello(CaptureLine *capture, const WireHelloReply *hello);

#endif
