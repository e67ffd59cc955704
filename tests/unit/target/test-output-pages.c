/* SPDX-License-Identifier: Apache-2.0 */
#include "target/output-pages.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MIB = 1 << 20, STAT_BLOCK = 512 };

static const OutputPlan small_plan = {.most = 4 * MIB, .first = MIB, .allowed = MIB};

static int
memory_file(void)
{
    int fd = memfd_create("jescope-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    g_assert_cmpint(fd, >=, 0);
    return fd;
}

static guint64
held(int fd)
{
    struct stat st;
    g_assert_cmpint(fstat(fd, &st), ==, 0);
    return (guint64)st.st_blocks * STAT_BLOCK;
}

/* As jemalloc opens it. */
static int
open_again(int fd)
{
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    int writer = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    g_assert_cmpint(writer, >=, 0);
    return writer;
}

static gboolean
put(int fd, gsize bytes)
{
    g_autofree char *text = g_malloc(bytes);
    memset(text, 'x', bytes);
    return write(fd, text, bytes) == (ssize_t)bytes;
}

/* The pages are there before the first byte, again after O_TRUNC, and ahead of the writer; in the end only those of
 * the text. */
static void
test_ahead(void)
{
    OutputPages pages;
    int fd = memory_file();
    output_pages_begin(&pages, fd, &small_plan);
    g_assert_cmpuint(held(fd), ==, MIB);
    int writer = open_again(fd);
    g_assert_cmpuint(held(fd), ==, 0);
    output_pages_advance(&pages);
    g_assert_cmpuint(held(fd), ==, MIB);
    g_assert_true(put(writer, MIB / 2));
    output_pages_advance(&pages);
    g_assert_cmpuint(held(fd), >=, MIB + MIB / 2);
    g_assert_cmpuint(pages.overtaken, ==, 0);
    output_pages_end(&pages);
    g_assert_cmpuint(held(fd), ==, MIB / 2);
    close(writer);
    close(fd);
}

/* No more than the plan allows, whatever the size that the target gives the file. */
static void
test_most(void)
{
    OutputPages pages;
    const OutputPlan plan = {.most = 4 * MIB, .first = MIB, .allowed = G_MAXUINT64};
    int fd = memory_file();
    output_pages_begin(&pages, fd, &plan);
    g_assert_cmpint(ftruncate(fd, (off_t)1 << 30), ==, 0);
    output_pages_advance(&pages);
    g_assert_cmpuint(held(fd), <=, 4 * (guint64)MIB);
    output_pages_end(&pages);
    close(fd);
}

static void
test_stop(void)
{
    OutputPages pages;
    int fd = memory_file();
    output_pages_begin(&pages, fd, &small_plan);
    int writer = open_again(fd);
    g_assert_true(put(writer, MIB));
    output_pages_advance(&pages); /* as much as is allowed */
    g_assert_false(pages.stopped);
    g_assert_true(put(writer, 5 * MIB));
    output_pages_advance(&pages);
    g_assert_true(pages.stopped);
    g_assert_cmpuint(pages.overtaken, >, MIB);
    g_assert_false(put(writer, 1));
    output_pages_end(&pages);
    close(writer);
    close(fd);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/output-pages/ahead", test_ahead);
    g_test_add_func("/output-pages/most", test_most);
    g_test_add_func("/output-pages/stop", test_stop);
    return g_test_run();
}
