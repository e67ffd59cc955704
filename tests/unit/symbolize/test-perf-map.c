/* SPDX-License-Identifier: Apache-2.0 */
/* Names of generated code: the meaning of lines, and the permitted owners of the file. */
#include "symbolize/patience.h"
#include "symbolize/perf-map.h"
#include "symbolize/symbolize.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static PerfMap *
parse(const char *text)
{
    return perf_map_parse(g_strdup(text), strlen(text));
}

static void
test_lines(void)
{
    g_autoptr(PerfMap) map = parse("1000 100 first\n2000 10 JS:~serve /srv/app.js:3\nnonsense\n3000 0 empty\n"
                                   "fffffffffffffff0 20 wraps\n4000 10 last line is cut");

    g_assert_cmpstr(perf_map_find(map, 0x1000), ==, "first");
    g_assert_cmpstr(perf_map_find(map, 0x10ff), ==, "first");
    g_assert_null(perf_map_find(map, 0x1100));
    g_assert_null(perf_map_find(map, 0xfff));
    g_assert_cmpstr(perf_map_find(map, 0x2008), ==, "JS:~serve /srv/app.js:3");
    g_assert_null(perf_map_find(map, 0x3000));
    g_assert_null(perf_map_find(map, G_MAXUINT64));
    g_assert_cmpstr(perf_map_find(map, 0x4001), ==, "last line is cut");
}

/* Code is moved and its place used again. */
static void
test_later_lines_win(void)
{
    g_autoptr(PerfMap) map = parse("1000 100 old\n1000 100 new\n2000 100 outer\n2010 10 inner\n3000 10 moved\n"
                                   "2ff0 100 over\n");

    g_assert_cmpstr(perf_map_find(map, 0x1050), ==, "new");
    g_assert_cmpstr(perf_map_find(map, 0x2015), ==, "inner");
    g_assert_cmpstr(perf_map_find(map, 0x2050), ==, "outer");
    g_assert_cmpstr(perf_map_find(map, 0x3005), ==, "over");
}

typedef struct {
    TargetFiles *files;
    char *path;
} OwnMap;

static void
own_map_init(OwnMap *own)
{
    const SymbolizeOptions options = {.pid = getpid()};

    own->files = symbolize_files(&options);
    own->path = g_strdup_printf("/tmp/perf-%d.map", (int)getpid());
    g_unlink(own->path);
}

static void
own_map_clear(OwnMap *own)
{
    g_unlink(own->path);
    target_files_unref(own->files);
    g_free(own->path);
}

static void
test_of_a_process(void)
{
    g_autoptr(PerfMap) map = NULL;
    OwnMap own;

    own_map_init(&own);
    g_assert_null(perf_map_open(own.files, getpid()));
    g_assert_true(g_file_set_contents(own.path, "1000 100 mine\n", -1, NULL));
    map = perf_map_open(own.files, getpid());
    g_assert_nonnull(map);
    g_assert_cmpstr(perf_map_find(map, 0x1001), ==, "mine");
    own_map_clear(&own);
}

/* Any user may create a file of that name in /tmp before the process does. */
static void
test_of_a_stranger(void)
{
    OwnMap own;

    if (geteuid() != 0) {
        g_test_skip("only root can give a file away");
        return;
    }
    own_map_init(&own);
    g_assert_true(g_file_set_contents(own.path, "1000 100 evil\n", -1, NULL));
    g_assert_cmpint(chown(own.path, 65534, 65534), ==, 0);
    g_assert_null(perf_map_open(own.files, getpid()));
    own_map_clear(&own);
}

static void
test_no_regular_file(void)
{
    OwnMap own;

    own_map_init(&own);
    g_assert_cmpint(mkfifo(own.path, 0600), ==, 0);
    g_assert_null(perf_map_open(own.files, getpid())); /* and does not wait for a writer */
    own_map_clear(&own);
}

static void
test_too_large(void)
{
    OwnMap own;

    own_map_init(&own);
    g_assert_true(g_file_set_contents(own.path, "1000 100 mine\n", -1, NULL));
    g_assert_cmpint(truncate(own.path, PERF_MAP_MAX_SIZE + 1), ==, 0);
    g_assert_null(perf_map_open(own.files, getpid()));
    own_map_clear(&own);
}

static void
test_long_name(void)
{
    g_autofree char *name = g_strnfill(2 * PERF_MAP_MAX_NAME, 'f');
    char *text = g_strdup_printf("1000 100 %s\n2000 100 g\n", name);
    g_autoptr(PerfMap) map = perf_map_parse(text, strlen(text));

    g_assert_cmpuint(strlen(perf_map_find(map, 0x1001)), ==, PERF_MAP_MAX_NAME);
    g_assert_cmpstr(perf_map_find(map, 0x2001), ==, "g");
}

static void
test_lines_are_work(void)
{
    const TargetFilesOptions options = {.closed = TRUE};
    g_autoptr(TargetFiles) files = target_files_new(&options);
    g_autoptr(PerfMap) map = NULL;
    const guint64 before = patience_unseen;

    perf_map_free(parse("1000 100 first\nnonsense\n"));
    g_assert_cmpuint(patience_unseen - before, >=, 2 * 64);
    g_assert_false(target_files_take_time(files, TARGET_FILES_MAX_TIME + 1));
    patience_begin(files);
    map = parse("1000 100 first\n");
    patience_end();
    g_assert_null(perf_map_find(map, 0x1000));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/symbolize/perf-map/lines", test_lines);
    g_test_add_func("/symbolize/perf-map/lines-are-work", test_lines_are_work);
    g_test_add_func("/symbolize/perf-map/long-name", test_long_name);
    g_test_add_func("/symbolize/perf-map/later-lines-win", test_later_lines_win);
    g_test_add_func("/symbolize/perf-map/of-a-process", test_of_a_process);
    g_test_add_func("/symbolize/perf-map/of-a-stranger", test_of_a_stranger);
    g_test_add_func("/symbolize/perf-map/no-regular-file", test_no_regular_file);
    g_test_add_func("/symbolize/perf-map/too-large", test_too_large);
    return g_test_run();
}
