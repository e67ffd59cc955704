/* SPDX-License-Identifier: Apache-2.0 */
#include "text/printable.h"

#include <string.h>

/* CSI as one character, right-to-left override, isolate, zero-width space and joiner, byte order mark, separators. */
static const char *const hostile[] = {
    "\x1b[2J",
    "\x7f",
    ("\xc2\x9b"
     "31m"),
    "\xc2\x85",
    "\u202e",
    "\u202a",
    "\u2066",
    "\u200b",
    "\u200d",
    "\ufeff",
    "\u2028",
    "\u2029",
    "\u00ad",
    "\U000e0041",
    "\xff",
    "\xed\xa0\x80",
    "\xc0\x80",
    "\xf0\x9f\x98",
};

static gboolean
is_harmless(const char *text)
{
    if (!g_utf8_validate(text, -1, NULL))
        return FALSE;
    for (; *text != '\0'; text += g_utf8_skip[(guchar)*text]) {
        GUnicodeType type = g_unichar_type(g_utf8_get_char(text));
        if (type == G_UNICODE_CONTROL || type == G_UNICODE_FORMAT || type == G_UNICODE_LINE_SEPARATOR ||
            type == G_UNICODE_PARAGRAPH_SEPARATOR)
            return FALSE;
    }
    return TRUE;
}

static void
test_in_place(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(hostile); i++) {
        char text[64];
        g_snprintf(text, sizeof(text), "a%sb", hostile[i]);
        text_clean_line(text, sizeof(text));
        g_assert_true(is_harmless(text));
        g_assert_true(g_str_has_prefix(text, "a?"));
        g_assert_true(g_str_has_suffix(text, "b"));
    }
    char lines[] = "one\n\ttwo\r";
    text_clean(lines, sizeof(lines));
    g_assert_cmpstr(lines, ==, "one\n\ttwo?");
    text_clean_line(lines, sizeof(lines));
    g_assert_cmpstr(lines, ==, "one??two?");
    char full[4] = {'a', 'b', 'c', 'd'};
    text_clean(full, sizeof(full));
    g_assert_cmpstr(full, ==, "abc");
    char cut[4] = {'a', '\xe6', '\x97', '\xa5'}; /* the field ends within a character */
    text_clean(cut, sizeof(cut));
    g_assert_cmpstr(cut, ==, "a??");
}

static void
test_copy(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(hostile); i++) {
        g_autofree char *text = text_printable(hostile[i]);
        g_assert_true(is_harmless(text));
        for (gsize j = 0; j < i; j++) {
            g_autofree char *other = text_printable(hostile[j]);
            g_assert_cmpstr(text, !=, other);
        }
    }
    g_autofree char *override = text_printable("pay\u202eload");
    g_assert_cmpstr(override, ==, "pay\\u{202E}load");
    g_autofree char *none = text_printable("a\uffff\ufdfd\U0001fffe");
    g_assert_cmpstr(none, ==, "a\\u{FFFF}\ufdfd\\u{1FFFE}");
    g_autofree char *byte = text_printable("a\x9b"
                                           "b\n");
    g_assert_cmpstr(byte, ==, "a\\x{9B}b\\u{000A}");
    g_autofree char *plain = text_printable("日本::größe(é) std::vector<int>");
    g_assert_cmpstr(plain, ==, "日本::größe(é) std::vector<int>");
}

static void
test_columns(void)
{
    g_assert_cmpuint(text_columns("name"), ==, 4);
    g_assert_cmpuint(text_columns("日本"), ==, 4);
    g_assert_cmpuint(text_columns("e\u0301"), ==, 1);
    static const struct {
        const char *text;
        guint columns;
        const char *cut;
        const char *field;
    } cases[] = {
        {"name", 6, "name", "name  "},
        {"name", 4, "name", "name"},
        {"long name", 8, "long ...", "long ..."},
        {"日本語", 6, "日本語", "日本語"},
        {"日本語", 5, "日...", "日..."},
        {"日本語", 4, "...", "... "},
        {"name", 2, "..", ".."},
        {"name", 0, "", ""},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *cut = text_cut(cases[i].text, cases[i].columns);
        g_autofree char *field = text_field(cases[i].text, cases[i].columns);
        g_assert_cmpstr(cut, ==, cases[i].cut);
        g_assert_cmpstr(field, ==, cases[i].field);
    }
}

static void
test_wrap(void)
{
    static const struct {
        const char *text;
        guint columns;
        const char *lines;
    } cases[] = {
        {"one two three", 20, "one two three"},   {"one two three", 7, "one two|three"},
        {"one two three", 8, "one two|three"},    {"one two three", 6, "one|two|three"},
        {"abcdefgh ij", 3, "abc|def|gh|ij"},      {"", 5, ""},
        {"\u65e5\u672c x", 2, "\u65e5|\u672c|x"}, {"\u65e5", 1, "\u65e5"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(GStrv) lines = text_wrap(cases[i].text, cases[i].columns);
        g_autofree char *joined = g_strjoinv("|", lines);
        g_assert_cmpstr(joined, ==, cases[i].lines);
    }
}

static void
test_json(void)
{
    g_autofree char *json = text_printable_json("{\n\t\"h\u00e4\\n\": \"\xc2\x9b"
                                                "2J\x7f\u202e\U000e0001\"}");
    g_assert_cmpstr(json, ==, "{\n\t\"h\u00e4\\n\": \"\\u009b2J\\u007f\\u202e\\udb40\\udc01\"}");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/printable/in-place", test_in_place);
    g_test_add_func("/printable/copy", test_copy);
    g_test_add_func("/printable/json", test_json);
    g_test_add_func("/printable/columns", test_columns);
    g_test_add_func("/text/printable/wrap", test_wrap);
    return g_test_run();
}
