/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/state.h"

#include <string.h>

/* System calls of this process that have read, or G_MAXUINT64. */
static guint64
count_reads(void)
{
    g_autofree char *text = NULL;
    const char *line = g_file_get_contents("/proc/self/io", &text, NULL, NULL) ? strstr(text, "syscr: ") : NULL;
    return line != NULL ? g_ascii_strtoull(line + strlen("syscr: "), NULL, 10) : G_MAXUINT64;
}

/* `ps --json` makes one for each process, of which another user can have thousands. */
static void
test_long_arguments(void)
{
    RouteStatus status;
    g_autofree char *arguments = g_strnfill(4095, '\x1b');
    const guint64 before = count_reads();
    if (before == G_MAXUINT64) {
        g_test_skip("the kernel does not count system calls");
        return;
    }
    status_init(&status);
    status.name = "name";
    status.arguments = arguments;
    json_t *json = state_json(&status);
    g_assert_cmpuint(count_reads() - before, <, 100);
    g_assert_cmpstr(json_string_value(json_object_get(json, "arguments")), ==, arguments);
    json_decref(json);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cli/state/long-arguments", test_long_arguments);
    return g_test_run();
}
