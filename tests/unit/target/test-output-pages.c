/* SPDX-License-Identifier: Apache-2.0 */
#include "target/output-file.h"
#include "target/output-pages.h"
#include "target/target.h"

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
    output_pages_begin(&pages, fd, &small_plan, getuid());
    g_assert_cmpuint(held(fd), ==, MIB);
    int writer = open_again(fd);
    g_assert_cmpuint(held(fd), ==, 0);
    g_assert_true(output_pages_advance(&pages, "it", NULL));
    g_assert_cmpuint(held(fd), ==, MIB);
    g_assert_true(put(writer, MIB / 2));
    g_assert_true(output_pages_advance(&pages, "it", NULL));
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
    output_pages_begin(&pages, fd, &plan, getuid());
    g_assert_cmpint(ftruncate(fd, (off_t)1 << 30), ==, 0);
    g_assert_true(output_pages_advance(&pages, "it", NULL));
    g_assert_cmpuint(held(fd), <=, 4 * (guint64)MIB);
    output_pages_end(&pages);
    close(fd);
}

static void
test_stop(void)
{
    OutputPages pages;
    g_autoptr(GError) error = NULL;
    int fd = memory_file();
    output_pages_begin(&pages, fd, &small_plan, getuid());
    int writer = open_again(fd);
    g_assert_true(put(writer, MIB));
    g_assert_true(output_pages_advance(&pages, "it", NULL)); /* as much as is allowed */
    g_assert_true(put(writer, 5 * MIB));
    g_assert_false(output_pages_advance(&pages, "it (7)", &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_NO_HEADROOM);
    g_assert_nonnull(strstr(error->message, "it (7)"));
    g_assert_nonnull(strstr(error->message, "1.0\302\240MiB"));
    g_assert_false(put(writer, 1));
    output_pages_end(&pages);
    close(writer);
    close(fd);
}

enum { STRANGER = 4100000000 };

/* What the writer keeps open is empty, though it wrote to it. */
static void
test_taken(void)
{
    const OutputWriter writer = {"it (7)", 64 * MIB};
    OutputPages pages;
    char byte;
    int fd = memory_file();
    output_pages_begin(&pages, fd, &small_plan, STRANGER);
    int kept = dup(fd);
    g_assert_true(put(kept, 9 * MIB));
    int own = output_file_take(fd, 9 * MIB, &writer, STRANGER, NULL);
    g_assert_cmpint(own, >=, 0);
    g_assert_cmpuint(held(kept), ==, 0);
    g_assert_cmpuint(held(own), ==, 9 * MIB);
    g_assert_cmpint(pread(own, &byte, 1, 9 * MIB - 1), ==, 1);
    g_assert_cmpint(byte, ==, 'x');
    close(own);
    close(kept);
}

/* A writer that keeps pages by a seal pays for further ones itself. */
static void
test_kept(void)
{
    const OutputWriter writer = {"it (7)", 64 * MIB};
    OutputPages pages;
    g_autoptr(GError) error = NULL;
    int fd = memory_file();
    output_pages_begin(&pages, fd, &small_plan, STRANGER);
    g_assert_cmpuint(held(fd), ==, MIB);
    int kept = dup(fd);
    g_assert_true(put(kept, MIB));
    g_assert_cmpint(fcntl(kept, F_ADD_SEALS, F_SEAL_SHRINK), ==, 0);
    g_assert_cmpint(output_file_take(fd, MIB, &writer, STRANGER, &error), ==, -1);
    g_assert_error(error, TARGET_ERROR, OUTCOME_PROTOCOL);
    close(kept);
    int next = memory_file();
    output_pages_begin(&pages, next, &small_plan, STRANGER);
    g_assert_cmpuint(held(next), ==, 0);
    output_pages_begin(&pages, next, &small_plan, getuid());
    g_assert_cmpuint(held(next), ==, MIB);
    close(next);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/output-pages/ahead", test_ahead);
    g_test_add_func("/output-pages/most", test_most);
    g_test_add_func("/output-pages/stop", test_stop);
    g_test_add_func("/output-pages/taken", test_taken);
    g_test_add_func("/output-pages/kept", test_kept);
    return g_test_run();
}
