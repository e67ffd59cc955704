/* SPDX-License-Identifier: Apache-2.0 */
#include "fake-elf.h"
#include "jemalloc/elf-symbols.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define FUNCTION(name, value)                                                                                          \
    {                                                                                                                  \
        name, value, 1, STT_FUNC                                                                                       \
    }

static guint64 scratch[8192 / sizeof(guint64)];

static size_t
search(GByteArray *bytes, ElfJemalloc found[ELF_FOUND_MAX])
{
    ElfFile file;
    elf_file_init_memory(&file, bytes->data, bytes->len, scratch, sizeof(scratch));
    return elf_find_jemalloc(&file, found);
}

static size_t
search_symbols(uint32_t type, const FakeSymbol *symbols, size_t n, ElfJemalloc found[ELF_FOUND_MAX])
{
    g_autoptr(FakeElf) elf = fake_elf_new();
    fake_elf_add_table(elf, type, symbols, n);
    return search(fake_elf_finish(elf), found);
}

static void
test_finds_every_prefix(void)
{
    static const char *const prefixes[] = {"", "je_", "_rjem_", "jem_", "my_own_0123456789_prefix_abcdef"};
    for (size_t i = 0; i < G_N_ELEMENTS(prefixes); i++) {
        g_autofree char *mallctl = g_strconcat(prefixes[i], "mallctl", NULL);
        g_autofree char *stats_print = g_strconcat(prefixes[i], "malloc_stats_print", NULL);
        const FakeSymbol symbols[] = {FUNCTION("main", 16), FUNCTION(stats_print, 32), FUNCTION(mallctl, 48)};
        ElfJemalloc found[ELF_FOUND_MAX];
        g_assert_cmpuint(search_symbols(SHT_DYNSYM, symbols, G_N_ELEMENTS(symbols), found), ==, 1);
        g_assert_cmpstr(found[0].prefix, ==, prefixes[i]);
        g_assert_cmpuint(found[0].mallctl, ==, 48);
        g_assert_cmpuint(found[0].stats_print, ==, 32);
        g_assert_false(found[0].from_symtab);
    }
}

static void
test_ignores_look_alikes(void)
{
    static const FakeSymbol cases[][3] = {
        {FUNCTION("mallctlnametomib", 1), FUNCTION("mallctlbymib", 2), FUNCTION("malloc_stats_print", 3)},
        {FUNCTION("je_mallctl", 1), FUNCTION("malloc_stats_print", 2), FUNCTION("main", 3)},
        {FUNCTION("mallctl", 1), FUNCTION("malloc_stats_printer", 2), FUNCTION("main", 3)},
        {{"mallctl", 1, SHN_UNDEF, STT_FUNC}, FUNCTION("malloc_stats_print", 2), FUNCTION("main", 3)},
        {{"mallctl", 1, 1, STT_OBJECT}, FUNCTION("malloc_stats_print", 2), FUNCTION("main", 3)},
        {FUNCTION("mallctl", 0), FUNCTION("malloc_stats_print", 2), FUNCTION("main", 3)},
        {FUNCTION("a_prefix_longer_than_we_keep_room_for_mallctl", 1),
         FUNCTION("a_prefix_longer_than_we_keep_room_for_malloc_stats_print", 2), FUNCTION("main", 3)},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        ElfJemalloc found[ELF_FOUND_MAX];
        g_assert_cmpuint(search_symbols(SHT_SYMTAB, cases[i], G_N_ELEMENTS(cases[i]), found), ==, 0);
    }
}

static void
test_exported_names_come_first(void)
{
    static const FakeSymbol exported[] = {FUNCTION("mallctl", 1), FUNCTION("malloc_stats_print", 2)};
    static const FakeSymbol all[] = {FUNCTION("mallctl", 1), FUNCTION("malloc_stats_print", 2),
                                     FUNCTION("je_mallctl", 3), FUNCTION("je_malloc_stats_print", 4)};
    g_autoptr(FakeElf) elf = fake_elf_new();
    ElfJemalloc found[ELF_FOUND_MAX];

    fake_elf_add_table(elf, SHT_SYMTAB, all, G_N_ELEMENTS(all));
    fake_elf_add_table(elf, SHT_DYNSYM, exported, G_N_ELEMENTS(exported));
    g_assert_cmpuint(search(fake_elf_finish(elf), found), ==, 2);
    g_assert_cmpstr(found[0].prefix, ==, "");
    g_assert_false(found[0].from_symtab);
    g_assert_cmpstr(found[1].prefix, ==, "je_");
    g_assert_true(found[1].from_symtab);
}

