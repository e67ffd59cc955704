/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in a file, between two processes. */
#include "stats/sample-bytes.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static gboolean
count(StatsSample *sample, gpointer data, GError **error)
{
    GArray *times = data;
    g_array_append_val(times, sample->time_us);
    return TRUE;
}

static gboolean
refuse(StatsSample *sample, gpointer data, GError **error)
{
    g_set_error(error, STATS_ERROR, STATS_ERROR_STOPPED, "enough");
    return FALSE;
}

/* N samples of about SIZE bytes each, as written. */
static GBytes *
file_of(guint n, gsize size)
{
    g_autoptr(SampleBytesFile) file = sample_bytes_file_new();
    g_autofree char *text = g_malloc0(size + 1);
    int fd = memfd_create("samples", MFD_CLOEXEC);

    memset(text, 'x', size);
    for (guint i = 0; i < n; i++) {
        g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
        sample->time_us = i;
        sample->version = text;
        sample_bytes_file_add(file, sample);
        sample->version = NULL; /* it is this function's */
    }
    g_assert_true(sample_bytes_file_write(file, fd));
    const gsize length = (gsize)lseek(fd, 0, SEEK_END);
    char *bytes = g_malloc(length);
    g_assert_cmpint(pread(fd, bytes, length, 0), ==, (ssize_t)length);
    close(fd);
    return g_bytes_new_take(bytes, length);
}

static gboolean
read_times(GBytes *bytes, gsize length, GArray *times, GError **error)
{
    return sample_bytes_file_read(g_bytes_get_data(bytes, NULL), length, count, times, error);
}

static void
test_file(void)
{
    g_autoptr(GBytes) bytes = file_of(3, 10);
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autoptr(GError) error = NULL;

    g_assert_true(read_times(bytes, g_bytes_get_size(bytes), times, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(times->len, ==, 3);
    for (gint64 i = 0; i < 3; i++)
        g_assert_cmpint(g_array_index(times, gint64, i), ==, i);
    g_assert_false(
        sample_bytes_file_read(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), refuse, NULL, &error));
    g_assert_error(error, STATS_ERROR, STATS_ERROR_STOPPED);
}

/* Cut at any place but between two samples, or not such a file at all. */
static void
test_damaged(void)
{
    g_autoptr(GBytes) bytes = file_of(2, 10);
    const gsize magic = strlen(SAMPLE_BYTES_MAGIC), each = (g_bytes_get_size(bytes) - magic) / 2;

    for (gsize length = 0; length < g_bytes_get_size(bytes); length++) {
        g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));
        g_autoptr(GError) error = NULL;
        gboolean whole = length == magic || length == magic + each;
        g_assert_cmpint(read_times(bytes, length, times, &error), ==, whole);
        g_assert_true(whole == (error == NULL));
    }
}

/* Of more than fit, every second one is left out, but neither end. */
static void
test_bounds(void)
{
    enum { N = 100 };
    g_autoptr(GBytes) bytes = file_of(N, 2 * SAMPLE_BYTES_FILE_MAX / N);
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));

    g_assert_true(read_times(bytes, g_bytes_get_size(bytes), times, NULL));
    g_assert_cmpuint(g_bytes_get_size(bytes), <=, SAMPLE_BYTES_FILE_MAX + strlen(SAMPLE_BYTES_MAGIC));
    g_assert_cmpuint(times->len, >, N / 8);
    g_assert_cmpint(g_array_index(times, gint64, 0), ==, 0);
    g_assert_cmpint(g_array_index(times, gint64, times->len - 1), ==, N - 1);
    for (guint i = 1; i < times->len; i++)
        g_assert_cmpint(g_array_index(times, gint64, i - 1), <, g_array_index(times, gint64, i));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/sample-bytes/file", test_file);
    g_test_add_func("/stats/sample-bytes/damaged", test_damaged);
    g_test_add_func("/stats/sample-bytes/bounds", test_bounds);
    return g_test_run();
}
