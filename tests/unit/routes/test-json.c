/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/json.h"

#include "routes/reply.h"

#include <glib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static RouteReply reply = {.descriptor = -1};

static char *
body(void)
{
    char *text = g_malloc0(reply.body_size + 1);
    if (reply.descriptor < 0)
        memcpy(text, reply.body, reply.body_size);
    else
        g_assert_cmpint(pread(reply.descriptor, text, reply.body_size, 0), ==, (gssize)reply.body_size);
    return text;
}

static void
test_writes_every_kind(void)
{
    Json json;
    reply_begin(&reply, 200, REPLY_JSON);
    json_begin(&json, &reply);
    json_begin_object(&json, NULL);
    json_text(&json, "text", "a\"b\\c\n\x7f/");
    json_number(&json, "number", UINT64_MAX);
    json_signed(&json, "signed", -1);
    json_seconds(&json, "seconds", 61005);
    json_begin_array(&json, "list");
    json_boolean(&json, NULL, true);
    json_put_null(&json, NULL);
    json_begin_object(&json, NULL);
    json_end(&json);
    json_end(&json);
    json_boolean(&json, "last", false);
    json_end(&json);
    g_autofree char *text = body();
    g_assert_cmpstr(
        text, ==,
        "{\"text\":\"a\\\"b\\\\c\\u000a\\u007f/"
        "\",\"number\":9223372036854775807,\"signed\":-1,\"seconds\":61.005,\"list\":[true,null,{}],\"last\":false}");
}

/* jansson, among others, refuses a whole document for one integer above INT64_MAX, which a target can have. */
static void
test_numbers_that_readers_take(void)
{
    static const uint64_t inputs[] = {0, (uint64_t)INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX - 1};
    for (size_t i = 0; i < G_N_ELEMENTS(inputs); i++) {
        Json json;
        reply_begin(&reply, 200, REPLY_JSON);
        json_begin(&json, &reply);
        json_number(&json, NULL, inputs[i]);
        g_autofree char *text = body();
        g_autofree char *wanted = g_strdup_printf("%" G_GINT64_FORMAT, (gint64)MIN(inputs[i], G_MAXINT64));
        g_assert_cmpstr(text, ==, wanted);
    }
}

static void
test_mends_what_is_not_utf8(void)
{
    static const char *const inputs[] = {"\xc3\xa4",    "\xff",         "\xe2\x82\xac",     "\xe2\x82",
                                         "\xc0\xaf",    "\xed\xa0\x80", "\xf0\x9f\x98\x80", "\xf4\x90\x80\x80",
                                         "\xe0\x80\x80"};
    for (size_t i = 0; i < G_N_ELEMENTS(inputs); i++) {
        Json json;
        reply_begin(&reply, 200, REPLY_JSON);
        json_begin(&json, &reply);
        json_text(&json, NULL, inputs[i]);
        g_autofree char *text = body();
        g_assert_true(g_utf8_validate(text, -1, NULL));
        bool kept = strstr(text, inputs[i]) != NULL;
        g_assert_cmpint(kept, ==, g_utf8_validate(inputs[i], -1, NULL));
    }
}

/* curl shows an answer on a terminal. */
static void
test_controls(void)
{
    Json json;
    reply_begin(&reply, 200, REPLY_JSON);
    json_begin(&json, &reply);
    json_text(&json, NULL,
              "\xc2\x9b"
              "31m \xe2\x80\xae \xe2\x81\xa6 \xe2\x80\x8b \xef\xbb\xbf \xc2\xa0 \xe2\x80\x94 \xc3\xa4");
    g_autofree char *text = body();
    g_assert_cmpstr(text, ==, "\"\\u009b31m \\u202e \\u2066 \\u200b \\ufeff \xc2\xa0 \xe2\x80\x94 \xc3\xa4\"");
}

