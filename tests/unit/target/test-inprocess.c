/* SPDX-License-Identifier: Apache-2.0 */
/* A Target that is the test itself: linked with jemalloc and libjescope, profiling ready by MALLOC_CONF. */
#include "target/inprocess.h"

#include <jescope.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static Target *
open_self(void)
{
    g_autoptr(GError) error = NULL;
    Target *target = inprocess_open(&error);
    g_assert_no_error(error);
    g_assert_nonnull(target);
    return target;
}

static void
test_says_who_it_is(void)
{
    g_autoptr(Target) target = open_self();
    WireHelloReply hello;
    g_assert_true(target_hello(target, &hello, NULL));
    g_assert_cmpint(target_pid(target), ==, getpid());
    g_assert_cmpint(hello.pid, ==, getpid());
    g_assert_true(g_str_has_prefix(hello.jemalloc_version, "5."));
    g_assert_cmpuint(hello.flags & WIRE_FLAG_SERVES_MALLOC, !=, 0);
    g_assert_nonnull(strstr(target_label(target), "("));
}

static void
test_reads_writes_and_samples(void)
{
    g_autoptr(Target) target = open_self();
    ControlValue value;
    guint64 rows[2] = {0};
    const SampleRequest request = {.names = "3stats.allocated\0", .n = 1, .count = 1, .refresh = TRUE};
    g_assert_true(target_write(target, "prof.active", WIRE_TYPE_BOOL, 1, NULL));
    g_assert_true(target_read(target, "prof.active", WIRE_TYPE_BOOL, &value, NULL));
    g_assert_cmpuint(value.value, ==, 1);
    g_assert_true(target_write(target, "prof.active", WIRE_TYPE_BOOL, 0, NULL));
    g_assert_true(target_sample(target, &request, rows, NULL, NULL));
    g_assert_cmpuint(rows[0], ==, 1);
    g_assert_cmpuint(rows[1], >, 0);
}

static void
test_refuses_as_any_target_does(void)
{
    g_autoptr(Target) target = open_self();
    g_autoptr(GError) error = NULL;
    g_assert_false(target_write(target, "arena.0.reset", WIRE_TYPE_NONE, 0, &error));
    g_assert_error(error, TARGET_ERROR, TARGET_ERROR_NOT_ALLOWED);
}

static void
check_output(int descriptor, const char *begin)
{
    char bytes[16] = "";
    struct stat status;
    g_assert_cmpint(descriptor, >=, 0);
    g_assert_cmpint(fstat(descriptor, &status), ==, 0);
    g_assert_cmpint(read(descriptor, bytes, sizeof bytes - 1), ==, sizeof bytes - 1);
    g_assert_true(g_str_has_prefix(bytes, begin));
    close(descriptor);
}

static void
test_dumps_and_prints(void)
{
    g_autoptr(Target) target = open_self();
    check_output(target_dump(target, NULL), "heap_v2/");
    check_output(target_stats(target, "J", NULL), "{\"jemalloc\":");
}

static void
test_leases_need_the_thread(void)
{
    g_autoptr(Target) target = open_self();
    g_autoptr(GError) error = NULL;
    LeaseRequest request = {.action = WIRE_LEASE_TAKE, .duration_ms = 60000, .active = TRUE};
    WireLease lease;
    g_assert_false(target_lease(target, &request, &lease, &error));
    g_assert_error(error, TARGET_ERROR, TARGET_ERROR_NO_AGENT);
    g_assert_nonnull(strstr(error->message, "jescope_start()"));

    const JescopeOptions options = {.size = sizeof options, .flags = JESCOPE_START_NO_SOCKET};
    g_assert_cmpint(jescope_start(&options, NULL), ==, JESCOPE_OK);
    g_assert_true(target_lease(target, &request, &lease, NULL));
    g_assert_cmpuint(lease.active, ==, 1);
    request = (LeaseRequest){.action = WIRE_LEASE_RELEASE, .id = lease.id};
    g_assert_true(target_lease(target, &request, &lease, NULL));
    g_assert_cmpuint(lease.id, ==, 0);
    g_assert_cmpint(jescope_stop(NULL), ==, JESCOPE_OK);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/inprocess/says-who-it-is", test_says_who_it_is);
    g_test_add_func("/inprocess/reads-writes-and-samples", test_reads_writes_and_samples);
    g_test_add_func("/inprocess/refuses-as-any-target-does", test_refuses_as_any_target_does);
    g_test_add_func("/inprocess/dumps-and-prints", test_dumps_and_prints);
    g_test_add_func("/inprocess/leases-need-the-thread", test_leases_need_the_thread);
    return g_test_run();
}
