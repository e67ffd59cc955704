/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a function has opened in this process, and that are closed or replaced behind its back. */
#include "target/loan-files.h"

#include <errno.h>
#include <glib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static LoanFiles
noted(int fd)
{
    LoanFiles files = {.thread = getpid()};
    const TraceeSystemCall opened = {.number = SYS_openat, .result = fd};
    loan_files_note(&files, &opened);
    g_assert_cmpuint(files.n, ==, 1);
    return files;
}

static TraceeSystemCall
call_on(gint64 number, int fd)
{
    return (TraceeSystemCall){.number = number, .arguments = {(guint64)fd, 0, 100}};
}

static void
test_unchanged(void)
{
    const int fd = memfd_create("ours", 0), other = memfd_create("other", 0);
    LoanFiles files = noted(fd);
    TraceeSystemCall write_it = call_on(SYS_write, fd), close_it = call_on(SYS_close, fd),
                     close_other = call_on(SYS_close, other);
    g_assert_true(loan_files_check(&files, &write_it));
    g_assert_true(loan_files_check(&files, &close_other));
    g_assert_true(loan_files_check(&files, &close_it));
    g_assert_cmpuint(files.n, ==, 0);
    g_assert_false(files.lost);
    close(fd);
    close(other);
}

static void
test_replaced(void)
{
    const int fd = memfd_create("ours", 0), other = memfd_create("the program's", 0);
    LoanFiles files = noted(fd);
    TraceeSystemCall write_it = call_on(SYS_write, fd), read_it = call_on(SYS_read, fd),
                     close_it = call_on(SYS_close, fd);
    TraceeSystemCall map_it = {.number = SYS_mmap, .arguments = {0, 100, PROT_READ, MAP_PRIVATE, (guint64)fd}};
    TraceeSystemCall map_none = {.number = SYS_mmap, .arguments = {0, 100, PROT_READ, MAP_ANONYMOUS, (guint64)fd}};
    dup2(other, fd);
    g_assert_false(loan_files_check(&files, &write_it));
    g_assert_cmpint(write_it.result, ==, 100);
    g_assert_false(loan_files_check(&files, &read_it));
    g_assert_cmpint(read_it.result, ==, -EBADF);
    g_assert_false(loan_files_check(&files, &map_it));
    g_assert_cmpint(map_it.result, ==, -EBADF);
    g_assert_true(loan_files_check(&files, &map_none));
    g_assert_true(files.lost);
    g_assert_false(loan_files_check(&files, &close_it));
    g_assert_cmpint(close_it.result, ==, 0);
    g_assert_true(loan_files_check(&files, &close_it)); /* no longer the function's */
    close(fd);
    close(other);
}

static void
test_closed(void)
{
    const int fd = memfd_create("ours", 0);
    LoanFiles files = noted(fd);
    TraceeSystemCall close_it = call_on(SYS_close, fd);
    close(fd);
    g_assert_false(loan_files_check(&files, &close_it));
    g_assert_cmpint(close_it.result, ==, 0);
    g_assert_true(files.lost);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/loan-files/unchanged", test_unchanged);
    g_test_add_func("/loan-files/replaced", test_replaced);
    g_test_add_func("/loan-files/closed", test_closed);
    return g_test_run();
}