/* Related functions are found if present, and are optional. */
static void
test_companions(void)
{
    static const FakeSymbol symbols[] = {FUNCTION("je_mallctl", 1),
                                         FUNCTION("je_malloc_stats_print", 2),
                                         FUNCTION("je_mallctlnametomib", 3),
                                         FUNCTION("je_mallctlbymib", 4),
                                         {"je_malloc_message", 5, 1, STT_OBJECT}};
    ElfJemalloc found[ELF_FOUND_MAX];
    g_assert_cmpuint(search_symbols(SHT_SYMTAB, symbols, G_N_ELEMENTS(symbols), found), ==, 1);
    g_assert_cmpuint(found[0].name_to_mib, ==, 3);
    g_assert_cmpuint(found[0].by_mib, ==, 4);
    g_assert_cmpuint(found[0].message, ==, 5);
    g_assert_cmpuint(search_symbols(SHT_SYMTAB, symbols, 2, found), ==, 1);
    g_assert_cmpuint(found[0].name_to_mib + found[0].by_mib + found[0].message, ==, 0);
}

/* Linkers let "mallctl" be the tail of "je_mallctl" rather than write it twice. */
static void
test_reads_shared_tails(void)
{
    static const char strings[] = "\0je_mallctl\0je_malloc_stats_print";
    g_autoptr(GArray) rows = g_array_new(FALSE, TRUE, sizeof(Elf64_Sym));
    g_autoptr(FakeElf) elf = fake_elf_new();
    ElfJemalloc found[ELF_FOUND_MAX];
    static const Elf64_Word names[] = {1, 4, 12, 15};

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        Elf64_Sym row = {.st_name = names[i], .st_info = STT_FUNC, .st_shndx = 1, .st_value = names[i]};
        g_array_append_val(rows, row);
    }
    fake_elf_add_raw_table(elf, SHT_SYMTAB, rows, strings, sizeof(strings));
    g_assert_cmpuint(search(fake_elf_finish(elf), found), ==, 2);
    g_assert_cmpstr(found[0].prefix, ==, "je_");
    g_assert_cmpuint(found[0].stats_print, ==, 12);
    g_assert_cmpstr(found[1].prefix, ==, "");
    g_assert_cmpuint(found[1].stats_print, ==, 15);
}

/* Strings of every length before the names, so that each byte of them meets the border between two pieces once. */
static void
test_sees_names_across_pieces(void)
{
    for (size_t length = ELF_SCRATCH_MIN - 80; length < ELF_SCRATCH_MIN + 10; length++) {
        g_autofree char *filler = g_strnfill(length, 'x');
        const FakeSymbol symbols[] = {FUNCTION(filler, 1), FUNCTION("_rjem_mallctl", 2),
                                      FUNCTION("_rjem_malloc_stats_print", 3)};
        g_autoptr(FakeElf) elf = fake_elf_new();
        ElfJemalloc found[ELF_FOUND_MAX];
        ElfFile file;
        fake_elf_add_table(elf, SHT_SYMTAB, symbols, G_N_ELEMENTS(symbols));
        GByteArray *bytes = fake_elf_finish(elf);
        elf_file_init_memory(&file, bytes->data, bytes->len, scratch, ELF_SCRATCH_MIN);
        g_assert_cmpuint(elf_find_jemalloc(&file, found), ==, 1);
        g_assert_cmpstr(found[0].prefix, ==, "_rjem_");
    }
}

static void
test_survives_truncation_and_damage(void)
{
    static const FakeSymbol symbols[] = {FUNCTION("mallctl", 1), FUNCTION("malloc_stats_print", 2)};
    g_autoptr(FakeElf) elf = fake_elf_new();
    ElfJemalloc found[ELF_FOUND_MAX];

    fake_elf_add_table(elf, SHT_DYNSYM, symbols, G_N_ELEMENTS(symbols));
    GByteArray *bytes = fake_elf_finish(elf);
    for (guint n = 0; n < bytes->len; n++) {
        g_autofree guint8 *cut = g_memdup2(bytes->data, n ? n : 1); /* exactly sized, for the sanitizer */
        ElfFile file;
        elf_file_init_memory(&file, cut, n, scratch, sizeof(scratch));
        g_assert_cmpuint(elf_find_jemalloc(&file, found), ==, 0); /* the section headers come last */
    }
    for (guint i = 0; i < bytes->len; i++) {
        guint8 right = bytes->data[i];
        bytes->data[i] = 0xff;
        g_assert_cmpuint(search(bytes, found), <=, ELF_FOUND_MAX);
        bytes->data[i] = right;
    }
    g_assert_cmpuint(search(bytes, found), ==, 1);
}

