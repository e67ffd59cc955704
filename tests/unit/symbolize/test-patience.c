/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/thread-time.h"
#include "symbolize/dwarf-functions.h"
#include "symbolize/patience.h"
#include "symbolize/symbol-table.h"

#include <dwarf.h>
#include <fcntl.h>
#include <lzma.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum {
    ENTRIES = 4 << 20,
    ATTRIBUTES = 1 << 20,
    SORTED = 1 << 16,
    LEFT_MS = 300,
    LONG = 32 << 20, /* takes longer than SHORT_US, however it is read */
    SHORT_US = 1000,
    ENOUGH_BYTES = 4 << 20, /* for a chain of calls, not for the tables */
    ENOUGH_S = 20,          /* of processor time, for a slow build; the tables would take hours */
};

/* A unit of many functions of one byte each, with an abbreviation of many attributes of none. */
static void
add_unit(GByteArray *info, GByteArray *abbreviations)
{
    static const guint8 unit[] = {1, DW_TAG_compile_unit, 1, 0, 0, 2, DW_TAG_subprogram, 0};
    static const guint8 flag[] = {DW_AT_external, DW_FORM_flag_present}, ends[] = {0, 0, 0};
    const guint8 head[] = {0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1};
    g_byte_array_append(info, head, sizeof(head));
    g_byte_array_set_size(info, sizeof(head) + ENTRIES);
    memset(info->data + sizeof(head), 2, ENTRIES);
    const guint32 length = GUINT32_TO_LE(info->len - 4);
    memcpy(info->data, &length, sizeof(length));
    g_byte_array_append(abbreviations, unit, sizeof(unit));
    for (guint i = 0; i < ATTRIBUTES; i++)
        g_byte_array_append(abbreviations, flag, sizeof(flag));
    g_byte_array_append(abbreviations, ends, sizeof(ends));
}

static TargetFiles *
files_with_time(gint64 left_us)
{
    const TargetFilesOptions options = {.closed = TRUE};
    TargetFiles *files = target_files_new(&options);
    g_assert_true(target_files_take_time(files, TARGET_FILES_MAX_TIME - left_us));
    return files;
}

static TargetFiles *
files_with_little_time(void)
{
    return files_with_time(LEFT_MS * 1000);
}

static void
test_tables_that_refer_to_each_other(void)
{
    g_autoptr(GByteArray) info = g_byte_array_new(), abbreviations = g_byte_array_new();
    g_autoptr(TargetFiles) files = files_with_little_time();
    g_autoptr(Names) names = names_new();
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    g_autoptr(Image) program = image_open_descriptor(NULL, self, "/proc/self/exe", NULL);
    ObjectAsked asked = {.address = 0x1000}, *all[] = {&asked};
    add_unit(info, abbreviations);
    const ImageSection sections[DWARF_N_SECTIONS] = {
        [DWARF_INFO] = {.data = info->data, .size = info->len},
        [DWARF_ABBREV] = {.data = abbreviations->data, .size = abbreviations->len},
    };
    gint64 began = thread_time_us();
    g_autoptr(DwarfFile) file = dwarf_file_from_sections(program, sections);
    g_assert_nonnull(file);
    const DwarfUnit *unit = &g_array_index(file->units, DwarfUnit, 0);
    patience_begin(files);
    dwarf_functions_answer(&(DwarfQuestion){unit, unit, all, 1, 0, names});
    patience_end();
    g_assert_true(target_files_ran_out(files));
    g_assert_cmpint(thread_time_us() - began, <, ENOUGH_S * G_USEC_PER_SEC);
    close(self);
}

static TargetFiles *
files_with_memory(guint64 left)
{
    const TargetFilesOptions options = {.closed = TRUE};
    TargetFiles *files = target_files_new(&options);
    g_assert_true(target_files_take_memory(files, TARGET_FILES_MAX_MEMORY - left));
    return files;
}

