/* SPDX-License-Identifier: Apache-2.0 */
/* Small ELF files made to measure: one .dynsym or .symtab per call, nothing else a loader would want. */
#ifndef JESCOPE_TESTS_FAKE_ELF_H
#define JESCOPE_TESTS_FAKE_ELF_H

#include <elf.h>
#include <glib.h>

typedef struct {
    const char *name;
    uint64_t value;
    uint16_t section; /* SHN_UNDEF: an import */
    unsigned type;    /* STT_* */
} FakeSymbol;

typedef struct {
    GByteArray *bytes;
    GArray *sections; /* Elf64_Shdr */
} FakeElf;

FakeElf *fake_elf_new(void);
void fake_elf_free(FakeElf *elf);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FakeElf, fake_elf_free)

/* Adds a table of TYPE (SHT_DYNSYM, SHT_SYMTAB) with the N symbols and their strings. */
void fake_elf_add_table(FakeElf *elf, uint32_t type, const FakeSymbol *symbols, size_t n);

/* The same with strings and Elf64_Sym of the test's own making. */
void fake_elf_add_raw_table(FakeElf *elf, uint32_t type, GArray *symbols, const void *strings, size_t strings_size);

/* Writes the section headers and the file header; the result stays ELF's. */
GByteArray *fake_elf_finish(FakeElf *elf);

#endif
