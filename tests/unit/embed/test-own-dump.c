/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/own-dump.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
    char *directory;
    char *prefix;
    int dump;
} Scratch;

static void
set_up(Scratch *scratch, gconstpointer data)
{
    scratch->directory = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    scratch->prefix = g_build_filename(scratch->directory, "je", NULL);
    scratch->dump = memfd_create("dump", 0);
    g_assert_cmpint(write(scratch->dump, "heap_v2/1\n", 10), ==, 10);
}

static void
tear_down(Scratch *scratch, gconstpointer data)
{
    GDir *directory = g_dir_open(scratch->directory, 0, NULL);
    for (const char *name; (name = g_dir_read_name(directory)) != NULL;) {
        g_autofree char *path = g_build_filename(scratch->directory, name, NULL);
        g_remove(path);
    }
    g_dir_close(directory);
    g_rmdir(scratch->directory);
    g_free(scratch->directory);
    g_free(scratch->prefix);
    close(scratch->dump);
}

static char *
name_of(const Scratch *scratch, unsigned n)
{
    return g_strdup_printf("%s.%d.%u.m%u.heap", scratch->prefix, (int)getpid(), n, n);
}

static void
test_is_numbered(Scratch *scratch, gconstpointer data)
{
    for (unsigned n = 0; n < 3; n++) {
        g_autofree char *name = name_of(scratch, n);
        g_autofree char *text = NULL;
        g_assert_true(own_dump_store(scratch->prefix, scratch->dump));
        g_assert_true(g_file_get_contents(name, &text, NULL, NULL));
        g_assert_cmpstr(text, ==, "heap_v2/1\n");
    }
}

/* Files created by others at a predictable name. */
static void
test_follows_and_overwrites_nothing(Scratch *scratch, gconstpointer data)
{
    g_autofree char *other = g_build_filename(scratch->directory, "other", NULL);
    g_autofree char *missing = g_build_filename(scratch->directory, "missing", NULL);
    g_autofree char *first = name_of(scratch, 0), *second = name_of(scratch, 1), *third = name_of(scratch, 2);
    g_autofree char *text = NULL;
    char path[PATH_MAX];
    g_assert_true(g_file_set_contents(other, "other", -1, NULL));
    g_assert_cmpint(symlink(other, first), ==, 0);
    g_assert_cmpint(symlink(missing, second), ==, 0);
    int fd = own_dump_create(scratch->prefix, path, sizeof(path));
    g_assert_cmpint(fd, >=, 0);
    close(fd);
    g_assert_cmpstr(path, ==, third);
    g_assert_true(g_file_get_contents(other, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "other");
    g_assert_false(g_file_test(missing, G_FILE_TEST_EXISTS));
}

static void
test_where_there_is_no_place(Scratch *scratch, gconstpointer data)
{
    char path[PATH_MAX];
    g_autofree char *lost = g_build_filename(scratch->directory, "lost", "je", NULL);
    g_autofree char *longest = g_strnfill(PATH_MAX, 'a');
    g_assert_cmpint(own_dump_create("", path, sizeof(path)), ==, -1);
    g_assert_cmpint(errno, ==, EINVAL);
    g_assert_cmpint(own_dump_create(lost, path, sizeof(path)), ==, -1);
    g_assert_cmpint(errno, ==, ENOENT);
    g_assert_cmpint(own_dump_create(longest, path, sizeof(path)), ==, -1);
    g_assert_cmpint(errno, ==, ENAMETOOLONG);
    g_assert_false(own_dump_store(lost, scratch->dump));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/embed/own-dump/is-numbered", Scratch, NULL, set_up, test_is_numbered, tear_down);
    g_test_add("/embed/own-dump/follows-and-overwrites-nothing", Scratch, NULL, set_up,
               test_follows_and_overwrites_nothing, tear_down);
    g_test_add("/embed/own-dump/where-there-is-no-place", Scratch, NULL, set_up, test_where_there_is_no_place,
               tear_down);
    return g_test_run();
}
