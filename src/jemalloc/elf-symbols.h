/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds jemalloc's public functions in an ELF file, exported or only in .symtab, with any prefix.
 *
 * The file is untrusted: every offset, size and count is checked against the file's size before it is used. It is read
 * piece by piece and never mapped, since truncation of a mapped file would kill the process with SIGBUS. Thread-safe;
 * allocates no memory.
 *
 * Supports 64-bit files in native byte order (the System V ABI's "ELF-64 Object File Format").
 */
#ifndef JESCOPE_JEMALLOC_ELF_SYMBOLS_H
#define JESCOPE_JEMALLOC_ELF_SYMBOLS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    ELF_PREFIX_MAX = 32,    /* including the NUL */
    ELF_FOUND_MAX = 4,      /* maximum number of jemallocs found in a file */
    ELF_SCRATCH_MIN = 4096, /* minimum scratch memory; more is faster */
};

/* The source of a file's bytes: memory if BYTES is not NULL, otherwise a descriptor. */
typedef struct {
    int descriptor;
    const uint8_t *bytes;
    uint64_t size;
    uint8_t *scratch; /* owned by the caller, aligned for any type; overwritten by every call below */
    size_t scratch_size;
} ElfFile;

/* A jemalloc. Addresses are as linked (add the load bias). */
typedef struct {
    char prefix[ELF_PREFIX_MAX];
    uint64_t mallctl;
    uint64_t stats_print;
    uint64_t message;     /* address of the variable PREFIXmalloc_message; 0: not found */
    uint64_t name_to_mib; /* PREFIXmallctlnametomib, PREFIXmallctlbymib; 0: not found */
    uint64_t by_mib;
    bool from_symtab;
} ElfJemalloc;

/* The offsets of a symbol table and its strings, both validated to be within the file. */
typedef struct {
    uint64_t symbols; /* of Elf64_Sym */
    uint64_t n_symbols;
    uint64_t strings;
    uint64_t strings_size;
    bool is_symtab;
} ElfTable;

/* Initializes FILE for DESCRIPTOR, which the caller still owns. False if its size is unknown or 0. */
bool elf_file_init(ElfFile *file, int descriptor, void *scratch, size_t scratch_size);

/* Initializes FILE for BYTES, which are borrowed. */
void elf_file_init_memory(ElfFile *file, const void *bytes, size_t size, void *scratch, size_t scratch_size);

/* Reads exactly N bytes at OFFSET; false if that fails. */
bool elf_read(const ElfFile *file, uint64_t offset, void *buffer, size_t n);

/* False if the file has no .symtab. */
bool elf_find_symtab(const ElfFile *file, ElfTable *table);

/*
 * Stores every pair PREFIXmallctl, PREFIXmalloc_stats_print with the same prefix in FOUND; returns their number, at
 * most ELF_FOUND_MAX. 0 if there is none or the file is not a native ELF file.
 */
size_t elf_find_jemalloc(const ElfFile *file, ElfJemalloc found[ELF_FOUND_MAX]);

typedef enum {
    ELF_MENTION_NO,
    ELF_MENTION_YES,     /* some symbol's name ends in "mallctl" */
    ELF_MENTION_UNKNOWN, /* the search would have exceeded the budget */
} ElfMention;

/* A cheap check of symbol names only. Subtracts the bytes read from BUDGET. */
ElfMention elf_mentions_jemalloc(const ElfFile *file, uint64_t *budget);

/* The linked address of function NAME, exported or only in .symtab; 0 if not found. */
uint64_t elf_find_function(const ElfFile *file, const char *name);

/* Whether the file exports a function NAME (shorter than ELF_PREFIX_MAX), i.e. defines it in .dynsym. */
bool elf_exports(const ElfFile *file, const char *name);

/*
 * Whether the file contains TEXT within its first LIMIT bytes.
 */
bool elf_holds_text(const ElfFile *file, const char *text, uint64_t limit);

/* Whether the file's program headers equal the N at HEADERS, i.e. it is the file that was loaded. */
bool elf_has_program_headers(const ElfFile *file, const ElfW(Phdr) * headers, size_t n);

/* Copies the N bytes of the file at the linked address ADDRESS; false if no readable segment contains them all. */
bool elf_read_address(const ElfFile *file, uint64_t address, void *bytes, size_t n);

#endif