/* What a unit of SECTIONS says about the address 0x1000, as one of a file that is not trusted. */
static Symbol
ask_with_memory(TargetFiles *files, const ImageSection sections[DWARF_N_SECTIONS], Names *names)
{
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    g_autoptr(Image) program = image_open_descriptor(NULL, self, "/proc/self/exe", NULL);
    g_autoptr(DwarfFile) file = dwarf_file_from_sections(program, sections);
    g_assert_nonnull(file);
    const DwarfUnit *unit = &g_array_index(file->units, DwarfUnit, 0);
    ObjectAsked asked = {.address = 0x1000}, *all[] = {&asked};
    patience_begin(files);
    dwarf_functions_answer(&(DwarfQuestion){unit, unit, all, 1, 0, names});
    patience_end();
    close(self);
    return asked.symbol;
}

/* Entries of one byte each that cover the same address, after a function that does: ENTRY is 2, more functions, or 3,
 * calls that are inlined in it. */
static void
check_entries_of_one_address(guint8 entry)
{
    static const guint8 abbreviations[] = {1,
                                           DW_TAG_compile_unit,
                                           1,
                                           0,
                                           0,
                                           2,
                                           DW_TAG_subprogram,
                                           0,
                                           DW_AT_ranges,
                                           DW_FORM_implicit_const,
                                           0,
                                           0,
                                           0,
                                           3,
                                           DW_TAG_inlined_subroutine,
                                           0,
                                           DW_AT_ranges,
                                           DW_FORM_implicit_const,
                                           0,
                                           0,
                                           0,
                                           0};
    static const guint8 ranges[] = {DW_RLE_offset_pair, 0, 0x80, 0x40, DW_RLE_end_of_list}; /* 0 to 0x2000 */
    const guint8 head[] = {0, 0, 0, 0, 5, 0, DW_UT_compile, 8, 0, 0, 0, 0, 1, 2};
    g_autoptr(TargetFiles) files = files_with_memory(ENOUGH_BYTES);
    g_autoptr(GByteArray) info = g_byte_array_new();
    g_autoptr(Names) names = names_new();
    g_byte_array_append(info, head, sizeof(head));
    g_byte_array_set_size(info, sizeof(head) + ENTRIES);
    memset(info->data + sizeof(head), entry, ENTRIES);
    const guint32 length = GUINT32_TO_LE(info->len - 4);
    memcpy(info->data, &length, sizeof(length));
    const ImageSection sections[DWARF_N_SECTIONS] = {
        [DWARF_INFO] = {.data = info->data, .size = info->len},
        [DWARF_ABBREV] = {.data = abbreviations, .size = sizeof(abbreviations)},
        [DWARF_RNGLISTS] = {.data = ranges, .size = sizeof(ranges)},
    };
    const Symbol symbol = ask_with_memory(files, sections, names);
    g_assert_cmpuint(symbol.n_frames, ==, 1);
    g_assert_cmpuint(target_files_left_out(files), ==, 0);
}

static void
test_entries_of_one_address(void)
{
    check_entries_of_one_address(2);
    check_entries_of_one_address(3);
}

static void
test_tables_that_become_large(void)
{
    g_autoptr(GByteArray) info = g_byte_array_new(), abbreviations = g_byte_array_new();
    g_autoptr(TargetFiles) files = files_with_memory(ENOUGH_BYTES);
    g_autoptr(Names) names = names_new();
    add_unit(info, abbreviations);
    const ImageSection sections[DWARF_N_SECTIONS] = {
        [DWARF_INFO] = {.data = info->data, .size = info->len},
        [DWARF_ABBREV] = {.data = abbreviations->data, .size = abbreviations->len},
    };
    g_assert_cmpuint(ask_with_memory(files, sections, names).n_frames, ==, 0);
    g_assert_cmpuint(target_files_left_out(files), ==, 1);
    g_assert_true(target_files_take_memory(files, ENOUGH_BYTES)); /* what was held is free again */
}

static void
test_memory(void)
{
    g_autoptr(TargetFiles) files = files_with_memory(ENOUGH_BYTES);
    patience_begin(files);
    g_assert_true(patience_keep(1));
    g_assert_true(patience_hold(1));
    g_assert_false(patience_hold(ENOUGH_BYTES));
    g_assert_false(patience_spend(1));
    g_assert_false(patience_keep(1));
    patience_begin(files);
    g_assert_true(patience_spend(1));
    g_assert_true(patience_hold(ENOUGH_BYTES - 1));
    patience_begin(NULL);
    g_assert_true(patience_hold(TARGET_FILES_MAX_MEMORY));
    g_assert_true(patience_keep(TARGET_FILES_MAX_MEMORY));
    patience_end();
    g_assert_true(target_files_take_memory(files, ENOUGH_BYTES - 1));
    g_assert_false(target_files_take_memory(files, 1));
}

