/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/duration.h"

static void
test_parse_good(void)
{
    static const struct {
        const char *text;
        guint64 ms;
    } rows[] = {
        {"5m", 300000},
        {"90s", 90000},
        {"1h30m", 5400000},
        {"250ms", 250},
        {"1.5s", 1500},
        {"5", 5000},
        {"0.5", 500},
        {"10m", 600000},
        {"2d", 172800000},
        {"1h0m5s", 3605000},
        {"30d", G_GUINT64_CONSTANT(2592000000)},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        guint64 ms = 0;
        g_autoptr(GError) error = NULL;
        g_assert_true(duration_parse(rows[i].text, "--for", &ms, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(ms, ==, rows[i].ms);
    }
}

static void
test_parse_bad(void)
{
    static const char *const rows[] = {"",   ".5", "m",    "5 m",   "-5m", "30m1h", "5m5m", "1e3s",
                                       "5x", "5M", "0x5s", "1.2.s", "0s",  "31d",   "s5",   "99999999999999999999d"};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        guint64 ms = 77;
        g_autoptr(GError) error = NULL;
        g_assert_false(duration_parse(rows[i], "--for", &ms, &error));
        g_assert_error(error, CLI_ERROR, CLI_ERROR_USAGE);
        g_assert_nonnull(strstr(error->message, rows[i]));
        g_assert_cmpuint(ms, ==, 77);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/duration/parse/good", test_parse_good);
    g_test_add_func("/duration/parse/bad", test_parse_bad);
    return g_test_run();
}