static void
test_mentions_within_a_budget(void)
{
    static const FakeSymbol with[] = {FUNCTION("je_mallctl", 1)};
    static const FakeSymbol without[] = {FUNCTION("mallctlbymib", 1)};
    g_autoptr(FakeElf) yes = fake_elf_new();
    g_autoptr(FakeElf) no = fake_elf_new();
    ElfFile file;
    uint64_t budget = 100;

    fake_elf_add_table(yes, SHT_SYMTAB, with, 1);
    GByteArray *bytes = fake_elf_finish(yes);
    elf_file_init_memory(&file, bytes->data, bytes->len, scratch, sizeof(scratch));
    g_assert_cmpint(elf_mentions_jemalloc(&file, &budget), ==, ELF_MENTION_YES);
    g_assert_cmpuint(budget, ==, 100 - sizeof("\0je_mallctl"));
    budget = 5;
    g_assert_cmpint(elf_mentions_jemalloc(&file, &budget), ==, ELF_MENTION_UNKNOWN);
    budget = 100;
    fake_elf_add_table(no, SHT_SYMTAB, without, 1);
    bytes = fake_elf_finish(no);
    elf_file_init_memory(&file, bytes->data, bytes->len, scratch, sizeof(scratch));
    g_assert_cmpint(elf_mentions_jemalloc(&file, &budget), ==, ELF_MENTION_NO);
}

static void
test_maps_addresses_to_the_file(void)
{
    static const char code[] = "0123456789";
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segments[2];
        char code[sizeof(code)];
    } image = {.segments = {{.p_type = PT_NOTE}, {.p_type = PT_LOAD, .p_flags = PF_R | PF_X}}};
    ElfFile file;
    char bytes[4];

    memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS64;
    image.header.e_ident[EI_DATA] = G_BYTE_ORDER == G_LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
    image.header.e_phoff = sizeof(image.header);
    image.header.e_phentsize = sizeof(Elf64_Phdr);
    image.header.e_phnum = 2;
    image.segments[1].p_vaddr = 0x10000;
    image.segments[1].p_offset = G_STRUCT_OFFSET(__typeof__(image), code);
    image.segments[1].p_filesz = 10;
    memcpy(image.code, code, sizeof(code));
    elf_file_init_memory(&file, &image, sizeof(image), scratch, sizeof(scratch));

    g_assert_true(elf_read_address(&file, 0x10006, bytes, 4));
    g_assert_cmpmem(bytes, 4, "6789", 4);
    g_assert_false(elf_read_address(&file, 0x10007, bytes, 4));
    g_assert_false(elf_read_address(&file, 0xffff, bytes, 4));
    g_assert_false(elf_read_address(&file, UINT64_MAX, bytes, 4));
    g_assert_true(elf_has_program_headers(&file, image.segments, 2));
    g_assert_false(elf_has_program_headers(&file, image.segments, 1));
    Elf64_Phdr other[2] = {image.segments[0], image.segments[1]};
    other[1].p_vaddr++;
    g_assert_false(elf_has_program_headers(&file, other, 2));
}

static void
test_reads_through_a_descriptor(void)
{
    static const FakeSymbol symbols[] = {FUNCTION("mallctl", 1), FUNCTION("malloc_stats_print", 2)};
    g_autoptr(FakeElf) elf = fake_elf_new();
    g_autofree char *path = NULL;
    ElfJemalloc found[ELF_FOUND_MAX];
    ElfFile file;

    fake_elf_add_table(elf, SHT_DYNSYM, symbols, G_N_ELEMENTS(symbols));
    GByteArray *bytes = fake_elf_finish(elf);
    int descriptor = g_file_open_tmp("elf-XXXXXX", &path, NULL);
    g_assert_false(elf_file_init(&file, descriptor, scratch, sizeof(scratch))); /* empty */
    g_assert_cmpint(write(descriptor, bytes->data, bytes->len), ==, bytes->len);
    g_assert_true(elf_file_init(&file, descriptor, scratch, sizeof(scratch)));
    g_assert_cmpuint(elf_find_jemalloc(&file, found), ==, 1);
    g_assert_cmpint(ftruncate(descriptor, bytes->len / 2), ==, 0); /* while it is being read, as it were */
    g_assert_cmpuint(elf_find_jemalloc(&file, found), ==, 0);
    close(descriptor);
    g_unlink(path);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/jemalloc/elf-symbols/finds-every-prefix", test_finds_every_prefix);
    g_test_add_func("/jemalloc/elf-symbols/ignores-look-alikes", test_ignores_look_alikes);
    g_test_add_func("/jemalloc/elf-symbols/exported-names-come-first", test_exported_names_come_first);
    g_test_add_func("/jemalloc/elf-symbols/companions", test_companions);
    g_test_add_func("/jemalloc/elf-symbols/reads-shared-tails", test_reads_shared_tails);
    g_test_add_func("/jemalloc/elf-symbols/sees-names-across-pieces", test_sees_names_across_pieces);
    g_test_add_func("/jemalloc/elf-symbols/survives-truncation-and-damage", test_survives_truncation_and_damage);
    g_test_add_func("/jemalloc/elf-symbols/mentions-within-a-budget", test_mentions_within_a_budget);
    g_test_add_func("/jemalloc/elf-symbols/maps-addresses-to-the-file", test_maps_addresses_to_the_file);
    g_test_add_func("/jemalloc/elf-symbols/reads-through-a-descriptor", test_reads_through_a_descriptor);
    return g_test_run();
}
