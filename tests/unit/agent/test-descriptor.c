/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/descriptor.h"

#include <fcntl.h>
#include <glib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static Descriptor
adopt_memfd(void)
{
    Descriptor descriptor = DESCRIPTOR_NONE;
    g_assert_true(descriptor_adopt(&descriptor, memfd_create("ours", 0)));
    return descriptor;
}

static void
test_moves_out_of_the_way(void)
{
    Descriptor descriptor = adopt_memfd();
    g_assert_cmpint(descriptor.number, >=, 100);
    g_assert_cmpint(fcntl(descriptor.number, F_GETFD) & FD_CLOEXEC, !=, 0);
    g_assert_true(descriptor_is_ours(&descriptor));
    int number = descriptor.number;
    descriptor_close(&descriptor);
    g_assert_cmpint(descriptor.number, ==, -1);
    g_assert_cmpint(fcntl(number, F_GETFD), ==, -1);
}

static void
test_stays_below_a_low_limit(void)
{
    struct rlimit before;
    g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
    struct rlimit low = {.rlim_cur = 64, .rlim_max = before.rlim_max};
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &low), ==, 0);
    Descriptor descriptor = adopt_memfd();
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
    g_assert_cmpint(descriptor.number, >=, 32);
    g_assert_cmpint(descriptor.number, <, 64);
    descriptor_close(&descriptor);
}

static void
test_leaves_the_hosts_alone(void)
{
    Descriptor descriptor = adopt_memfd();
    const Descriptor lost = descriptor;
    int other = memfd_create("the host's", MFD_CLOEXEC);
    g_assert_cmpint(dup2(other, descriptor.number), ==, descriptor.number);
    g_assert_false(descriptor_is_ours(&descriptor));
    descriptor_close(&descriptor);
    g_assert_cmpint(fcntl(lost.number, F_GETFD), >=, 0); /* still the host's */
    g_assert_cmpint(descriptor.number, ==, -1);
    close(lost.number);
    close(other);
    g_assert_false(descriptor_is_ours(&lost));
}

static void
test_refuses_nothing(void)
{
    Descriptor descriptor = DESCRIPTOR_NONE;
    g_assert_false(descriptor_adopt(&descriptor, -1));
    g_assert_cmpint(descriptor.number, ==, -1);
    g_assert_false(descriptor_is_ours(&descriptor));
}

enum { ALONE, REFUSED, WRONG };

static gpointer
isolate(gpointer memfd)
{
    if (!descriptors_isolate(DESCRIPTORS_KEEP_STDERR))
        return GINT_TO_POINTER(REFUSED);
    if (fcntl(GPOINTER_TO_INT(memfd), F_GETFD) != -1 || fcntl(STDERR_FILENO, F_GETFD) == -1)
        return GINT_TO_POINTER(WRONG);
    return GINT_TO_POINTER(ALONE);
}

static void
test_a_table_of_its_own(void)
{
    int memfd = memfd_create("the host's", MFD_CLOEXEC);
    int result = GPOINTER_TO_INT(g_thread_join(g_thread_new("isolated", isolate, GINT_TO_POINTER(memfd))));
    g_assert_cmpint(fcntl(memfd, F_GETFD), !=, -1);
    close(memfd);
    if (result == REFUSED) {
        g_test_skip("this kernel or its sandbox grants no descriptor table of one's own");
        return;
    }
    g_assert_cmpint(result, ==, ALONE);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent/descriptor/moves-out-of-the-way", test_moves_out_of_the_way);
    g_test_add_func("/agent/descriptor/stays-below-a-low-limit", test_stays_below_a_low_limit);
    g_test_add_func("/agent/descriptor/leaves-the-hosts-alone", test_leaves_the_hosts_alone);
    g_test_add_func("/agent/descriptor/refuses-nothing", test_refuses_nothing);
    g_test_add_func("/agent/descriptor/a-table-of-its-own", test_a_table_of_its_own);
    return g_test_run();
}
