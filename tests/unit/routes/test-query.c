/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/query.h"

#include <glib.h>
#include <string.h>

static void
test_finds_and_decodes(void)
{
    static const struct {
        const char *query, *name;
        QueryState state;
        const char *text;
    } rows[] = {
        {"", "a", QUERY_ABSENT, ""},
        {"a=1", "a", QUERY_GIVEN, "1"},
        {"a=1&b=2", "b", QUERY_GIVEN, "2"},
        {"a=1&a=2", "a", QUERY_GIVEN, "1"}, /* the first wins */
        {"a&a=2", "a", QUERY_BARE, ""},
        {"a=", "a", QUERY_GIVEN, ""},
        {"ab=1", "a", QUERY_ABSENT, ""},
        {"a=1", "ab", QUERY_ABSENT, ""},
        {"a=1;b=2", "a", QUERY_GIVEN, "1;b=2"},
        {"a=1=2", "a", QUERY_GIVEN, "1=2"},
        {"&&a=1&", "a", QUERY_GIVEN, "1"},
        {"a=x+y%2Bz%26%3d", "a", QUERY_GIVEN, "x y+z&="},
        {"%61%62=1", "ab", QUERY_GIVEN, "1"},
        {"a=%", "a", QUERY_GIVEN, "%"},
        {"a=%4", "a", QUERY_GIVEN, "%4"},
        {"a=%4&b=1", "a", QUERY_GIVEN, "%4"}, /* the pair ends there, whatever follows */
        {"a=%zz%41", "a", QUERY_GIVEN, "%zzA"},
        {"a=x%00y", "a", QUERY_GIVEN, "x%00y"},
        {"a=\xc3\xa4", "a", QUERY_GIVEN, "\xc3\xa4"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        QueryValue value;
        g_assert_cmpint(query_find(rows[i].query, rows[i].name, &value), ==, rows[i].state);
        g_assert_cmpint(value.state, ==, rows[i].state);
        g_assert_cmpstr(value.text, ==, rows[i].text);
    }
}

static void
test_cuts_what_is_too_long(void)
{
    g_autofree char *query = g_strnfill(QUERY_VALUE_MAX + 2, 'x');
    QueryValue value;
    memcpy(query, "a=", 2);
    g_assert_cmpint(query_find(query, "a", &value), ==, QUERY_LONG);
    g_assert_cmpuint(strlen(value.text), ==, QUERY_VALUE_MAX - 1);
    query[QUERY_VALUE_MAX + 1] = '\0';
    g_assert_cmpint(query_find(query, "a", &value), ==, QUERY_GIVEN);
}

static void
test_reads_no_further_than_told(void)
{
    QueryValue value;
    g_assert_cmpint(query_find_in("a=12", 3, "a", &value), ==, QUERY_GIVEN);
    g_assert_cmpstr(value.text, ==, "1");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/routes/query/finds-and-decodes", test_finds_and_decodes);
    g_test_add_func("/routes/query/cuts-what-is-too-long", test_cuts_what_is_too_long);
    g_test_add_func("/routes/query/reads-no-further-than-told", test_reads_no_further_than_told);
    return g_test_run();
}
