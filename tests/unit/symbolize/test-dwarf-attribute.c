/* SPDX-License-Identifier: Apache-2.0 */
/* Tables in which a number, or a chain of forms, is as long as its section. */
#include "symbolize/dwarf-file.h"

#include <dwarf.h>
#include <fcntl.h>
#include <unistd.h>

enum {
    LONG = 1 << 16,
};

static const guint8 info[] = {8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1};

static DwarfFile *
open_unit(const GByteArray *abbreviations)
{
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    g_autoptr(Image) program = image_open_descriptor(NULL, self, "/proc/self/exe", NULL);
    const ImageSection sections[DWARF_N_SECTIONS] = {
        [DWARF_INFO] = {.data = info, .size = sizeof(info)},
        [DWARF_ABBREV] = {.data = abbreviations->data, .size = abbreviations->len},
    };
    DwarfFile *file = dwarf_file_from_sections(program, sections);
    g_assert_nonnull(file);
    close(self);
    return file;
}

/* The abbreviation of the root entry, with its code in n bytes. */
static GByteArray *
abbreviation(guint n)
{
    static const guint8 rest[] = {DW_TAG_compile_unit, 0, 0, 0, 0};
    GByteArray *bytes = g_byte_array_new();
    g_byte_array_set_size(bytes, n);
    memset(bytes->data, 0x80, n);
    bytes->data[0] |= 1;
    bytes->data[n - 1] &= 0x7f;
    return g_byte_array_append(bytes, rest, sizeof(rest));
}

static void
check_abbreviation(guint bytes, guint16 tag)
{
    g_autoptr(GByteArray) table = abbreviation(bytes);
    g_autoptr(DwarfFile) file = open_unit(table);
    const DwarfUnit *unit = &g_array_index(file->units, DwarfUnit, 0);
    g_autoptr(DwarfAbbrevs) abbrevs = dwarf_abbrevs_new(unit);
    g_assert_cmpuint(unit->tag, ==, tag);
    g_assert_cmpuint(abbrevs->abbrevs->len, ==, tag != 0);
}

static void
test_code_of_any_length(void)
{
    check_abbreviation(1, DW_TAG_compile_unit);
    check_abbreviation(DWARF_LONGEST_NUMBER, DW_TAG_compile_unit);
    check_abbreviation(LONG, 0);
}

static void
test_chain_of_indirect_forms(void)
{
    static const guint8 once[] = {DW_FORM_data1, 7}, chain[] = {DW_FORM_indirect, DW_FORM_indirect, DW_FORM_data1, 7};
    const DwarfSpec spec = {.name = DW_AT_language, .form = DW_FORM_indirect};
    const DwarfUnit unit = {.version = 4, .address_size = 8, .offset_size = 4};
    DwarfAttribute attribute;
    DwarfCursor cursor = {.at = once, .end = once + sizeof(once)};
    g_assert_true(dwarf_attribute_read(&cursor, &unit, &spec, &attribute));
    g_assert_cmpuint(attribute.number, ==, 7);
    cursor = (DwarfCursor){.at = chain, .end = chain + sizeof(chain)};
    g_assert_false(dwarf_attribute_read(&cursor, &unit, &spec, &attribute));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dwarf-attribute/code-of-any-length", test_code_of_any_length);
    g_test_add_func("/dwarf-attribute/chain-of-indirect-forms", test_chain_of_indirect_forms);
    return g_test_run();
}
