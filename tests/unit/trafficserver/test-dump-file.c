/* SPDX-License-Identifier: Apache-2.0 */
#include "trafficserver/dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <limits.h>
#include <sys/stat.h>

enum {
    PID = 4711,
};

typedef struct {
    char *directory;
    char *prefix;
} Scratch;

static void
set_up(Scratch *scratch, gconstpointer data)
{
    scratch->directory = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    scratch->prefix = g_build_filename(scratch->directory, "je", NULL);
}

static void
tear_down(Scratch *scratch, gconstpointer data)
{
    GDir *directory = g_dir_open(scratch->directory, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(directory)) != NULL) {
        g_autofree char *path = g_build_filename(scratch->directory, name, NULL);
        g_remove(path);
    }
    g_dir_close(directory);
    g_rmdir(scratch->directory);
    g_free(scratch->directory);
    g_free(scratch->prefix);
}

/* A file last written so many seconds after the epoch. */
static void
write_file(Scratch *scratch, const char *name, time_t seconds)
{
    g_autofree char *path = g_build_filename(scratch->directory, name, NULL);
    g_assert_true(g_file_set_contents(path, "", 0, NULL));
    struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    g_assert_cmpint(utimensat(AT_FDCWD, path, times, 0), ==, 0);
}

static void
assert_found(Scratch *scratch, time_t since, const char *name)
{
    char path[PATH_MAX] = "untouched";
    int error = dump_file_find(scratch->prefix, PID, (struct timespec){.tv_sec = since}, path, sizeof path);
    if (name == NULL) {
        g_assert_cmpint(error, ==, ENOENT);
        g_assert_cmpstr(path, ==, "untouched");
        return;
    }
    g_assert_cmpint(error, ==, 0);
    g_autofree char *expected = g_build_filename(scratch->directory, name, NULL);
    g_assert_cmpstr(path, ==, expected);
}

static void
test_newest_not_highest(Scratch *scratch, gconstpointer data)
{
    write_file(scratch, "je.4711.9.m9.heap", 50);
    write_file(scratch, "je.4711.3.m0.heap", 100);
    assert_found(scratch, 40, "je.4711.3.m0.heap");
    assert_found(scratch, 100, "je.4711.3.m0.heap");
    assert_found(scratch, 101, NULL);
}

static void
test_only_names_of_dumps_on_demand(Scratch *scratch, gconstpointer data)
{
    static const char *const others[] = {"je.4711.0.i0.heap",  "je.4711.0.f.heap",   "je.471.0.m0.heap",
                                         "je.47110.0.m0.heap", "je.4711.0.m0.heap~", "je.4711.0.m.heap",
                                         "je.4711..m0.heap",   "jee.4711.0.m0.heap", "je.x.4711.0.m0.heap",
                                         "je.4711.0",          "je.4711.0.m0",       "je"};
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
        write_file(scratch, others[i], 100);
    assert_found(scratch, 0, NULL);
    write_file(scratch, "je.12.4711.0.m0.heap", 1);
    assert_found(scratch, 0, "je.12.4711.0.m0.heap");
}

static void
test_no_links(Scratch *scratch, gconstpointer data)
{
    g_autofree char *path = g_build_filename(scratch->directory, "je.4711.0.m0.heap", NULL);
    g_assert_cmpint(symlink("/etc/passwd", path), ==, 0);
    assert_found(scratch, 0, NULL);
}

static void
test_directory_that_is_not_there(void)
{
    char path[PATH_MAX];
    g_assert_cmpint(dump_file_find("/nonexistent/je", PID, dump_file_now(), path, sizeof path), ==, ENOENT);
}

static void
test_place_too_small(Scratch *scratch, gconstpointer data)
{
    write_file(scratch, "je.4711.0.m0.heap", 100);
    char path[8];
    g_assert_cmpint(dump_file_find(scratch->prefix, PID, (struct timespec){0}, path, sizeof path), ==, ENAMETOOLONG);
}

static void
test_prefix_without_directory(Scratch *scratch, gconstpointer data)
{
    g_autofree char *before = g_get_current_dir();
    write_file(scratch, "je.4711.0.m0.heap", 100);
    g_assert_cmpint(g_chdir(scratch->directory), ==, 0);
    char path[PATH_MAX];
    int error = dump_file_find("je", PID, (struct timespec){0}, path, sizeof path);
    g_assert_cmpint(g_chdir(before), ==, 0);
    g_assert_cmpint(error, ==, 0);
    g_assert_cmpstr(path, ==, "je.4711.0.m0.heap");
}

#define ADD(path, function) g_test_add(path, Scratch, NULL, set_up, function, tear_down)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("/dump-file/newest-not-highest", test_newest_not_highest);
    ADD("/dump-file/only-names-of-dumps-on-demand", test_only_names_of_dumps_on_demand);
    ADD("/dump-file/no-links", test_no_links);
    ADD("/dump-file/place-too-small", test_place_too_small);
    ADD("/dump-file/prefix-without-directory", test_prefix_without_directory);
    g_test_add_func("/dump-file/directory-that-is-not-there", test_directory_that_is_not_there);
    return g_test_run();
}
