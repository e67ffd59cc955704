/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds allocators in the program files of other processes. The files are untrusted, so an unprivileged worker reads
 * them (confine/worker.h), and its answers are checked. In a file that it cannot read (reading takes too long or
 * crashes the worker) nothing is found.
 */
#ifndef JESCOPE_TARGET_PROGRAM_FILE_H
#define JESCOPE_TARGET_PROGRAM_FILE_H

#include "jemalloc/elf-symbols.h"

#include <elf.h>
#include <glib.h>

enum {
    PROGRAM_FILE_CODE = 16, /* bytes of a function to compare with those in memory */
    PROGRAM_FILE_HEADERS_MAX = 64,
};

typedef struct {
    ElfJemalloc symbols;
    gboolean has_code;              /* FALSE: a debug file */
    guint8 code[PROGRAM_FILE_CODE]; /* at symbols.mallctl */
} ProgramJemalloc;

typedef struct {
    ProgramJemalloc found[ELF_FOUND_MAX];
    guint n;
    gboolean unread; /* it could not be read there */
} ProgramJemallocs;

/* Finds the jemallocs in the file open as FD, as of elf_find_jemalloc(). */
void program_file_jemallocs(int fd, ProgramJemallocs *jemallocs);

typedef struct {
    gboolean exports_malloc;
    gboolean has_mark; /* has the text of jemalloc's messages, but not its symbols */
    gboolean unread;   /* it could not be read there */
} ProgramTraits;

void program_file_traits(int fd, ProgramTraits *traits);

/* Whether the file has the N program headers at HEADERS. */
gboolean program_file_is_loaded(int fd, const Elf64_Phdr *headers, guint n);

/* function_ranges_read() of the file open as FD; NULL if it has none of jemalloc's functions. */
GArray *program_file_ranges(int fd, const char *prefix);

#endif
