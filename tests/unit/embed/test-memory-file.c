/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/memory-file.h"

#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int
file_with(const char *text)
{
    int descriptor = memory_file_make();
    g_assert_cmpint(descriptor, >=, 0);
    g_assert_cmpint(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, !=, 0);
    g_assert_cmpint(write(descriptor, text, strlen(text)), ==, (gssize)strlen(text));
    return descriptor;
}

static void
test_is_kept_without_its_descriptor(void)
{
    Mapped mapped;
    int descriptor = file_with("content");
    g_assert_true(memory_file_keep(descriptor, &mapped));
    g_assert_cmpint(fcntl(descriptor, F_GETFD), ==, -1);
    g_assert_cmpmem(mapped.bytes, mapped.size, "content", 7);
    memory_file_drop(&mapped);
    g_assert_null(mapped.bytes);
    memory_file_drop(&mapped);
}

static void
test_an_empty_one_is_kept_too(void)
{
    Mapped mapped;
    g_assert_true(memory_file_keep(memory_file_make(), &mapped));
    g_assert_cmpuint(mapped.size, ==, 0);
    int copy = memory_file_copy(&mapped);
    g_assert_cmpint(lseek(copy, 0, SEEK_END), ==, 0);
    close(copy);
}

static void
test_nobody_cuts_it_short_under_a_reader(void)
{
    Mapped mapped;
    int descriptor = file_with("content");
    int other = dup(descriptor);
    g_assert_true(memory_file_keep(descriptor, &mapped));
    g_assert_cmpint(ftruncate(other, 0), ==, -1);
    g_assert_cmpmem(mapped.bytes, mapped.size, "content", 7);
    close(other);
    memory_file_drop(&mapped);
}

static void
test_what_is_no_memory_file_is_not_kept(void)
{
    Mapped mapped = {.size = 17};
    g_assert_false(memory_file_keep(open("/dev/null", O_RDWR), &mapped));
    g_assert_cmpuint(mapped.size, ==, 17);
}

static void
test_a_copy_begins_at_its_beginning(void)
{
    Mapped mapped;
    char bytes[16];
    g_assert_true(memory_file_keep(file_with("content"), &mapped));
    int copy = memory_file_copy(&mapped);
    memory_file_drop(&mapped);
    g_assert_cmpint(read(copy, bytes, sizeof(bytes)), ==, 7);
    g_assert_cmpmem(bytes, 7, "content", 7);
    close(copy);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/memory-file/is-kept-without-its-descriptor", test_is_kept_without_its_descriptor);
    g_test_add_func("/memory-file/an-empty-one-is-kept-too", test_an_empty_one_is_kept_too);
    g_test_add_func("/memory-file/nobody-cuts-it-short-under-a-reader", test_nobody_cuts_it_short_under_a_reader);
    g_test_add_func("/memory-file/what-is-no-memory-file-is-not-kept", test_what_is_no_memory_file_is_not_kept);
    g_test_add_func("/memory-file/a-copy-begins-at-its-beginning", test_a_copy_begins_at_its_beginning);
    return g_test_run();
}
