/* SPDX-License-Identifier: Apache-2.0 */
/* Documents that cannot be written. */
#include "cli/document.h"

#include <glib.h>
#include <stdlib.h>
#include <sys/resource.h>

static void
test_no_memory(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    g_test_skip("a sanitizer needs more address space than the limit");
    return;
#endif
    if (g_test_subprocess()) {
        const struct rlimit limit = {.rlim_cur = 256 << 20, .rlim_max = 256 << 20};
        document_need_memory();
        json_t *list = json_array();
        if (setrlimit(RLIMIT_AS, &limit) != 0)
            exit(0);
        for (guint i = 0; i < 10000000; i++)
            json_array_append_new(list, json_integer(i));
        document_print("test", json_pack("{s:o}", "list", list));
        exit(0);
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stdout_unmatched("*format*");
    g_test_trap_assert_stderr("*jescope: not enough memory for a document*");
}

static void
test_no_members(void)
{
    if (g_test_subprocess()) {
        document_print("test", NULL);
        exit(0);
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stdout_unmatched("*format*");
    g_test_trap_assert_stderr("*jescope: the document cannot be written*");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cli/document/no-memory", test_no_memory);
    g_test_add_func("/cli/document/no-members", test_no_members);
    return g_test_run();
}
