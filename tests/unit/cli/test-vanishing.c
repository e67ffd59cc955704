/* SPDX-License-Identifier: Apache-2.0 */
/* Code of this process that comes and goes. */
#include "cli/vanishing.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LENGTH = 4096 };

static const char dump_text[] =
    "heap_v2/524288\n  t*: 1: 8 [0: 0]\n\nMAPPED_LIBRARIES:\n1000-2000 r-xp 00000000 00:00 0 /app\n";

static int
file_with(const char *text)
{
    int fd = memfd_create("dump", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, text, strlen(text)), ==, (ssize_t)strlen(text));
    g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
    return fd;
}

static char *
content_of(int fd)
{
    char *text = g_malloc0(65536);
    g_assert_cmpint(pread(fd, text, 65535, 0), >, 0);
    return text;
}

static void
test_code_that_goes(void)
{
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "vanishing-XXXXXX", NULL);
    int fd = g_mkstemp(path);
    Vanishing *vanishing = vanishing_new(getpid());

    g_assert_cmpint(ftruncate(fd, LENGTH), ==, 0);
    vanishing_look(vanishing);
    void *code = mmap(NULL, LENGTH, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (code == MAP_FAILED && errno == EPERM) {
        g_test_skip("files of the directory for temporary files may not be mapped executable (noexec)");
    } else {
        g_assert_true(code != MAP_FAILED);
        vanishing_look(vanishing);
        g_autoptr(GPtrArray) none = vanishing_files(vanishing);
        g_assert_cmpuint(none->len, ==, 0);
        int dump = file_with(dump_text);
        g_assert_cmpint(vanishing_complete(vanishing, dump), ==, dump);
        munmap(code, LENGTH);
        vanishing_look(vanishing);
        g_autoptr(GPtrArray) files = vanishing_files(vanishing);
        g_assert_cmpuint(files->len, ==, 1);
        g_assert_cmpstr(files->pdata[0], ==, path);
        dump = vanishing_complete(vanishing, dump);
        g_autofree char *text = content_of(dump);
        g_autofree char *line = g_strdup_printf("MAPPED_LIBRARIES:\n%" G_GINT64_MODIFIER "x-", (guint64)(guintptr)code);
        g_assert_nonnull(strstr(text, line));
        g_assert_nonnull(strstr(text, path));
        g_assert_true(g_str_has_suffix(text, "1000-2000 r-xp 00000000 00:00 0 /app\n"));
        close(dump);
    }
    vanishing_free(vanishing);
    close(fd);
    g_unlink(path);
}

static guint
count_lines_with(const char *text, const char *word)
{
    guint n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        n++;
    return n;
}

enum { MAPPINGS = 2000, STEP = 2 * LENGTH };

/* Mappings of FILE that are there at one look, and not at the next. Returns where the first was. */
static guint64
map_for_a_moment(Vanishing *vanishing, int file)
{
    char *place = mmap(NULL, (gsize)MAPPINGS * STEP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_assert_true(place != MAP_FAILED);
    for (gsize i = 0; i < MAPPINGS; i++)
        g_assert_true(mmap(place + i * STEP, LENGTH, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0) !=
                      MAP_FAILED);
    vanishing_look(vanishing);
    munmap(place, (gsize)MAPPINGS * STEP);
    vanishing_look(vanishing);
    return (guint64)(guintptr)place;
}

/* A long dump, whose memory map lists every second one of many mappings. What it costs does not grow with both. */
static void
test_many_in_a_long_dump(void)
{
    enum { FILLED = 128 << 20 };
    Vanishing *vanishing = vanishing_new(getpid());
    int file = memfd_create("code", MFD_CLOEXEC), dump = memfd_create("dump", MFD_CLOEXEC);
    g_autoptr(GString) text = g_string_new("heap_v2/524288\n");
    g_assert_cmpint(ftruncate(file, LENGTH), ==, 0);
    guint64 place = map_for_a_moment(vanishing, file);
    while (text->len < FILLED)
        g_string_append(text, "@ 0x1000 0x2000 0x3000\n  t*: 1: 8 [0: 0]\n");
    g_string_append(text, "MAPPED_LIBRARIES:\n");
    for (guint64 at = place; at < place + (guint64)MAPPINGS * STEP; at += 2 * STEP)
        g_string_append_printf(text, "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x r-xp 00000000 00:00 0 /app\n", at,
                               at + LENGTH);
    g_assert_cmpint(write(dump, text->str, text->len), ==, (ssize_t)text->len);
    const clock_t begun = clock();
    dump = vanishing_complete(vanishing, dump);
    g_assert_cmpint(clock() - begun, <, 5 * CLOCKS_PER_SEC);
    g_autofree char *end = g_malloc0(2 * MAPPINGS * 100);
    g_assert_cmpint(pread(dump, end, 2 * MAPPINGS * 100 - 1, FILLED), >, 0);
    g_assert_cmpuint(count_lines_with(end, " /app\n"), ==, MAPPINGS / 2);
    g_assert_cmpuint(count_lines_with(end, " /memfd:code (deleted)\n"), ==, MAPPINGS / 2);
    close(dump);
    close(file);
    vanishing_free(vanishing);
}

/* What is no dump, or has no map, is left as it is. */
static void
test_other_text(void)
{
    Vanishing *vanishing = vanishing_new(0);
    int dump = file_with("nothing\n");

    vanishing_look(vanishing);
    g_assert_cmpint(vanishing_complete(vanishing, dump), ==, dump);
    close(dump);
    vanishing_free(vanishing);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cli/vanishing/code", test_code_that_goes);
    g_test_add_func("/cli/vanishing/many-in-a-long-dump", test_many_in_a_long_dump);
    g_test_add_func("/cli/vanishing/other-text", test_other_text);
    return g_test_run();
}
