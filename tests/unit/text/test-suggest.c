/* SPDX-License-Identifier: Apache-2.0 */
#include "text/suggest.h"

#include <glib.h>

static const char *const words[] = {"run", "ps", "status", "enable", "disable", "dump", NULL};

static void
test_near(void)
{
    g_assert_cmpstr(suggest("stauts", words), ==, "status");
    g_assert_cmpstr(suggest("dmp", words), ==, "dump");
    g_assert_cmpstr(suggest("dupm", words), ==, "dump");
    g_assert_cmpstr(suggest("pss", words), ==, "ps");
    g_assert_cmpstr(suggest("disabel", words), ==, "disable");
}

static void
test_far(void)
{
    g_assert_null(suggest("profile", words));
    g_assert_null(suggest("xy", words));
    g_assert_null(suggest("dumpdumpdumpdumpdumpdumpdumpdumpdump", words));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/suggest/near", test_near);
    g_test_add_func("/suggest/far", test_far);
    return g_test_run();
}
