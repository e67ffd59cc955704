/* SPDX-License-Identifier: Apache-2.0 */
#include "history/section.h"

#include "history/history.h"

#include <string.h>

static void
set(Section *section, guint32 owner, guint16 metric, guint64 value)
{
    SectionKey key = {.owner = owner, .metric = metric};
    section_set(section, &key, value);
}

static Section *
again(const Section *section)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = section_encode(section, 3);
    gsize length;
    const void *data = g_bytes_get_data(bytes, &length);
    Section *read = section_decode(data, length, &error);
    g_assert_no_error(error);
    section_load(read, &error);
    g_assert_no_error(error);
    return read;
}

static void
assert_value(const Section *section, guint32 owner, guint16 metric, guint row, guint64 expected)
{
    SectionKey key = {.owner = owner, .metric = metric};
    guint index = 0;
    guint64 value;
    while (section_key_compare(section_key(section, index), &key) != 0)
        g_assert_cmpuint(++index, <, section_columns(section));
    g_assert_true(section_get(section, index, row, &value));
    g_assert_cmpuint(value, ==, expected);
}

/* As of two size classes of one size, of which a section of one row made two columns that no reader took. */
static void
test_same_key_in_the_first_row(void)
{
    g_autoptr(Section) section = section_new();
    section_add_row(section);
    set(section, 1, 5, 10);
    set(section, 1, 6, 20);
    set(section, 1, 5, 30);
    set(section, 1, 6, 40);
    set(section, 1, 7, 50);
    set(section, 1, 6, 60);
    g_autoptr(Section) read = again(section);
    g_assert_cmpuint(section_columns(read), ==, 3);
    assert_value(read, 1, 5, 0, 30);
    assert_value(read, 1, 6, 0, 60);
    assert_value(read, 1, 7, 0, 50);
}

static void
test_extremes(void)
{
    static const guint64 values[] = {0, 1, G_MAXUINT64, G_MAXUINT64 - 1,   G_GUINT64_CONSTANT(1) << 63,
                                     0, 0, 0,           12345678901234567, 42};
    g_autoptr(Section) section = section_new();
    for (guint row = 0; row < G_N_ELEMENTS(values); row++) {
        section_add_row(section);
        set(section, 0, 7, values[row]);
        set(section, 4098, 65535, ~values[row]);
    }
    g_autoptr(Section) read = again(section);
    g_assert_cmpuint(section_rows(read), ==, G_N_ELEMENTS(values));
    g_assert_cmpuint(section_columns(read), ==, 2);
    for (guint row = 0; row < G_N_ELEMENTS(values); row++) {
        assert_value(read, 0, 7, row, values[row]);
        assert_value(read, 4098, 65535, row, ~values[row]);
    }
}

/* Columns that come and go, in an order that changes, over more rows than one bitmap word. */
static void
test_holes(void)
{
    g_autoptr(Section) section = section_new();
    for (guint row = 0; row < 200; row++) {
        section_add_row(section);
        if (row % 2 == 0)
            set(section, 2, 1, row * 3);
        if (row % 7 == 0)
            set(section, 1, 9, row);
        if (row == 150)
            set(section, 1, 5, 99);
    }
    g_autoptr(Section) read = again(section);
    g_assert_cmpuint(section_key(read, 0)->metric, ==, 5);
    g_assert_cmpuint(section_key(read, 1)->metric, ==, 9);
    g_assert_cmpuint(section_key(read, 2)->owner, ==, 2);
    for (guint row = 0; row < 200; row++) {
        guint64 value = 77;
        g_assert_cmpint(section_get(read, 2, row, &value), ==, row % 2 == 0);
        g_assert_cmpuint(value, ==, row % 2 == 0 ? row * 3 : 77);
        g_assert_cmpint(section_get(read, 0, row, &value), ==, row == 150);
    }
}

static void
test_copy_row(void)
{
    g_autoptr(Section) section = section_new();
    for (guint row = 0; row < 3; row++) {
        section_add_row(section);
        set(section, row, 1, row + 10);
    }
    g_autoptr(Section) copy = section_new();
    section_copy_row(copy, section, 2);
    section_copy_row(copy, section, 0);
    g_autoptr(Section) read = again(copy);
    assert_value(read, 2, 1, 0, 12);
    assert_value(read, 0, 1, 1, 10);
}

/* A steady counter and a constant cost nearly nothing. */
static void
test_compact(void)
{
    g_autoptr(Section) section = section_new();
    for (guint row = 0; row < 512; row++) {
        section_add_row(section);
        set(section, 0, 1, G_GUINT64_CONSTANT(1) << 40);
        set(section, 0, 2, G_GUINT64_CONSTANT(1000000007) * row);
    }
    g_autoptr(GBytes) bytes = section_encode(section, 3);
    g_assert_cmpuint(g_bytes_get_size(bytes), <, 64);
}

static void
try_bytes(const guint8 *bytes, gsize length)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Section) section = section_decode(bytes, length, &error);
    if (section != NULL)
        section_load(section, &error);
    if (error != NULL)
        g_assert_error(error, HISTORY_ERROR, HISTORY_ERROR_DAMAGED);
}

/* Every cut and every flipped byte is either noticed or yields some section; never anything else. */
static void
test_damage(void)
{
    g_autoptr(Section) section = section_new();
    for (guint row = 0; row < 20; row++) {
        section_add_row(section);
        for (guint16 metric = 1; metric < 9; metric++)
            if (row % metric == 0)
                set(section, metric / 2, metric, row * 12345 * metric);
    }
    g_autoptr(GBytes) bytes = section_encode(section, 3);
    gsize length;
    const guint8 *data = g_bytes_get_data(bytes, &length);
    for (gsize cut = 0; cut < length; cut++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Section) read = section_decode(data, cut, &error);
        g_assert_null(read);
        g_assert_error(error, HISTORY_ERROR, HISTORY_ERROR_DAMAGED);
    }
    for (gsize at = 0; at < length; at++)
        for (guint bit = 0; bit < 8; bit++) {
            g_autofree guint8 *changed = g_memdup2(data, length);
            changed[at] ^= (guint8)(1u << bit);
            try_bytes(changed, length);
        }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/section/same-key-in-the-first-row", test_same_key_in_the_first_row);
    g_test_add_func("/section/extremes", test_extremes);
    g_test_add_func("/section/holes", test_holes);
    g_test_add_func("/section/copy-row", test_copy_row);
    g_test_add_func("/section/compact", test_compact);
    g_test_add_func("/section/damage", test_damage);
    return g_test_run();
}
