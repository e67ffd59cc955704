/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/size.h"

static void
test_parse_good(void)
{
    static const struct {
        const char *text;
        guint64 bytes;
    } rows[] = {
        {"0", 0},
        {"4096", 4096},
        {"512KiB", 512 << 10},
        {"64K", 64 << 10},
        {"64k", 64 << 10},
        {"64kb", 64 << 10},
        {"100B", 100},
        {"1.5MiB", 3 << 19},
        {"2G", G_GUINT64_CONSTANT(2) << 30},
        {"1TiB", G_GUINT64_CONSTANT(1) << 40},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        guint64 bytes = 1;
        g_autoptr(GError) error = NULL;
        g_assert_true(size_parse(rows[i].text, "--sample", &bytes, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(bytes, ==, rows[i].bytes);
    }
}

static void
test_parse_bad(void)
{
    static const char *const rows[] = {"",    "K",    "-1",    "1 K",      "1KK",
                                       "1e3", "0x10", "inf",   "1.2.3K",   "1Ki",
                                       "12q", "KiB5", "1KiBx", "9000000T", "99999999999999999999"};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        guint64 bytes = 77;
        g_autoptr(GError) error = NULL;
        g_assert_false(size_parse(rows[i], "--sample", &bytes, &error));
        g_assert_error(error, CLI_ERROR, CLI_ERROR_USAGE);
        g_assert_nonnull(strstr(error->message, rows[i]));
        g_assert_cmpuint(bytes, ==, 77);
    }
}

static void
test_format(void)
{
    static const struct {
        guint64 bytes;
        const char *text;
    } rows[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.00 KiB"},
        {512 << 10, "512 KiB"},
        {1023 << 10, "1.00 MiB"},
        {1299227607, "1.21 GiB"},
        {15 << 20, "15.0 MiB"},
        {G_MAXUINT64, "16777216 TiB"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = size_format(rows[i].bytes);
        g_assert_cmpstr(text, ==, rows[i].text);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/size/parse/good", test_parse_good);
    g_test_add_func("/size/parse/bad", test_parse_bad);
    g_test_add_func("/size/format", test_format);
    return g_test_run();
}
