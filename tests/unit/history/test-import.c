/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "history/import.h"

#include <glib/gstdio.h>
#include <string.h>

enum { MOST = 3 };

/* A log of COUNT samples, of which no two are the same, but each occurs TIMES times. To be removed and freed. */
static char *
write_log(guint count, guint times)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    for (guint i = 0; i < count * times; i++)
        g_string_append_printf(text,
                               "___ Begin jemalloc statistics ___\n"
                               "Version: \"5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c\"\n"
                               "Allocated: %u, active: 2000000, metadata: 3000000 (n_thp 0), resident: 4000000, "
                               "mapped: 6000000, retained: 5000000\n"
                               "--- End jemalloc statistics ---\n",
                               1000000 + i % count);
    char *path = NULL;
    int fd = g_file_open_tmp("jescope-import-XXXXXX.log", &path, &error);
    g_assert_no_error(error);
    g_close(fd, NULL);
    g_assert_true(g_file_set_contents(path, text->str, -1, NULL));
    return path;
}

static gboolean
import(guint count, guint times, ImportResult *result, GError **error)
{
    char *path = fixture_path();
    g_autofree char *log = write_log(count, times);
    History *history = fixture_open(path);
    const ImportOptions options = {
        .target = "log", .start_us = SOME_DAY, .every_us = (guint64)SECOND, .different_max = MOST};
    gboolean fine = import_file(history, log, &options, result, error);
    history_close(history);
    g_unlink(log);
    fixture_remove(path);
    return fine;
}

/* What is kept of each sample of a file, however small. */
static void
test_different_samples_are_bounded(void)
{
    ImportResult result;
    g_autoptr(GError) error = NULL;
    g_assert_false(import(MOST + 1, 1, &result, &error));
    g_assert_error(error, STATS_ERROR, STATS_ERROR_OVERFLOW);
    g_assert_nonnull(strstr(error->message, "more than 3 different samples"));
}

static void
test_equal_samples_are_not(void)
{
    ImportResult result;
    g_autoptr(GError) error = NULL;
    g_assert_true(import(MOST, 4, &result, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(result.added, ==, MOST * 4);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/import/different-samples-are-bounded", test_different_samples_are_bounded);
    g_test_add_func("/import/equal-samples-are-not", test_equal_samples_are_not);
    return g_test_run();
}
