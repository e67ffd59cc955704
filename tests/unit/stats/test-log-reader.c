/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/log-reader.h"

#include "confine/input-file.h"
#include "confine/thread-time.h"
#include "stats/sample-bytes.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

static const char *const files[] = {"console-5.3.0.log.gz", "console-3.6.0.log.gz"};

static gboolean
keep(StatsSample *sample, gpointer data, GError **error)
{
    g_ptr_array_add(data, stats_sample_ref(sample));
    return TRUE;
}

static GPtrArray *
new_samples(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)stats_sample_unref);
}

static GByteArray *
bytes_of(const StatsSample *sample)
{
    GByteArray *bytes = g_byte_array_new();
    sample_bytes_write(sample, bytes);
    return bytes;
}

static void
check_same(const StatsSample *one, const StatsSample *other)
{
    g_autoptr(GByteArray) bytes = bytes_of(one);
    g_autoptr(GByteArray) others = bytes_of(other);
    g_assert_cmpmem(bytes->data, bytes->len, others->data, others->len);
}

/* As they are when the file is read here. */
static GPtrArray *
read_here(const char *path, StatsReport *report)
{
    GPtrArray *samples = new_samples();
    const StatsFile file = {.path = path, .fd = stats_open_file(path, NULL)};
    g_assert_true(stats_read_file(&file, keep, samples, report, NULL));
    close(file.fd);
    g_assert_cmpuint(samples->len, >, 0);
    return samples;
}

static void
test_samples_are_those_of_the_file(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
        StatsReport report, expected;
        g_autofree char *path = g_build_filename(TEST_DATA, "stats", files[i], NULL);
        g_autoptr(GPtrArray) here = read_here(path, &expected);
        g_autoptr(GPtrArray) samples = new_samples();
        g_assert_true(log_reader_read(path, keep, samples, &report, NULL));
        g_assert_cmpuint(samples->len, ==, here->len);
        for (guint j = 0; j < here->len; j++)
            check_same(samples->pdata[j], here->pdata[j]);
        g_assert_cmpuint(report.samples, ==, expected.samples);
        g_assert_cmpuint(report.lines, ==, expected.lines);
        g_assert_cmpuint(report.bytes, ==, expected.bytes);
    }
}

/* Each of them is a sample, or NULL; none is read past its end, which a sanitizer sees. */
static void
test_any_bytes(void)
{
    g_autofree char *path = g_build_filename(TEST_DATA, "stats", files[0], NULL);
    g_autoptr(GPtrArray) here = read_here(path, NULL);
    g_autoptr(GByteArray) bytes = bytes_of(here->pdata[0]);
    guint refused = 0;
    for (guint length = 0; length < bytes->len; length += 61) {
        g_autofree guint8 *cut = g_memdup2(bytes->data, length);
        g_autoptr(StatsSample) sample = sample_bytes_read(cut, length);
        refused += sample == NULL;
    }
    g_assert_cmpuint(refused, >, 0);
    for (guint at = 0; at < bytes->len; at += 8) {
        g_autofree guint8 *changed = g_memdup2(bytes->data, bytes->len);
        memset(changed + at, 0xff, MIN(8, bytes->len - at));
        g_autoptr(StatsSample) sample = sample_bytes_read(changed, bytes->len);
        if (sample != NULL)
            g_assert_cmpuint(sample->arenas->len, <=, STATS_ARENA_DESTROYED + 1);
    }
}

static const char snapshot[] = "___ Begin jemalloc statistics ___\n"
                               "Version: \"5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c\"\n"
                               "Allocated: 1000000, active: 2000000, metadata: 3000000 (n_thp 0), resident: 4000000, "
                               "mapped: 6000000, retained: 5000000\n"
                               "--- End jemalloc statistics ---\n";

static pid_t
only_child(void)
{
    int pid = 0;
    g_autofree char *path = g_strdup_printf("/proc/self/task/%d/children", (int)getpid());
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpint(sscanf(text, "%d", &pid), ==, 1);
    return pid;
}

/* A piece that crashes the child is lost; the rest is read. */
static void
test_a_child_that_ends_is_replaced(void)
{
    siginfo_t ended;
    g_autoptr(GPtrArray) samples = new_samples();
    g_autoptr(LogReader) reader = log_reader_new(keep, samples);
    g_autoptr(GError) error = NULL;
    g_assert_true(log_reader_feed(reader, snapshot, 100, &error));
    g_assert_true(log_reader_feed(reader, snapshot + 100, strlen(snapshot) - 100, &error));
    g_assert_cmpuint(samples->len, ==, 1);
    pid_t child = only_child();
    g_assert_cmpint(kill(child, SIGKILL), ==, 0);
    g_assert_cmpint(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), ==, 0);
    g_assert_false(log_reader_feed(reader, snapshot, strlen(snapshot), &error));
    g_assert_error(error, STATS_ERROR, STATS_ERROR_FORMAT);
    g_assert_true(log_reader_feed(reader, snapshot, strlen(snapshot), NULL));
    g_assert_cmpuint(samples->len, ==, 2);
}

/* The child keeps it. */
static void
test_rows_are_bounded(void)
{
    enum { MOST = 2 };
    for (guint most = MOST; most <= MOST + 1; most++) {
        static const char json[] = "{\"jemalloc\":{\"stats\":{\"allocated\":1,\"active\":1},\"stats.arenas\":{\"0\":"
                                   "{\"bins\":[{\"nmalloc\":1},{\"nmalloc\":1},{\"nmalloc\":1}]}}}}\n";
        g_autoptr(GPtrArray) samples = new_samples();
        g_autoptr(LogReader) reader = log_reader_new(keep, samples);
        const int fd = memfd_create("statistics", MFD_CLOEXEC);
        g_assert_cmpint(write(fd, json, strlen(json)), ==, strlen(json));
        g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
        log_reader_limit(reader, most);
        g_assert_true(log_reader_read_fd(reader, fd, "it (7)", NULL));
        g_assert_cmpuint(samples->len, ==, most - MOST);
        close(fd);
    }
}

