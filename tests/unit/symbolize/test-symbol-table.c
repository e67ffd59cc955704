/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbol-table.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Functions of this program itself, with what the table must make of them. */
__asm__(".text\n"
        ".globl zz_sized\n.type zz_sized, @function\nzz_sized:\n.weak zz_weak\n.type zz_weak, @function\nzz_weak:\n"
        ".globl __zz_under\n.type __zz_under, @function\n__zz_under:\n"
        ".skip 8, 0x90\nzz_inner:\n.skip 8, 0x90\n"
        ".size zz_sized, 16\n.size zz_weak, 16\n.size __zz_under, 16\n"
        ".skip 16, 0x90\n" /* not in a function */
        ".globl zz_sizeless\n.type zz_sizeless, @function\nzz_sizeless:\n.skip 16, 0x90\n"
        ".globl zz_next\n.type zz_next, @function\nzz_next:\n.skip 4, 0x90\n.size zz_next, 4\n"
        ".skip 12, 0x90\n"
        ".globl zz_labels\nzz_labels:\n.skip 4, 0x90\n"
        ".globl zz_end\n.type zz_end, @function\nzz_end:\nret\n.size zz_end, 1\n"
        ".data\n.globl zz_data\n.type zz_data, @object\n.size zz_data, 8\nzz_data:\n.quad 0\n.text\n");
extern const char zz_sized[], zz_sizeless[], zz_next[], zz_labels[], zz_data[];

typedef struct {
    Image *image;
    SymbolTable *table;
    guint64 bias;
} Fixture;

/* The bias of this program is where its ELF header lies. */
extern const char __ehdr_start[];

static Image *
open_self(GError **error)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    Image *image = image_open_descriptor(NULL, fd, "/proc/self/exe", error);
    close(fd);
    return image;
}

static void
set_up(Fixture *fixture, gconstpointer data)
{
    GError *error = NULL;
    fixture->image = open_self(&error);
    g_assert_no_error(error);
    fixture->table = symbol_table_new();
    g_assert_true(symbol_table_add(fixture->table, fixture->image, SYMBOL_TABLE_ALL));
    symbol_table_seal(fixture->table);
    fixture->bias = (guint64)(guintptr)__ehdr_start;
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    symbol_table_free(fixture->table);
    image_unref(fixture->image);
}

static char *
name_at(const Fixture *fixture, const char *place, gsize offset)
{
    gsize length = 0;
    const char *name = symbol_table_find(fixture->table, (guint64)(guintptr)place + offset - fixture->bias, &length);
    return name != NULL ? g_strndup(name, length) : NULL;
}

static void
assert_name(const Fixture *fixture, const char *place, gsize offset, const char *expected)
{
    g_autofree char *name = name_at(fixture, place, offset);
    g_assert_cmpstr(name, ==, expected);
}

static void
test_best_alias_wins(Fixture *fixture, gconstpointer data)
{
    assert_name(fixture, zz_sized, 0, "zz_sized");
}

static void
test_label_inside_is_no_function(Fixture *fixture, gconstpointer data)
{
    assert_name(fixture, zz_sized, 8, "zz_sized");
    assert_name(fixture, zz_sized, 15, "zz_sized");
}

static void
test_gap_has_no_name(Fixture *fixture, gconstpointer data)
{
    assert_name(fixture, zz_sized, 16, NULL);
    assert_name(fixture, zz_sized, 31, NULL);
}

static void
test_sizeless_ends_at_next(Fixture *fixture, gconstpointer data)
{
    assert_name(fixture, zz_sizeless, 0, "zz_sizeless");
    assert_name(fixture, zz_sizeless, 15, "zz_sizeless");
    assert_name(fixture, zz_next, 0, "zz_next");
    assert_name(fixture, zz_next, 4, NULL);
}

static void
test_untyped_label_counts(Fixture *fixture, gconstpointer data)
{
    assert_name(fixture, zz_labels, 3, "zz_labels");
}

static void
test_data_has_no_name(Fixture *fixture, gconstpointer data)
{
    assert_name(fixture, zz_data, 0, NULL);
}

static void
test_start_is_exact(Fixture *fixture, gconstpointer data)
{
    gsize length;
    guint64 address = (guint64)(guintptr)zz_sized - fixture->bias;
    g_assert_nonnull(symbol_table_find_start(fixture->table, address, &length));
    g_assert_null(symbol_table_find_start(fixture->table, address + 1, &length));
}

/* A size-less name of .dynsym says nothing about the local functions behind it. */
static void
test_exported_sizeless_is_not_taken(void)
{
    g_autoptr(Image) image = open_self(NULL);
    g_autoptr(SymbolTable) table = symbol_table_new();
    symbol_table_add(table, image, SYMBOL_TABLE_EXPORTED);
    symbol_table_seal(table);
    gsize length;
    guint64 bias = (guint64)(guintptr)__ehdr_start;
    g_assert_nonnull(symbol_table_find(table, (guint64)(guintptr)zz_sized - bias, &length));
    g_assert_null(symbol_table_find(table, (guint64)(guintptr)zz_sizeless - bias, &length));
}

#define ADD(name, test) g_test_add("/symbol-table/" name, Fixture, NULL, set_up, test, tear_down)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("best-alias-wins", test_best_alias_wins);
    ADD("label-inside-is-no-function", test_label_inside_is_no_function);
    ADD("gap-has-no-name", test_gap_has_no_name);
    ADD("sizeless-ends-at-next", test_sizeless_ends_at_next);
    ADD("untyped-label-counts", test_untyped_label_counts);
    ADD("data-has-no-name", test_data_has_no_name);
    ADD("start-is-exact", test_start_is_exact);
    g_test_add_func("/symbol-table/exported-sizeless-is-not-taken", test_exported_sizeless_is_not_taken);
    return g_test_run();
}
