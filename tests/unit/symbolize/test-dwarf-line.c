/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of directories and files that stand for more than their bytes. */
#include "symbolize/dwarf-line.h"
#include "symbolize/patience.h"

#include <dwarf.h>

enum {
    MOST_ROWS = 1 << 20,
    ROWS = 64,
    COLUMNS = 255,
};

static void
add(GByteArray *bytes, guint64 value, guint size)
{
    value = GUINT64_TO_LE(value);
    g_byte_array_append(bytes, (const guint8 *)&value, size);
}

static void
add_number(GByteArray *bytes, guint64 value)
{
    for (; value >= 0x80; value >>= 7)
        add(bytes, (value & 0x7f) | 0x80, 1);
    add(bytes, value, 1);
}

/* The program with these tables, and no instructions. */
static DwarfLines *
open_lines(guint16 version, const GByteArray *tables)
{
    g_autoptr(GByteArray) section = g_byte_array_new();
    const guint fixed = version >= 4 ? 6 : 5; /* with no standard opcodes */
    add(section, 2 + (version >= 5 ? 2 : 0) + 4 + fixed + tables->len, 4);
    add(section, version, 2);
    if (version >= 5)
        add(section, 8, 2);
    add(section, fixed + tables->len, 4);
    add(section, version >= 4 ? 0x0101 : 1, version >= 4 ? 2 : 1);
    add(section, 0x010efb01, 4);
    g_byte_array_append(section, tables->data, tables->len);
    const DwarfFile file = {.sections[DWARF_LINE] = {.data = section->data, .size = section->len}};
    const DwarfUnit unit = {.file = &file, .version = version, .address_size = 8, .offset_size = 4};
    return dwarf_lines_new(&unit);
}

/* Two tables of version 5, the second empty; each row of the first has n_columns, the first of which has the form. */
static GByteArray *
new_tables(guint8 form, guint n_columns, guint rows, guint bytes)
{
    GByteArray *tables = g_byte_array_new();
    add(tables, n_columns, 1);
    for (guint i = 0; i < n_columns; i++) {
        add_number(tables, DW_LNCT_size);
        add_number(tables, i == 0 ? form : DW_FORM_flag_present);
    }
    add_number(tables, rows);
    g_byte_array_set_size(tables, tables->len + bytes);
    memset(tables->data + tables->len - bytes, 0, bytes);
    add(tables, 0, 2);
    return tables;
}

static gboolean
is_readable(guint8 form, guint n_columns, guint rows, guint bytes)
{
    g_autoptr(GByteArray) tables = new_tables(form, n_columns, rows, bytes);
    DwarfLines *lines = open_lines(5, tables);
    gboolean readable = lines != NULL;
    g_clear_pointer(&lines, dwarf_lines_free);
    return readable;
}

static void
test_rows_without_a_byte(void)
{
    g_assert_true(is_readable(DW_FORM_data1, 1, ROWS, ROWS));
    g_assert_true(is_readable(DW_FORM_flag_present, 1, 0, 0));
    g_assert_false(is_readable(DW_FORM_flag_present, 1, 1, 0));
    g_assert_false(is_readable(DW_FORM_flag_present, COLUMNS, ROWS, ROWS));
    g_assert_false(is_readable(DW_FORM_flag_present, 0, 1, 1));
}

static void
test_columns_are_work(void)
{
    guint64 before = patience_unseen;
    g_assert_true(is_readable(DW_FORM_data1, COLUMNS, ROWS, ROWS));
    g_assert_cmpuint(patience_unseen - before, >=, ROWS * COLUMNS);
}

static void
test_rows_are_bounded(void)
{
    g_assert_true(is_readable(DW_FORM_data1, 1, MOST_ROWS, MOST_ROWS));
    g_assert_false(is_readable(DW_FORM_data1, 1, MOST_ROWS + 1, MOST_ROWS + 1));
}

/* Of version 4: names of one letter, each file with three numbers. */
static GByteArray *
old_tables(guint directories, guint files)
{
    GByteArray *tables = g_byte_array_new();
    for (guint i = 0; i < directories; i++)
        add(tables, 'd', 2);
    add(tables, 0, 1);
    for (guint i = 0; i < files; i++)
        add(tables, 'f', 5);
    add(tables, 0, 1);
    return tables;
}

static gboolean
is_old_readable(guint directories, guint files)
{
    g_autoptr(GByteArray) tables = old_tables(directories, files);
    DwarfLines *lines = open_lines(4, tables);
    gboolean readable = lines != NULL;
    g_clear_pointer(&lines, dwarf_lines_free);
    return readable;
}

/* Each table has a first row of its own: the unit's directory, and a file that is not used. */
static void
test_old_rows_are_bounded(void)
{
    g_assert_true(is_old_readable(MOST_ROWS - 1, MOST_ROWS - 1));
    g_assert_false(is_old_readable(MOST_ROWS, 0));
    g_assert_false(is_old_readable(0, MOST_ROWS));
}

static void
test_old_names_are_work(void)
{
    guint64 before = patience_unseen;
    g_assert_true(is_old_readable(ROWS, ROWS));
    g_assert_cmpuint(patience_unseen - before, >=, 2 * ROWS * 16);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dwarf-line/rows-without-a-byte", test_rows_without_a_byte);
    g_test_add_func("/dwarf-line/columns-are-work", test_columns_are_work);
    g_test_add_func("/dwarf-line/rows-are-bounded", test_rows_are_bounded);
    g_test_add_func("/dwarf-line/old-rows-are-bounded", test_old_rows_are_bounded);
    g_test_add_func("/dwarf-line/old-names-are-work", test_old_names_are_work);
    return g_test_run();
}
