/* SPDX-License-Identifier: Apache-2.0 */
/* Subordinate user ids count for their user. */
#include "confine/account.h"

#include "etc-file.h"

#include <unistd.h>

static void
test_ranges(void)
{
    g_autoptr(GArray) ranges = account_ranges_parse("daemon:100000:65536\n"
                                                    "1000:200000:10\n"
                                                    "root:300000:65536\n"
                                                    "0:400000:65536\n"
                                                    "no-such-user-anywhere:500000:65536\n"
                                                    "bin:4294967290:4294967295\n");
    g_assert_cmpuint(ranges->len, ==, 3);
    g_assert_cmpuint(account_in(ranges, 99999), ==, 99999);
    g_assert_cmpuint(account_in(ranges, 100000), ==, 1);
    g_assert_cmpuint(account_in(ranges, 165535), ==, 1);
    g_assert_cmpuint(account_in(ranges, 165536), ==, 165536);
    g_assert_cmpuint(account_in(ranges, 200009), ==, 1000);
    g_assert_cmpuint(account_in(ranges, 300000), ==, 300000);
    g_assert_cmpuint(account_in(ranges, 400000), ==, 400000);
    g_assert_cmpuint(account_in(ranges, 500000), ==, 500000);
    g_assert_cmpuint(account_in(ranges, G_MAXUINT32), ==, 2);
    g_assert_cmpuint(account_in(ranges, 0), ==, 0);
}

static void
test_invalid(void)
{
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "daemon",
                                        "daemon:1",
                                        "daemon:1:",
                                        "daemon::1",
                                        "daemon:-1:1",
                                        "daemon:1:0",
                                        "daemon:1:1:1",
                                        "daemon:1:18446744073709551615",
                                        "daemon:4294967296:1",
                                        ":1:1",
                                        "#daemon:1:1"};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GArray) ranges = account_ranges_parse(texts[i]);
        g_assert_cmpuint(ranges->len, ==, 0);
    }
}

/* Whatever this machine's file says. */
static void
test_own(void)
{
    g_assert_cmpuint(account_of(0), ==, 0);
    g_assert_cmpuint(account_of(getuid()), ==, getuid());
}

/* Those of one container are not charged with what another's processes cost. */
static void
test_containers(void)
{
    if (!etc_file_replace("/etc/passwd", "root:x:0:0:::\nkubelet:x:998:998:::\ndockremap:x:997:997:::\n"
                                         "containers:x:996:996:::\nalice:x:1000:1000:::\n")) {
        g_test_skip("needs mounts of its own");
        return;
    }
    g_autoptr(GArray) ranges = account_ranges_parse("kubelet:65536:7208960\n"
                                                    "dockremap:10000000:65536\n"
                                                    "containers:2147483647:2147483648\n"
                                                    "alice:20000000:65536\n");
    g_assert_cmpuint(ranges->len, ==, 1);
    g_assert_cmpuint(account_in(ranges, 131072), ==, 131072);
    g_assert_cmpuint(account_in(ranges, 20000001), ==, 1000);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/account/ranges", test_ranges);
    g_test_add_func("/account/invalid", test_invalid);
    g_test_add_func("/account/own", test_own);
    g_test_add_func("/account/containers", test_containers);
    return g_test_run();
}