static void
test_trusted_files_have_any_time(void)
{
    g_autoptr(TargetFiles) files = files_with_little_time();
    g_assert_false(target_files_take_time(files, TARGET_FILES_MAX_TIME));
    patience_begin(NULL);
    for (guint i = 0; i < 16; i++)
        g_assert_true(patience_spend(PATIENCE_UNSEEN));
    patience_end();
    patience_begin(files);
    g_assert_false(patience_spend(1));
    g_assert_false(patience_spend(1));
    patience_end();
    g_assert_true(patience_spend(PATIENCE_UNSEEN));
}

static gint
compare_tens(gconstpointer a, gconstpointer b)
{
    return *(const gint *)a / 10 - *(const gint *)b / 10;
}

static gint compared;

static gint
compare_counted(gconstpointer a, gconstpointer b)
{
    compared++;
    return compare_tens(a, b);
}

static GArray *
numbers(guint n)
{
    GArray *array = g_array_new(FALSE, FALSE, sizeof(gint));
    for (guint i = 0; i < n; i++) {
        const gint number = (gint)((guint64)i * 7919 % 1000003);
        g_array_append_val(array, number);
    }
    return array;
}

static void
test_sort(void)
{
    static const guint lengths[] = {0, 1, 4095, 4096, 4097, 8192, 12289, 65536, 100000};
    for (gsize i = 0; i < G_N_ELEMENTS(lengths); i++) {
        g_autoptr(GArray) ours = numbers(lengths[i]), theirs = numbers(lengths[i]);
        patience_sort(ours, compare_tens);
        g_array_sort(theirs, compare_tens);
        g_assert_cmpmem(ours->data, ours->len * sizeof(gint), theirs->data, theirs->len * sizeof(gint));
    }
}

static void
test_sort_ends(void)
{
    g_autoptr(TargetFiles) files = files_with_little_time();
    g_autoptr(GArray) array = numbers(SORTED);
    g_assert_false(target_files_take_time(files, TARGET_FILES_MAX_TIME));
    patience_begin(files);
    patience_sort(array, compare_counted);
    patience_end();
    g_assert_cmpuint(array->len, ==, 0);
    g_assert_cmpint(compared, ==, 0);
}

/* This program as a file of another user; NULL if that needs rights that are missing. */
static Image *
image_of_another_user(TargetFiles *files)
{
    g_autofree char *path = NULL, *program = NULL;
    gsize size;
    int fd = g_file_open_tmp("jescope-patience-XXXXXX", &path, NULL);
    g_assert_true(g_file_get_contents("/proc/self/exe", &program, &size, NULL));
    g_assert_cmpint(write(fd, program, size), ==, (gssize)size);
    Image *image = fchown(fd, 65534, 65534) == 0 ? image_open_descriptor(files, fd, path, NULL) : NULL;
    unlink(path);
    close(fd);
    return image;
}

/* Such as one that a program of root's names for a part of its debug information. */
static void
test_file_of_another_user(void)
{
    g_autoptr(TargetFiles) files = files_with_little_time();
    g_autoptr(Image) image = image_of_another_user(files);
    if (image == NULL || image_is_trusted(image)) {
        g_test_skip("only root can give a file away");
        return;
    }
    g_autoptr(DwarfFile) in_time = dwarf_file_open(image, "");
    patience_end();
    if (in_time == NULL) {
        g_test_skip("this program has no debug information");
        return;
    }
    g_assert_false(target_files_take_time(files, TARGET_FILES_MAX_TIME));
    g_assert_null(dwarf_file_open(image, ""));
    g_assert_false(patience_spend(1));
    patience_end();
}