/* Texts that are longer than a piece of them, with characters of every length at the end of a piece. */
static void
test_long_texts(void)
{
    static const char *const letters[] = {"x", "\"", "\n", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xff"};
    static const char *const written[] = {
        "x", "\\\"", "\\u000a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xbf\xbd"};
    for (size_t i = 0; i < G_N_ELEMENTS(letters); i++)
        for (gsize before = 1000; before < 1050; before++) {
            Json json;
            g_autofree char *head = g_strnfill(before, 'h');
            g_autofree char *given = g_strconcat(head, letters[i], head, NULL);
            g_autofree char *wanted = g_strconcat("\"", head, written[i], head, "\"", NULL);
            reply_begin(&reply, 200, REPLY_JSON);
            json_begin(&json, &reply);
            json_text(&json, NULL, given);
            g_autofree char *text = body();
            g_assert_cmpstr(text, ==, wanted);
        }
}

/* A system call for each character of a body in a memory file took half a minute for the arguments and control groups
 * of the thousand processes that a user may have. */
static void
test_letters_take_no_system_call_each(void)
{
    enum { BYTES = 8 << 20, LONGEST_S = 2 };
    Json json;
    g_autofree char *quotes = g_strnfill(BYTES, '"');
    const clock_t begun = clock();
    reply_begin(&reply, 200, REPLY_JSON);
    json_begin(&json, &reply);
    json_text(&json, NULL, quotes);
    g_assert_cmpint(clock() - begun, <, LONGEST_S * CLOCKS_PER_SEC);
    g_assert_cmpint(reply.descriptor, >=, 0);
    g_assert_cmpuint(reply.body_size, ==, 2 * BYTES + 2);
    reply_begin(&reply, 200, NULL);
}

/* Nor for each value. */
static void
test_values_take_no_system_call_each(void)
{
    enum { VALUES = 4 << 20, LONGEST_S = 2 };
    Json json;
    const clock_t begun = clock();
    reply_begin(&reply, 200, REPLY_JSON);
    json_begin(&json, &reply);
    json_begin_array(&json, NULL);
    for (guint i = 0; i < VALUES; i++)
        json_number(&json, NULL, 7);
    json_end(&json);
    g_assert_cmpint(clock() - begun, <, LONGEST_S * CLOCKS_PER_SEC);
    g_assert_cmpint(reply.descriptor, >=, 0);
    g_assert_cmpuint(reply.body_size, ==, 2 * VALUES + 1);
    reply_begin(&reply, 200, NULL);
}

static void
test_long_bodies_move_to_memory_files(void)
{
    g_autofree char *piece = g_strnfill(1000, 'x');
    reply_begin(&reply, 200, REPLY_TEXT);
    for (int i = 0; i < 100; i++)
        reply_print(&reply, "%02d%s", i, piece);
    g_autofree char *text = body();
    g_assert_cmpint(reply.descriptor, >=, 0);
    g_assert_cmpuint(reply.body_size, ==, 100 * 1002);
    g_assert_cmpuint(strlen(text), ==, 100 * 1002);
    for (int i = 0; i < 100; i++)
        g_assert_cmpint((text[i * 1002] - '0') * 10 + text[i * 1002 + 1] - '0', ==, i);
    reply_begin(&reply, 200, NULL);
    g_assert_cmpint(reply.descriptor, ==, -1);
}

static void
test_headers_hold_no_line_ends(void)
{
    reply_begin(&reply, 200, NULL);
    reply_header(&reply, "Location", "/a\r\nSet-Cookie: %s", "b");
    reply_header(&reply, "Allow", "GET");
    g_assert_cmpstr(reply.headers, ==, "Location: /a__Set-Cookie: b\r\nAllow: GET\r\n");
    g_autofree char *much = g_strnfill(ROUTE_HEADERS_MAX, 'x');
    reply_header(&reply, "Much", "%s", much);
    g_assert_null(strstr(reply.headers, "Much"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/routes/json/writes-every-kind", test_writes_every_kind);
    g_test_add_func("/routes/json/numbers-that-readers-take", test_numbers_that_readers_take);
    g_test_add_func("/routes/json/mends-what-is-not-utf8", test_mends_what_is_not_utf8);
    g_test_add_func("/routes/json/controls", test_controls);
    g_test_add_func("/routes/json/long-texts", test_long_texts);
    g_test_add_func("/routes/json/letters-take-no-system-call-each", test_letters_take_no_system_call_each);
    g_test_add_func("/routes/json/values-take-no-system-call-each", test_values_take_no_system_call_each);
    g_test_add_func("/routes/reply/long-bodies-move-to-memory-files", test_long_bodies_move_to_memory_files);
    g_test_add_func("/routes/reply/headers-hold-no-line-ends", test_headers_hold_no_line_ends);
    return g_test_run();
}
