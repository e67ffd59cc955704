/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/describe.h"

static const guint64 mib = 1 << 20, gib = 1 << 30;

static const struct {
    BlackboxEnd end;
    gint64 profile_us;
    const char *text;
} cases[] = {
    {{.cause = BLACKBOX_CAUSE_OOM, .time_us = 9000000, .used = 2047 * mib, .limit = 2 * gib},
     8200000,
     "killed by OOM at 2.00 of 2.00 GiB, last profile 800 ms old"},
    {{.cause = BLACKBOX_CAUSE_OOM_LIKELY, .time_us = 9000000, .used = 900 * mib, .limit = gib},
     1000000,
     "killed (SIGKILL), probably by OOM, at 900 MiB of 1.00 GiB, last profile 8.0 s old"},
    {{.cause = BLACKBOX_CAUSE_SIGNAL, .number = 11, .time_us = 1, .used = gib, .limit = BLACKBOX_UNKNOWN},
     2,
     "ended by signal 11 (Segmentation fault) at 1.00 GiB, last profile 0 ms old"},
    {{.cause = BLACKBOX_CAUSE_EXIT, .number = 3, .used = BLACKBOX_UNKNOWN},
     0,
     "exited with status 3 at unknown memory, no profile"},
    {{.cause = BLACKBOX_CAUSE_UNKNOWN, .used = 0, .limit = gib},
     0,
     "ended for an unknown reason at 0 B of 1.00 GiB, no profile"},
    {{.cause = BLACKBOX_CAUSE_UNKNOWN, .used = 0, .limit = gib, .unit_result = "watchdog"},
     0,
     "ended (its unit: watchdog) at 0 B of 1.00 GiB, no profile"},
};

static void
test_ends(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = blackbox_describe_end(&cases[i].end, cases[i].profile_us);
        g_assert_cmpstr(text, ==, cases[i].text);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/describe/ends", test_ends);
    return g_test_run();
}
