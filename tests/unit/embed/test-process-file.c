/* SPDX-License-Identifier: Apache-2.0 */
/* The test runs itself again with an environment of its choice. */
#include "embed/process-file.h"

#include <glib.h>
#include <string.h>
#include <unistd.h>

static void
check_variable(const char *name, gsize size, const char *wanted)
{
    char text[32];
    g_assert_cmpint(process_file_variable(name, text, size, NULL), ==, OUTCOME_DONE);
    g_assert_cmpstr(text, ==, wanted);
}

static void
test_variables_are_those_of_the_start(void)
{
    if (g_test_subprocess()) {
        g_setenv("ONE", "changed since", TRUE);
        check_variable("ONE", 32, "first");
        check_variable("EMPTY", 32, "");
        check_variable("ON", 32, "");
        check_variable("ONE_MORE", 32, "a=b");
        check_variable("ABSENT", 32, "");
        check_variable("ONE", 3, "fi");
        return;
    }
    g_setenv("ONE_MORE", "a=b", TRUE);
    g_setenv("EMPTY", "", TRUE);
    g_setenv("ONE", "first", TRUE);
    g_test_trap_subprocess("/process-file/variables-are-those-of-the-start", 0, 0);
    g_test_trap_assert_passed();
}

static void
test_arguments_and_maps(void)
{
    char text[4096];
    gsize n = 0;
    int descriptor = -1;
    g_assert_cmpint(process_file_read("/proc/self/cmdline", text, sizeof(text), &n, NULL), ==, OUTCOME_DONE);
    g_assert_cmpuint(n, >, 0);
    g_assert_cmpint(text[n - 1], ==, '\0');
    g_assert_cmpint(process_file_copy("/proc/self/maps", &descriptor, NULL), ==, OUTCOME_DONE);
    g_assert_cmpint(pread(descriptor, text, sizeof(text) - 1, 0), >, 0);
    text[sizeof(text) - 1] = '\0';
    g_assert_nonnull(strstr(text, "r-xp"));
    close(descriptor);
}

static void
test_what_cannot_be_read_is_named(void)
{
    Failure failure;
    int descriptor = 17;
    g_assert_cmpint(process_file_copy("/proc/self/nothing", &descriptor, &failure), ==, OUTCOME_SYSTEM);
    g_assert_cmpint(descriptor, ==, 17);
    g_assert_nonnull(strstr(failure.why, "cannot read /proc/self/nothing: "));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/process-file/variables-are-those-of-the-start", test_variables_are_those_of_the_start);
    g_test_add_func("/process-file/arguments-and-maps", test_arguments_and_maps);
    g_test_add_func("/process-file/what-cannot-be-read-is-named", test_what_cannot_be_read_is_named);
    return g_test_run();
}