/* This program as a debuginfod server sends it, which is kept in a file of our own. */
static void
test_file_from_a_server(void)
{
    g_autoptr(TargetFiles) files = files_with_little_time();
    const int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    g_autoptr(Image) own = image_open_descriptor(files, self, "/proc/self/exe", NULL);
    g_assert_true(image_is_trusted(own));
    g_autoptr(Image) fetched = image_open_fetched(files, self, "/proc/self/exe", NULL);
    g_assert_nonnull(fetched);
    g_assert_false(image_is_trusted(fetched));
    g_assert_false(target_files_take_time(files, TARGET_FILES_MAX_TIME));
    g_assert_false(patience_spend(PATIENCE_UNSEEN));
    patience_end();
    g_autoptr(Image) late = image_open_fetched(files, self, "/proc/self/exe", NULL);
    g_assert_null(late);
    close(self);
}

/* An ELF file with one section. */
static GByteArray *
elf_with_section(const char *name, guint64 flags, const guint8 *content, gsize size)
{
    static const guint8 ident[EI_NIDENT] = {0x7f, 'E', 'L', 'F', ELFCLASS64, G_BYTE_ORDER == G_LITTLE_ENDIAN ? 1 : 2,
                                            1};
    enum { NOTHING, SECTION, NAMES, N_SECTIONS };
    struct {
        Elf64_Ehdr head;
        Elf64_Shdr sections[N_SECTIONS];
        char names[64];
    } start = {.head = {.e_type = ET_DYN,
                        .e_version = EV_CURRENT,
                        .e_ehsize = sizeof(Elf64_Ehdr),
                        .e_shoff = sizeof(Elf64_Ehdr),
                        .e_shentsize = sizeof(Elf64_Shdr),
                        .e_shnum = N_SECTIONS,
                        .e_shstrndx = NAMES}};
    memcpy(start.head.e_ident, ident, sizeof(ident));
    g_strlcpy(start.names + 1, name, sizeof(start.names) - 1);
    start.sections[SECTION] = (Elf64_Shdr){.sh_name = 1,
                                           .sh_type = SHT_PROGBITS,
                                           .sh_flags = flags,
                                           .sh_offset = sizeof(start),
                                           .sh_size = size,
                                           .sh_addralign = 1};
    start.sections[NAMES] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
                                         .sh_offset = (gsize)(start.names - (char *)&start),
                                         .sh_size = sizeof(start.names),
                                         .sh_addralign = 1};
    GByteArray *file = g_byte_array_new();
    g_byte_array_append(file, (const guint8 *)&start, sizeof(start));
    g_byte_array_append(file, content, (guint)size);
    return file;
}

/* A table of any number of sections may be a hole in a file. */
static void
test_sections_take_memory(void)
{
    static const guint8 ident[EI_NIDENT] = {0x7f, 'E', 'L', 'F', ELFCLASS64, G_BYTE_ORDER == G_LITTLE_ENDIAN ? 1 : 2,
                                            1};
    enum { SECTIONS = 32768 };
    struct {
        Elf64_Ehdr head;
        Elf64_Shdr first;
    } start = {.head = {.e_type = ET_DYN,
                        .e_version = EV_CURRENT,
                        .e_ehsize = sizeof(Elf64_Ehdr),
                        .e_shoff = sizeof(Elf64_Ehdr),
                        .e_shentsize = sizeof(Elf64_Shdr)},
               .first = {.sh_size = SECTIONS}};
    const int fd = memfd_create("sections", MFD_CLOEXEC);
    g_autoptr(TargetFiles) many = files_with_memory(ENOUGH_BYTES), some = files_with_memory(4 * ENOUGH_BYTES);
    memcpy(start.head.e_ident, ident, sizeof(ident));
    g_assert_cmpint(write(fd, &start, sizeof(start)), ==, sizeof(start));
    g_assert_cmpint(ftruncate(fd, sizeof(Elf64_Ehdr) + SECTIONS * sizeof(Elf64_Shdr)), ==, 0);
    g_autoptr(Image) refused = image_open_descriptor(many, fd, "sections", NULL);
    g_assert_null(refused);
    g_assert_cmpuint(target_files_left_out(many), ==, 1);
    g_autoptr(Image) opened = image_open_descriptor(some, fd, "sections", NULL);
    g_assert_nonnull(opened);
    close(fd);
}

