/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/path.h"

#include "fake-host.h"

#include <glib.h>
#include <string.h>

static void
test_matches(void)
{
    static const struct {
        const char *pattern, *path;
        bool matches;
    } rows[] = {
        {"/a/b", "/a/b", true},      {"/a/b", "/a/b/", false},     {"/a/b", "/a/bc", false},
        {"/a/b", "/a", false},       {"/a/{x}", "/a/b", true},     {"/a/{x}", "/a/", false},
        {"/a/{x}", "/a/b/c", false}, {"/a/{x}/c", "/a/b/c", true}, {"/a/{x}/c", "/a//c", false},
        {"/a/*", "/a", true},        {"/a/*", "/a/", true},        {"/a/*", "/a/b/c", true},
        {"/a/*", "/ab", false},      {"/a/{x}/", "/a/b/", true},   {"/a/{x}/", "/a/b", false},
        {"/{x}/{y}", "/a/b", true},  {"/{x}/{y}", "/a", false},    {"/a", "", false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpint(path_matches(rows[i].pattern, rows[i].path), ==, rows[i].matches);
}

static void
test_takes_components(void)
{
    char text[4] = "old";
    uint64_t number = 5;
    g_assert_true(path_component("/a/bcd", 1, text, sizeof(text)));
    g_assert_cmpstr(text, ==, "bcd");
    g_assert_false(path_component("/a/bcde", 1, text, sizeof(text)));
    g_assert_false(path_component("/a/", 1, text, sizeof(text)));
    g_assert_false(path_component("/a", 1, text, sizeof(text)));
    g_assert_cmpstr(text, ==, "bcd");
    g_assert_true(path_number("/a/0012/c", 1, &number));
    g_assert_cmpuint(number, ==, 12);
    g_assert_false(path_number("/a/1x", 1, &number));
    g_assert_false(path_number("/a/-1", 1, &number));
    g_assert_false(path_number("/a/99999999999999999999", 1, &number));
    g_assert_cmpuint(number, ==, 12);
}

static void
test_finds_targets(void)
{
    char target[8];
    g_assert_true(routes_path_target("/api/v1/targets/4711/dumps", target, sizeof(target)));
    g_assert_cmpstr(target, ==, "4711");
    g_assert_true(routes_path_target("/api/v1/targets/self", target, sizeof(target)));
    g_assert_false(routes_path_target("/api/v1/targets/", target, sizeof(target)));
    g_assert_false(routes_path_target("/api/v1/events/4711", target, sizeof(target)));
    g_assert_cmpstr(target, ==, "self");
}

static void
test_reads_dialects(void)
{
    unsigned dialects = 99;
    g_assert_true(routes_parse_dialects("none", &dialects));
    g_assert_cmpuint(dialects, ==, ROUTE_DIALECT_NATIVE);
    g_assert_true(routes_parse_dialects("mesos,libmtev", &dialects));
    g_assert_cmpuint(dialects, ==, ROUTE_DIALECT_NATIVE | ROUTE_DIALECT_MESOS | ROUTE_DIALECT_LIBMTEV);
    g_assert_false(routes_parse_dialects("mesos,", &dialects));
    g_assert_false(routes_parse_dialects("", &dialects));
    g_assert_false(routes_parse_dialects("nginx", &dialects));
    g_assert_cmpuint(dialects, ==, ROUTE_DIALECT_NATIVE | ROUTE_DIALECT_MESOS | ROUTE_DIALECT_LIBMTEV);
    g_assert_true(routes_parse_dialects("all", &dialects));
    g_assert_cmpuint(dialects, ==, ROUTE_DIALECT_ALL);
}

/* A dialect that is off is not there, whatever its paths. */
static void
test_keeps_to_the_dialects(void)
{
    const RouteRequest request = {"GET", "/mtev/heap_profile", "", "", 0};
    const unsigned others = ROUTE_DIALECT_ALL & ~(unsigned)ROUTE_DIALECT_LIBMTEV;
    g_assert_cmpint(routes_find(routes_tables, ROUTE_DIALECT_ALL, &request).state, ==, ROUTE_MATCHED);
    g_assert_cmpint(routes_find(routes_tables, others, &request).state, ==, ROUTE_UNKNOWN_PATH);
}

/* Reads do not wait for dumps. */
static void
test_knows_what_is_slow(void)
{
    static const struct {
        const char *method, *path, *query;
        bool slow;
    } rows[] = {
        {"GET", "/mtev/heap_profile", "", false},
        {"GET", "/mtev/heap_profile", "trigger_dump=true", true},
        {"GET", "/mtev/heap_profile", "trigger_dump=true&active=true", false},
        {"POST", "/service/jemalloc/prof/enable", "", false},
        {"POST", "/service/jemalloc/prof/dump/", "", true},
        {"GET", "/pprof/symbol", "", false},
        {"GET", "/pprof/symbol", "0x1", true},
        {"GET", "/api/v1/targets/1", "", false},
        {"GET", "/api/v1/targets/1/dumps/now", "", true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const RouteRequest request = {rows[i].method, rows[i].path, rows[i].query, "", 0};
        const RouteMatch match = routes_find(routes_tables, ROUTE_DIALECT_ALL, &request);
        g_assert_cmpint(match.state, ==, ROUTE_MATCHED);
        g_assert_cmpint((match.flags & ROUTE_SLOW) != 0, ==, rows[i].slow);
    }
}

/* One of those that the row lists, as a whole. */
static void
test_takes_one_method(void)
{
    static const char *const others[] = {"PUT|POST", "POST|", "|PUT", "PO", "put", "|", ""};
    RouteRequest request = {"PUT", "/api/v1/targets/1/profiling", "", "", 0};
    g_assert_cmpint(routes_find(routes_tables, ROUTE_DIALECT_ALL, &request).state, ==, ROUTE_MATCHED);
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        request.method = others[i];
        g_assert_cmpint(routes_find(routes_tables, ROUTE_DIALECT_ALL, &request).state, ==, ROUTE_WRONG_METHOD);
    }
}

/* A row can be reached, is documented or left out on purpose, and answers with a status. */
static void
check_row(const Route *row)
{
    g_autofree char *star = g_strdup(row->pattern);
    g_autoptr(GString) path = g_string_new(NULL);
    g_auto(GStrv) methods = g_strsplit(row->methods, "|", -1);
    if (g_str_has_suffix(star, "/*"))
        star[strlen(star) - 2] = '\0';
    for (const char *c = star; *c != '\0'; c++) {
        if (*c == '{') {
            c = strchr(c, '}');
            g_string_append_c(path, '1');
        } else {
            g_string_append_c(path, *c);
        }
    }
    const char *method = methods[0][0] == '*' ? "GET" : methods[0];
    const RouteRequest request = {method, path->str, "", "", 0};
    const RouteMatch match = routes_find(routes_tables, ROUTE_DIALECT_ALL, &request);
    g_assert_cmpint(match.state, ==, ROUTE_MATCHED);
    g_assert_true(match.route == row);
    fake_reset();
    const RouteReply *reply = fake_request(method, path->str, "");
    g_assert_cmpuint(reply->status, >=, 200);
    g_assert_cmpuint(reply->status, <, 600);
    g_assert_cmpuint(strlen(reply->headers), <, ROUTE_HEADERS_MAX);
}

static void
test_every_row_answers(void)
{
    for (const RouteTable *const *table = routes_tables; *table != NULL; table++)
        for (size_t i = 0; i < (*table)->n; i++)
            check_row(&(*table)->rows[i]);
}

/* A Location leads to where the request went, whatever its target is called. */
static void
test_encodes(void)
{
    static const struct {
        const char *path, *encoded;
    } rows[] = {{"/api/v1/targets/redis-server_2.1~x/dumps", "/api/v1/targets/redis-server_2.1~x/dumps"},
                {"/a b?c#d%41\r\n\x80\"<;", "/a%20b%3Fc%23d%2541%0D%0A%80%22%3C%3B"},
                {"", ""}};
    char text[64], brief[8];
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        path_encode(rows[i].path, text, sizeof(text));
        g_assert_cmpstr(text, ==, rows[i].encoded);
    }
    path_encode("/1234\x80", brief, sizeof(brief));
    g_assert_cmpstr(brief, ==, "/1234");
    fake_reset();
    const RouteReply *reply = fake_request("POST", "/api/v1/targets/a?b#c/dumps", "");
    g_assert_nonnull(strstr(reply->headers, "Location: /api/v1/targets/a%3Fb%23c/dumps/"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/routes/path/matches", test_matches);
    g_test_add_func("/routes/path/takes-components", test_takes_components);
    g_test_add_func("/routes/path/finds-targets", test_finds_targets);
    g_test_add_func("/routes/path/reads-dialects", test_reads_dialects);
    g_test_add_func("/routes/path/keeps-to-the-dialects", test_keeps_to_the_dialects);
    g_test_add_func("/routes/path/knows-what-is-slow", test_knows_what_is_slow);
    g_test_add_func("/routes/path/takes-one-method", test_takes_one_method);
    g_test_add_func("/routes/path/encodes", test_encodes);
    g_test_add_func("/routes/path/every-row-answers", test_every_row_answers);
    return g_test_run();
}