/* A gzip stream that stands for more than INPUT_FILE_MAX_UNPACKED of text, of parts that do not refer to each other. */
static int
make_bomb(void)
{
    enum { PART = 64 * 1024 * 1024 };
    const guint parts = (guint)(INPUT_FILE_MAX_UNPACKED / PART) + 1;
    g_autofree char *text = g_strnfill(PART, 'x');
    g_autofree char *packed = g_malloc(PART);
    z_stream stream = {.next_in = (Bytef *)text, .avail_in = PART, .next_out = (Bytef *)packed, .avail_out = PART};
    int fd = memfd_create("bomb", MFD_CLOEXEC);
    static const char head[] = {0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    g_assert_cmpint(deflateInit2(&stream, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), ==, Z_OK);
    g_assert_cmpint(deflate(&stream, Z_FULL_FLUSH), ==, Z_OK);
    const ssize_t size = (ssize_t)(PART - stream.avail_out);
    deflateEnd(&stream);
    g_assert_cmpint(write(fd, head, sizeof(head)), ==, sizeof(head));
    for (guint i = 0; i < parts; i++)
        g_assert_cmpint(write(fd, packed, (gsize)size), ==, size);
    g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
    return fd;
}

static gboolean
take_10_ms(StatsSample *sample, gpointer data, GError **error)
{
    const gint64 until = thread_time_us() + 10000;
    while (thread_time_us() < until)
        continue;
    ++*(guint *)data;
    return TRUE;
}

/* The writer of a log decides how many samples there are, and what they cost whoever stores them. */
static void
test_processor_time_of_what_is_done_with_samples(void)
{
    guint taken = 0;
    g_autoptr(LogReader) reader = log_reader_new(take_10_ms, &taken);
    g_autoptr(GError) error = NULL;
    const int fd = memfd_create("statistics", MFD_CLOEXEC);

    for (guint i = 0; i < 1000; i++)
        g_assert_cmpint(write(fd, snapshot, strlen(snapshot)), ==, (gssize)strlen(snapshot));
    g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
    log_reader_limit_seconds(reader, 1);
    g_assert_false(log_reader_read_fd(reader, fd, "it", &error));
    g_assert_error(error, STATS_ERROR, STATS_ERROR_OVERFLOW);
    g_assert_cmpuint(taken, >=, 50);
    g_assert_cmpuint(taken, <=, 100);
    close(fd);
}

static void
test_unpacks_without_end(void)
{
    g_autoptr(GPtrArray) samples = new_samples();
    g_autoptr(GError) error = NULL;
    const StatsFile bomb = {.path = "bomb", .fd = make_bomb()};
    StatsReport report;
    g_assert_false(stats_read_file(&bomb, keep, samples, &report, &error));
    g_assert_error(error, STATS_ERROR, STATS_ERROR_OVERFLOW);
    g_assert_nonnull(strstr(error->message, "bomb: more than 4.0"));
    close(bomb.fd);
}

static gboolean
note_limit(StatsSample *sample, gpointer data, GError **error)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/limits", (int)only_child());
    g_autofree char *limits = NULL;
    g_assert_true(g_file_get_contents(path, &limits, NULL, NULL));
    const char *line = strstr(limits, "Max cpu time");
    g_assert_nonnull(line);
    g_assert_cmpint(sscanf(line, "Max cpu time %u", (guint *)data), ==, 1);
    return TRUE;
}

/* How long it takes to read is up to who wrote it. */
static void
test_processor_time_for_another_user(void)
{
    enum { SOMEBODY = 65531 };
    guint own = 0, foreign = 0;
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "jescope-log-reader-test-XXXXXX", NULL);
    int fd = g_mkstemp(path);
    g_assert_cmpint(write(fd, snapshot, strlen(snapshot)), ==, strlen(snapshot));
    g_assert_true(log_reader_read(path, note_limit, &own, NULL, NULL));
    g_assert_cmpuint(own, >, INPUT_FILE_FOREIGN_SECONDS);
    if (fchown(fd, SOMEBODY, (gid_t)-1) == 0) {
        g_assert_true(log_reader_read(path, note_limit, &foreign, NULL, NULL));
        g_assert_cmpuint(foreign, ==, INPUT_FILE_FOREIGN_SECONDS);
    } else {
        g_test_skip("giving files away needs root");
    }
    close(fd);
    unlink(path);
}

int
main(int argc, char **argv)
{
    g_setenv("TZ", "UTC", TRUE);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/log-reader/samples-are-those-of-the-file", test_samples_are_those_of_the_file);
    g_test_add_func("/stats/log-reader/any-bytes", test_any_bytes);
    g_test_add_func("/stats/log-reader/a-child-that-ends-is-replaced", test_a_child_that_ends_is_replaced);
    g_test_add_func("/stats/log-reader/unpacks-without-end", test_unpacks_without_end);
    g_test_add_func("/stats/log-reader/rows-are-bounded", test_rows_are_bounded);
    g_test_add_func("/stats/log-reader/processor-time-for-another-user", test_processor_time_for_another_user);
    g_test_add_func("/stats/log-reader/processor-time-of-what-is-done-with-samples",
                    test_processor_time_of_what_is_done_with_samples);
    return g_test_run();
}
