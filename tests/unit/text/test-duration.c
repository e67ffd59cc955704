/* SPDX-License-Identifier: Apache-2.0 */
#include "text/duration.h"

static void
test_format(void)
{
    static const struct {
        guint64 ms;
        const char *text;
    } rows[] = {
        {250, "250 ms"},       {5000, "5.0 s"},        {59400, "59 s"},        {300000, "5 min"},
        {90000, "1 min 30 s"}, {7500000, "2 h 5 min"}, {273600000, "3 d 4 h"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = duration_format(rows[i].ms);
        g_assert_cmpstr(text, ==, rows[i].text);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/duration/format", test_format);
    return g_test_run();
}
