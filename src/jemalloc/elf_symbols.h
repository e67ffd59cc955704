/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding jemalloc's public functions in an ELF file, exported or only in .symtab, whatever their prefix.
 *
 * The file is a stranger's: every offset, size and count is bounded by the file's size before it is used. It is read
 * piece by piece, never mapped: a file that shrinks underneath a mapping would kill the process with SIGBUS. Thread
 * safe; allocates nothing.
 *
 * 64-bit files of the machine's own byte order (the System V ABI's "ELF-64 Object File Format").
 */
#ifndef JESCOPE_JEMALLOC_ELF_SYMBOLS_H
#define JESCOPE_JEMALLOC_ELF_SYMBOLS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    ELF_PREFIX_MAX = 32,    /* with the NUL */
    ELF_FOUND_MAX = 4,      /* jemallocs looked for in one file */
    ELF_SCRATCH_MIN = 4096, /* smallest scratch memory; larger is faster */
};

/* Where a file's bytes come from: a descriptor, or memory when that is NULL not. */
typedef struct {
    int descriptor;
    const uint8_t *bytes;
    uint64_t size;
    uint8_t *scratch; /* the caller's, aligned for any type; overwritten by every call below */
    size_t scratch_size;
} ElfFile;

/* One jemalloc: addresses are as linked (add the load bias). */
typedef struct {
    char prefix[ELF_PREFIX_MAX];
    uint64_t mallctl;
    uint64_t stats_print;
    uint64_t message;     /* of the variable PREFIXmalloc_message; 0: not found */
    uint64_t name_to_mib; /* PREFIXmallctlnametomib, PREFIXmallctlbymib; 0: not found */
    uint64_t by_mib;
    bool from_symtab;
} ElfJemalloc;

/* Opens the object behind @descriptor, which stays the caller's. False if its size cannot be told or is 0. */
bool elf_file_init(ElfFile *file, int descriptor, void *scratch, size_t scratch_size);

/* The same over @bytes. */
void elf_file_init_memory(ElfFile *file, const void *bytes, size_t size, void *scratch, size_t scratch_size);

/*
 * Stores every pair PREFIXmallctl, PREFIXmalloc_stats_print with one prefix in @found; returns how many (at most
 * ELF_FOUND_MAX). 0 if there is none or the file is no ELF file of this machine's kind.
 */
size_t elf_find_jemalloc(const ElfFile *file, ElfJemalloc found[ELF_FOUND_MAX]);

typedef enum {
    ELF_MENTION_NO,
    ELF_MENTION_YES,     /* some symbol's name ends in "mallctl" */
    ELF_MENTION_UNKNOWN, /* looking would have read more than the budget */
} ElfMention;

/* A cheap look at symbol names only. Takes the bytes it reads off @budget. */
ElfMention elf_mentions_jemalloc(const ElfFile *file, uint64_t *budget);

/* Whether the file's program headers equal the @n at @headers, i.e. whether it is the file that was loaded. */
bool elf_has_program_headers(const ElfFile *file, const ElfW(Phdr) * headers, size_t n);

/* Copies the @n bytes that the file holds for the linked address @address; false if no readable segment has them all.
 */
bool elf_read_address(const ElfFile *file, uint64_t address, void *bytes, size_t n);

#endif