/* CONTENT in a section of a file. */
static Image *
open_with_section(TargetFiles *files, const char *name, guint64 flags, const GByteArray *content)
{
    g_autoptr(GByteArray) file = elf_with_section(name, flags, content->data, content->len);
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    int fd = g_file_open_tmp("jescope-patience-XXXXXX", &path, NULL);
    g_assert_cmpint(write(fd, file->data, file->len), ==, file->len);
    Image *image = image_open_descriptor(files, fd, path, &error);
    g_assert_no_error(error);
    unlink(path);
    close(fd);
    return image;
}

typedef gsize Pack(guint8 *to, gsize room, const guint8 *plain, gsize size);

static gsize
pack_zlib(guint8 *to, gsize room, const guint8 *plain, gsize size)
{
    uLongf packed = room;
    g_assert_cmpint(compress2(to, &packed, plain, size, Z_BEST_SPEED), ==, Z_OK);
    return packed;
}

static gsize
pack_zstd(guint8 *to, gsize room, const guint8 *plain, gsize size)
{
    const size_t packed = ZSTD_compress(to, room, plain, size, 1);
    g_assert_false(ZSTD_isError(packed));
    return packed;
}

static gsize
pack_xz(guint8 *to, gsize room, const guint8 *plain, gsize size)
{
    size_t packed = 0;
    g_assert_cmpint(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, plain, size, to, &packed, room), ==, LZMA_OK);
    return packed;
}

/* A section as a linker compresses it; type 0: .gnu_debugdata, which has no header. */
static GByteArray *
packed_section(guint32 type, Pack *pack, const guint8 *plain, gsize size)
{
    const Elf64_Chdr head = {.ch_type = type, .ch_size = size, .ch_addralign = 1};
    const gsize n_head = type != 0 ? sizeof(head) : 0, room = size + (1 << 16);
    GByteArray *section = g_byte_array_new();
    g_byte_array_append(section, (const guint8 *)&head, (guint)n_head);
    g_byte_array_set_size(section, (guint)(n_head + room));
    g_byte_array_set_size(section, (guint)(n_head + pack(section->data + n_head, room, plain, size)));
    return section;
}

static const struct {
    guint32 type;
    Pack *pack;
} packings[] = {{ELFCOMPRESS_ZLIB, pack_zlib}, {2 /* ELFCOMPRESS_ZSTD */, pack_zstd}};

/* What has no order, so that it is compressed to several pieces. */
static guint8 *
some_bytes(gsize size)
{
    guint32 *words = g_malloc(size);
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    for (gsize i = 0; i < size / sizeof(*words); i++)
        words[i] = g_rand_int(rand) & 0x0f0f0f0f;
    return (guint8 *)words;
}

static void
test_sections_are_expanded_in_pieces(void)
{
    enum { SIZE = 3 << 20, CUT = 8 };
    g_autofree guint8 *plain = some_bytes(SIZE);
    for (gsize i = 0; i < G_N_ELEMENTS(packings); i++) {
        g_autoptr(GByteArray) packed = packed_section(packings[i].type, packings[i].pack, plain, SIZE);
        g_autoptr(Image) image = open_with_section(NULL, ".debug_info", SHF_COMPRESSED, packed);
        ImageSection section;
        g_assert_true(image_section(image, ".debug_info", &section));
        g_assert_cmpmem(section.data, section.size, plain, SIZE);
        g_byte_array_set_size(packed, packed->len - CUT);
        g_autoptr(Image) cut = open_with_section(NULL, ".debug_info", SHF_COMPRESSED, packed);
        g_assert_false(image_section(cut, ".debug_info", &section));
    }
}

static void
test_expansion_ends(void)
{
    g_autofree guint8 *plain = some_bytes(LONG);
    for (gsize i = 0; i < G_N_ELEMENTS(packings); i++) {
        g_autoptr(GByteArray) packed = packed_section(packings[i].type, packings[i].pack, plain, LONG);
        g_autoptr(TargetFiles) files = files_with_time(SHORT_US);
        g_autoptr(Image) image = open_with_section(files, ".debug_info", SHF_COMPRESSED, packed);
        ImageSection section;
        patience_begin(files);
        g_assert_false(image_section(image, ".debug_info", &section));
        patience_end();
        g_assert_true(target_files_ran_out(files));
    }
}

