/* SPDX-License-Identifier: Apache-2.0 */
#include "source/named-dump.h"
#include "target/process.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char text[] = "heap_v2/524288\n  t*: 1: 100 [0: 0]\n@ 0x1 0x2\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n";

static NamedDump *
dump_of(pid_t pid, guint64 start)
{
    NamedDump *dump = g_new(NamedDump, 1);
    int fd = memfd_create("dump", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, text, strlen(text)), ==, (gssize)strlen(text));
    *dump = (NamedDump){.fd = fd, .label = g_strdup("test"), .pid = pid, .start = start, .owner = geteuid()};
    return dump;
}

static void
test_process(void)
{
    g_autoptr(NamedDump) dump = dump_of(getpid(), process_start_time(getpid()));
    g_autoptr(GError) error = NULL;
    named_dump_finish(dump, &error);
    g_assert_no_error(error);
    g_assert_cmpint(dump->pid, ==, getpid());
}

/* The files of a process that has the pid now are not looked at for the dump of one that had it before. */
static void
test_another_process(void)
{
    g_autoptr(NamedDump) dump = dump_of(getpid(), process_start_time(getpid()) + 1);
    g_autoptr(GError) error = NULL;
    named_dump_finish(dump, &error);
    g_assert_no_error(error);
    g_assert_cmpint(dump->pid, ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/named-dump/process", test_process);
    g_test_add_func("/named-dump/another-process", test_another_process);
    return g_test_run();
}
