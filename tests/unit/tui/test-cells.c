/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/cells.h"

#include <locale.h>

static char *
drawn(guint columns, const char *text)
{
    g_autoptr(Cells) cells = cells_new(1, columns);
    cells_put(cells, (CellSpan){0, 0, columns}, CELL_PLAIN, text);
    return cells_text(cells);
}

static void
assert_drawn(guint columns, const char *text, const char *expected)
{
    g_autofree char *found = drawn(columns, text);
    g_assert_cmpstr(found, ==, expected);
}

static void
test_cut(void)
{
    assert_drawn(8, "12345678", "12345678\n");
    assert_drawn(8, "123456789", "1234567\u2026\n");
    assert_drawn(1, "12", "\u2026\n");
    assert_drawn(4, "", "");
}

/* A wide letter takes two cells and is never cut in two. */
static void
test_wide(void)
{
    assert_drawn(4, "\u6f22\u5b57", "\u6f22\u5b57\n");
    assert_drawn(3, "\u6f22\u5b57", "\u6f22\u2026\n");
    assert_drawn(2, "a\u6f22", "a\u2026\n");
}

static void
test_overwritten_halves(void)
{
    g_autoptr(Cells) cells = cells_new(1, 6);
    cells_put(cells, (CellSpan){0, 0, 6}, CELL_PLAIN, "\u6f22\u5b57\u6f22");
    cells_put(cells, (CellSpan){0, 1, 1}, CELL_PLAIN, "x");
    cells_put(cells, (CellSpan){0, 2, 1}, CELL_PLAIN, "y");
    g_autofree char *text = cells_text(cells);
    g_assert_cmpstr(text, ==, " xy \u6f22\n");
}

static void
test_marks(void)
{
    assert_drawn(4, "e\u0301x", "e\u0301x\n");
    assert_drawn(4, "\u6f22\u0301x", "\u6f22\u0301x\n");
    assert_drawn(4, "\u0301x", "x\n");
    assert_drawn(4, "e\u0301\u0301\u0301\u0301\u0301x", "e\u0301\u0301\u0301x\n");
}

static void
test_hostile(void)
{
    assert_drawn(20, "a\033[2Jb", "a?[2Jb\n");
    assert_drawn(20,
                 "a\xc2\x9b"
                 "b\u202ec\u200bd\x7f",
                 "a?b?c?d?\n");
    assert_drawn(20, "a\xff\xfe\n\tb", "a????b\n");
}

static void
test_outside(void)
{
    g_autoptr(Cells) cells = cells_new(2, 4);
    g_assert_cmpuint(cells_put(cells, (CellSpan){2, 0, 4}, CELL_PLAIN, "x"), ==, 0);
    g_assert_cmpuint(cells_put(cells, (CellSpan){0, 4, 4}, CELL_PLAIN, "x"), ==, 0);
    g_assert_cmpuint(cells_put(cells, (CellSpan){1, 2, 400}, CELL_PLAIN, "xyz"), ==, 2);
    cells_put_right(cells, (CellSpan){0, 0, 4}, CELL_PLAIN, "ab");
    g_autofree char *text = cells_text(cells);
    g_assert_cmpstr(text, ==, "  ab\n  x\u2026\n");
}

int
main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tui/cells/cut", test_cut);
    g_test_add_func("/tui/cells/wide", test_wide);
    g_test_add_func("/tui/cells/overwritten-halves", test_overwritten_halves);
    g_test_add_func("/tui/cells/marks", test_marks);
    g_test_add_func("/tui/cells/hostile", test_hostile);
    g_test_add_func("/tui/cells/outside", test_outside);
    return g_test_run();
}