/* An image in the image, which has any time in one of this program's own files. */
static void
test_embedded_image_ends(void)
{
    g_autofree guint8 *plain = some_bytes(LONG);
    g_autoptr(GByteArray) inner = elf_with_section(".symtab", 0, plain, LONG);
    g_autoptr(GByteArray) packed = packed_section(0, pack_xz, inner->data, inner->len);
    g_autoptr(TargetFiles) files = files_with_time(SHORT_US);
    g_autoptr(Image) image = open_with_section(files, ".gnu_debugdata", 0, packed);
    g_autoptr(Image) whole = image_open_embedded(image);
    g_assert_nonnull(whole);
    patience_begin(files);
    g_autoptr(Image) late = image_open_embedded(image);
    patience_end();
    g_assert_null(late);
}

/* As many empty blocks as there is room for, which a hole in a file holds. */
static void
test_sections_that_become_nothing(void)
{
    static const guint8 frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, 8, 0, 0, 'x'}, last[] = {1, 0, 0};
    enum { EMPTY = 3 << 20 };
    const Elf64_Chdr head = {.ch_type = 2 /* ELFCOMPRESS_ZSTD */, .ch_size = 1, .ch_addralign = 1};
    g_autoptr(GByteArray) packed = g_byte_array_new();
    ImageSection section;
    g_byte_array_append(packed, (const guint8 *)&head, sizeof(head));
    g_byte_array_append(packed, frame, sizeof(frame));
    g_byte_array_set_size(packed, packed->len + EMPTY);
    memset(packed->data + packed->len - EMPTY, 0, EMPTY);
    g_byte_array_append(packed, last, sizeof(last));
    g_autoptr(Image) image = open_with_section(NULL, ".debug_info", SHF_COMPRESSED, packed);
    g_assert_false(image_section(image, ".debug_info", &section));
}

static void
test_checksum_ends(void)
{
    g_autoptr(GByteArray) content = g_byte_array_new();
    g_byte_array_set_size(content, LONG);
    memset(content->data, 1, LONG);
    g_autoptr(TargetFiles) files = files_with_time(SHORT_US);
    g_autoptr(Image) image = open_with_section(files, ".debug_info", 0, content);
    guint32 crc = 0;
    g_assert_true(image_crc(image, &crc));
    patience_begin(files);
    g_assert_false(image_crc(image, &crc));
    patience_end();
}

/* Its sections may take long as well, before it is known whether they are wanted. */
static void
test_time_counts_from_the_opening(void)
{
    g_autoptr(TargetFiles) files = files_with_little_time();
    g_autoptr(Image) image = image_of_another_user(files);
    if (image == NULL || image_is_trusted(image)) {
        g_test_skip("only root can give a file away");
        return;
    }
    g_assert_false(target_files_take_time(files, TARGET_FILES_MAX_TIME));
    g_assert_false(patience_spend(PATIENCE_UNSEEN));
    patience_end();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/patience/tables-that-refer-to-each-other", test_tables_that_refer_to_each_other);
    g_test_add_func("/patience/entries-of-one-address", test_entries_of_one_address);
    g_test_add_func("/patience/tables-that-become-large", test_tables_that_become_large);
    g_test_add_func("/patience/memory", test_memory);
    g_test_add_func("/patience/sections-take-memory", test_sections_take_memory);
    g_test_add_func("/patience/file-of-another-user", test_file_of_another_user);
    g_test_add_func("/patience/file-from-a-server", test_file_from_a_server);
    g_test_add_func("/patience/time-counts-from-the-opening", test_time_counts_from_the_opening);
    g_test_add_func("/patience/sections-are-expanded-in-pieces", test_sections_are_expanded_in_pieces);
    g_test_add_func("/patience/expansion-ends", test_expansion_ends);
    g_test_add_func("/patience/embedded-image-ends", test_embedded_image_ends);
    g_test_add_func("/patience/sections-that-become-nothing", test_sections_that_become_nothing);
    g_test_add_func("/patience/checksum-ends", test_checksum_ends);
    g_test_add_func("/patience/sort", test_sort);
    g_test_add_func("/patience/sort-ends", test_sort_ends);
    g_test_add_func("/patience/trusted-files-have-any-time", test_trusted_files_have_any_time);
    return g_test_run();
}
