/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf-cursor.h"

enum {
    STRING = 1 << 16,
};

static DwarfCursor
cursor_over(const GByteArray *bytes)
{
    return (DwarfCursor){.at = bytes->data, .end = bytes->data + bytes->len};
}

/* value in n bytes, and one more byte */
static GByteArray *
padded(gint8 value, guint n)
{
    GByteArray *bytes = g_byte_array_new();
    g_byte_array_set_size(bytes, n + 1);
    memset(bytes->data, value < 0 ? 0xff : 0x80, n);
    bytes->data[0] = (guint8)(value | 0x80);
    bytes->data[n - 1] = value < 0 ? 0x7f : 0;
    bytes->data[n] = 1;
    return bytes;
}

static void
test_numbers_are_padded(void)
{
    for (guint n = 2; n <= DWARF_LONGEST_NUMBER; n++) {
        g_autoptr(GByteArray) five = padded(5, n), minus_five = padded(-5, n);
        DwarfCursor cursor = cursor_over(five);
        g_assert_cmpuint(dwarf_cursor_uleb(&cursor), ==, 5);
        g_assert_cmpuint(dwarf_cursor_left(&cursor), ==, 1);
        cursor = cursor_over(minus_five);
        g_assert_cmpint(dwarf_cursor_sleb(&cursor), ==, -5);
        g_assert_cmpuint(dwarf_cursor_left(&cursor), ==, 1);
        g_assert_false(cursor.overrun);
    }
}

static void
test_numbers_end(void)
{
    g_autoptr(GByteArray) five = padded(5, DWARF_LONGEST_NUMBER + 1);
    DwarfCursor cursor = cursor_over(five);
    g_assert_cmpuint(dwarf_cursor_uleb(&cursor), ==, 0);
    g_assert_true(cursor.overrun);
    g_assert_cmpuint(dwarf_cursor_left(&cursor), ==, 0);
    cursor = cursor_over(five);
    g_assert_cmpint(dwarf_cursor_sleb(&cursor), ==, 0);
    g_assert_true(cursor.overrun);
    g_assert_cmpuint(dwarf_cursor_left(&cursor), ==, 0);
}

static void
test_strings_are_work(void)
{
    g_autoptr(GByteArray) text = g_byte_array_new();
    g_byte_array_set_size(text, STRING);
    memset(text->data, 'a', STRING);
    text->data[STRING / 2] = '\0';
    DwarfCursor cursor = cursor_over(text);
    guint64 before = patience_unseen;
    g_assert_nonnull(dwarf_cursor_string(&cursor));
    g_assert_cmpuint(patience_unseen - before, >=, STRING / 2 >> 4);
    before = patience_unseen;
    g_assert_null(dwarf_cursor_string(&cursor));
    g_assert_true(cursor.overrun);
    g_assert_cmpuint(patience_unseen - before, >=, (STRING / 2 - 1) >> 4);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dwarf-cursor/numbers-are-padded", test_numbers_are_padded);
    g_test_add_func("/dwarf-cursor/numbers-end", test_numbers_end);
    g_test_add_func("/dwarf-cursor/strings-are-work", test_strings_are_work);
    return g_test_run();
}
