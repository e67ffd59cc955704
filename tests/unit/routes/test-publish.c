/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/publish.h"

#include <glib.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LARGE = 1 << 20, SMALL = 1 << 10 };

static Outcome
put_descriptor(Published *published, uint64_t run, int fd)
{
    char directory[ROUTE_DIRECTORY_MAX];
    Failure failure;
    const RoutePublication what = {
        .file = ROUTE_FILE_TEXT, .recording = run, .descriptor = fd, .directory = directory, .size = sizeof(directory)};
    return publish_put(published, g_get_tmp_dir(), &what, &failure);
}

static Outcome
put(Published *published, uint64_t run, off_t bytes)
{
    int fd = memfd_create("report", MFD_CLOEXEC);
    g_assert_cmpint(ftruncate(fd, bytes), ==, 0);
    Outcome result = put_descriptor(published, run, fd);
    close(fd);
    return result;
}

static uint64_t
size_of(const Published *published)
{
    uint64_t bytes = 1;
    g_assert_true(publish_size(published, ROUTE_FILE_TEXT, &bytes));
    return bytes;
}

/* The size is that of the file, which is written once for each run. */
static void
test_size(void)
{
    Published published = {0};
    g_assert_cmpuint(size_of(&published), ==, 0);
    g_assert_cmpint(put(&published, 1, LARGE), ==, OUTCOME_DONE);
    g_assert_cmpuint(size_of(&published), ==, LARGE);
    g_assert_cmpint(put(&published, 1, SMALL), ==, OUTCOME_DONE);
    g_assert_cmpuint(size_of(&published), ==, LARGE);
    g_assert_cmpint(put(&published, 2, SMALL), ==, OUTCOME_DONE);
    g_assert_cmpuint(size_of(&published), ==, SMALL);
    publish_remove(&published);
    g_assert_cmpuint(size_of(&published), ==, 0);
}

/* A report that cannot be written leaves the earlier file. */
static void
test_size_after_a_failure(void)
{
    struct rlimit before;
    Published published = {0};
    g_assert_cmpint(put(&published, 1, SMALL), ==, OUTCOME_DONE);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    const struct rlimit small = {2 * SMALL, before.rlim_max};
    int fd = memfd_create("report", MFD_CLOEXEC);
    g_assert_cmpint(ftruncate(fd, LARGE), ==, 0);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &small), ==, 0);
    const Outcome result = put_descriptor(&published, 2, fd);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
    close(fd);
    g_assert_cmpint(result, ==, OUTCOME_SYSTEM);
    g_assert_cmpuint(size_of(&published), ==, SMALL);
    publish_remove(&published);
}

/* Without a descriptor for it, the directory is neither replaced nor taken for empty. */
static void
test_too_few_descriptors(void)
{
    struct rlimit before;
    Published published = {0};
    uint64_t bytes;
    g_assert_cmpint(put(&published, 1, LARGE), ==, OUTCOME_DONE);
    getrlimit(RLIMIT_NOFILE, &before);
    const struct rlimit none = {0, before.rlim_max};
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
    const Outcome result = put_descriptor(&published, 2, STDIN_FILENO);
    const bool known = publish_size(&published, ROUTE_FILE_TEXT, &bytes);
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
    g_assert_cmpint(result, ==, OUTCOME_SYSTEM);
    g_assert_false(known);
    g_assert_cmpuint(size_of(&published), ==, LARGE);
    publish_remove(&published);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/routes/publish/size", test_size);
    g_test_add_func("/routes/publish/size-after-a-failure", test_size_after_a_failure);
    g_test_add_func("/routes/publish/too-few-descriptors", test_too_few_descriptors);
    return g_test_run();
}
