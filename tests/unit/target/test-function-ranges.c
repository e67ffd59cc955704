/* SPDX-License-Identifier: Apache-2.0 */
#include "target/function-ranges.h"

#include <elf.h>
#include <string.h>

enum { SYMBOLS = 9, STRINGS = 512 };

/* A file with nothing but a .symtab. */
typedef struct {
    Elf64_Ehdr header;
    Elf64_Shdr sections[3];
    Elf64_Sym symbols[SYMBOLS];
    char strings[STRINGS];
} File;

typedef struct {
    const char *name;
    int type;
    int bind;
    guint64 value;
    guint64 size;
} Row;

static const Row rows[SYMBOLS] = {
    {"arena.c", STT_FILE, STB_LOCAL, 0, 0},
    {"arena_decay", STT_FUNC, STB_LOCAL, 0x1000, 0x100},
    {"server.c", STT_FILE, STB_LOCAL, 0, 0},
    {"serve", STT_FUNC, STB_LOCAL, 0x20000, 0x100},
    {"my_mallctl", STT_FUNC, STB_GLOBAL, 0x2000, 0x10},
    {"my_je_ctl_byname", STT_FUNC, STB_GLOBAL, 0x9000, 0x80},
    {"main", STT_FUNC, STB_GLOBAL, 0x30000, 0x100},
    {"fork", STT_FUNC, STB_GLOBAL, 0x40000, 0x40},
    {"my_malloc_message", STT_OBJECT, STB_GLOBAL, 0x50000, 8},
};

static void
make(File *file)
{
    gsize used = 1;
    memset(file, 0, sizeof(*file));
    memcpy(file->header.e_ident, ELFMAG, SELFMAG);
    file->header.e_ident[EI_CLASS] = ELFCLASS64;
    file->header.e_ident[EI_DATA] = G_BYTE_ORDER == G_LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
    file->header.e_shoff = offsetof(File, sections);
    file->header.e_shentsize = sizeof(Elf64_Shdr);
    file->header.e_shnum = G_N_ELEMENTS(file->sections);
    file->sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                     .sh_link = 2,
                                     .sh_offset = offsetof(File, symbols),
                                     .sh_size = sizeof(file->symbols),
                                     .sh_entsize = sizeof(Elf64_Sym)};
    file->sections[2] =
        (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = offsetof(File, strings), .sh_size = sizeof(file->strings)};
    for (gsize i = 0; i < SYMBOLS; i++) {
        file->symbols[i] = (Elf64_Sym){.st_name = (guint32)used,
                                       .st_info = ELF64_ST_INFO(rows[i].bind, rows[i].type),
                                       .st_shndx = 1,
                                       .st_value = rows[i].value,
                                       .st_size = rows[i].size};
        g_strlcpy(file->strings + used, rows[i].name, STRINGS - used);
        used += strlen(rows[i].name) + 1;
    }
}

static GArray *
ranges_of(const File *file, const char *prefix, guint *jemalloc)
{
    static guint64 scratch[ELF_SCRATCH_MIN / sizeof(guint64)];
    ElfFile view;
    elf_file_init_memory(&view, file, sizeof(*file), scratch, sizeof(scratch));
    return function_ranges_read(&view, prefix, jemalloc);
}

static void
assert_range(const GArray *ranges, guint index, guint64 start, guint64 end)
{
    g_assert_cmpuint(ranges->len, >, index);
    g_assert_cmphex(g_array_index(ranges, FunctionRange, index).start, ==, start);
    g_assert_cmphex(g_array_index(ranges, FunctionRange, index).end, ==, end);
}

static void
test_ranges(void)
{
    g_autofree File *file = g_new(File, 1);
    guint jemalloc;
    make(file);
    g_autoptr(GArray) ranges = ranges_of(file, "my_", &jemalloc);
    g_assert_cmpuint(jemalloc, ==, 3);
    g_assert_cmpuint(ranges->len, ==, 3);
    assert_range(ranges, 0, 0x1000, 0x2010); /* the gap is filled */
    assert_range(ranges, 1, 0x9000, 0x9080); /* this one is too wide */
    assert_range(ranges, 2, 0x40000, 0x40040);
}

/* A program whose loop is in main() would never be at a safe point. */
static void
test_main_in_a_gap(void)
{
    g_autofree File *file = g_new(File, 1);
    guint jemalloc;
    make(file);
    for (gsize i = 0; i < SYMBOLS; i++)
        if (strcmp(rows[i].name, "main") == 0)
            file->symbols[i].st_value = 0x1800;
    g_autoptr(GArray) ranges = ranges_of(file, "my_", &jemalloc);
    g_assert_cmpuint(ranges->len, ==, 4);
    assert_range(ranges, 0, 0x1000, 0x1800);
    assert_range(ranges, 1, 0x1900, 0x2010);
    assert_range(ranges, 2, 0x9000, 0x9080);
}

static void
test_other_prefix(void)
{
    g_autofree File *file = g_new(File, 1);
    guint jemalloc;
    make(file);
    g_autoptr(GArray) ranges = ranges_of(file, "", &jemalloc);
    g_assert_cmpuint(jemalloc, ==, 1); /* the local one alone */
    g_assert_cmpuint(ranges->len, ==, 2);
}

static void
test_broken(void)
{
    g_autofree File *file = g_new(File, 1);
    guint jemalloc;
    make(file);
    file->sections[1].sh_size = G_MAXUINT64;
    g_autoptr(GArray) long_symbols = ranges_of(file, "my_", &jemalloc);
    g_assert_cmpuint(long_symbols->len + jemalloc, ==, 0);
    make(file);
    file->sections[1].sh_link = 77;
    g_autoptr(GArray) no_strings = ranges_of(file, "my_", &jemalloc);
    g_assert_cmpuint(no_strings->len + jemalloc, ==, 0);
    make(file);
    file->header.e_shoff = G_MAXUINT64 - 8;
    g_autoptr(GArray) no_sections = ranges_of(file, "my_", &jemalloc);
    g_assert_cmpuint(no_sections->len + jemalloc, ==, 0);
    make(file);
    file->symbols[4].st_name = G_MAXUINT32;
    file->symbols[5].st_size = G_MAXUINT64;
    g_autoptr(GArray) bad_symbols = ranges_of(file, "my_", &jemalloc);
    g_assert_cmpuint(jemalloc, ==, 1);
    g_assert_cmpuint(bad_symbols->len, ==, 2);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/function-ranges/ranges", test_ranges);
    g_test_add_func("/function-ranges/main-in-a-gap", test_main_in_a_gap);
    g_test_add_func("/function-ranges/other-prefix", test_other_prefix);
    g_test_add_func("/function-ranges/broken", test_broken);
    return g_test_run();
}
