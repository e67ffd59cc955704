/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json-check.h"

#include <string.h>

static void
test_sound(void)
{
    static const char *const texts[] = {
        "{}",
        " [ ] \n",
        "0",
        "-1.5e+10",
        "\"\\u00e9\\n\xc3\xa9\"",
        "true",
        "{\"a\": {\"b\": [1, 2, {\"c\": null}], \"d\": \"\"}, \"e\": []}",
        "[[], {}, [[1]], \"]\"]",
    };
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        if (!json_check(texts[i], strlen(texts[i])))
            g_error("refused: %s", texts[i]);
}

static void
test_unsound(void)
{
    static const char *const texts[] = {
        "",     " ",       "{",           "[1,]",     "{\"a\":1,}", "{\"a\" 1}", "{a: 1}",    "[1 2]",
        "[1]]", "{} {}",   "01",          "1.",       "-",          "1e",        "tru",       "nan",
        "\"a",  "\"\\x\"", "\"\\u12g4\"", "\"a\nb\"", "\"\xff\"",   "[1}",       "{\"a\":1]", "\"\ntrue",
        "[,1]", "{,}",     "[\"a\":1]",   "{\"a\"}",  "{1:2}",      "\"\\",      "[1,",       "{\"a\":",
    };
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        if (json_check(texts[i], strlen(texts[i])))
            g_error("taken: %s", texts[i]);
    g_assert_false(json_check("1\0", 2));
    g_assert_false(json_check(NULL, 0));
}

static void
test_levels(void)
{
    enum { LEVELS = 64 };
    g_autofree char *open = g_strnfill(LEVELS + 1, '[');
    g_autofree char *close = g_strnfill(LEVELS + 1, ']');
    g_autofree char *most = g_strconcat(open + 3, "{\"a\": [[]]}", close + 3, NULL);
    g_autofree char *more = g_strconcat(open, "1", close, NULL);
    g_assert_true(json_check(most, strlen(most)));
    g_assert_false(json_check(more, strlen(more)));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/json-check/sound", test_sound);
    g_test_add_func("/json-check/unsound", test_unsound);
    g_test_add_func("/json-check/levels", test_levels);
    return g_test_run();
}
