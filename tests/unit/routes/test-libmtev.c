/* SPDX-License-Identifier: Apache-2.0 */
/* Names in comments are rows of the list of promised behaviours (docs/dialects.md). */
#include "fake-host.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

static const char heap_profile[] = "/mtev/heap_profile";
static const char heap_type[] = "application/x-jemalloc-heap-profile";

static void
assert_reply(const RouteReply *reply, unsigned status, const char *type, const char *body)
{
    g_assert_cmpuint(reply->status, ==, status);
    g_assert_cmpstr(reply->content_type, ==, type);
    g_assert_cmpstr(fake_body(), ==, body);
}

static void
set_version(const char *version, uint32_t without)
{
    fake_reset();
    strcpy(fake.hello.jemalloc_version, version);
    fake.hello.flags &= ~without;
}

static void
test_memory(void)
{
    fake_reset();
    /* B1, B3 */
    assert_reply(fake_request("GET", "/mtev/memory.json", "a=b"), 200, "application/json", "{\"jemalloc\":\"J\"}");
    fake.reachable = OUTCOME_NO_JEMALLOC;
    assert_reply(fake_request("GET", "/mtev/memory.json", ""), 200, "application/json", "{}\n"); /* B2 */
}

static void
test_state(void)
{
    fake_reset();
    fake.active = true;
    assert_reply(fake_request("GET", heap_profile, ""), 200, "text/plain",
                 "opt.prof: true\nprof.active: true\nprof.thread_active_init: true\n"); /* B5 */
    fake.active = false;
    assert_reply(fake_request("GET", heap_profile, "trigger_dump=false"), 200, "text/plain",
                 "opt.prof: true\nprof.active: false\nprof.thread_active_init: true\n"); /* B6, B20 */
    fake.hello.flags &= ~(uint32_t)WIRE_FLAG_OPT_PROF;
    assert_reply(fake_request("GET", heap_profile, ""), 200, "text/plain",
                 "opt.prof: false\n# needs MALLOC_CONF=\"prof:true\"\nprof.active: false\n"
                 "prof.thread_active_init: false\n"); /* B7 */
    fake.hello.flags &= ~(uint32_t)WIRE_FLAG_CONFIG_PROF;
    assert_reply(fake_request("GET", heap_profile, "trigger_dump"), 200, "text/plain",
                 "opt.prof: error\nprof.active: error\nprof.thread_active_init: error\n"); /* B8, B12 */
    fake.reachable = OUTCOME_NO_JEMALLOC;
    const RouteReply *reply = fake_request("GET", heap_profile, "active=true");
    assert_reply(reply, 500, "text/plain", "libjemalloc is not loaded, cannot heap profile\n"); /* B4 */
    g_assert_cmpstr(reply->reason, ==, "ERROR");
}

static void
test_switching(void)
{
    static const struct {
        const char *query;
        bool active;
    } rows[] = {
        {"active=true", true},   /* B9 */
        {"active=false", false}, /* B10 */
        {"active=TRUE", false},  /* B11 */
        {"active=1", false},
        {"active=", false},
        {"active", false},                       /* B12 */
        {"active=true&trigger_dump=true", true}, /* B21 */
        {"trigger_dump=true&active=no", false},
        {"active=true&active=false", true}, /* B22 */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        fake_reset();
        fake.active = !rows[i].active;
        assert_reply(fake_request("GET", heap_profile, rows[i].query), 200, "text/plain",
                     rows[i].active ? "Profiling is activated\n" : "Profiling is deactivated\n");
        g_assert_cmpint(fake.active, ==, rows[i].active);
    }
}

static void
test_switching_without_profiling(void)
{
    static const struct {
        const char *version;
        uint32_t without;
        const char *query;
        unsigned status;
        const char *body;
    } rows[] = {
        {"5.2.1-0-gea6b3e9", WIRE_FLAG_OPT_PROF, "active=true", 200, "Profiling is activated\n"}, /* B13 */
        {"4.5.0-0-g04380e7", WIRE_FLAG_OPT_PROF, "active=true", 200, "Profiling is activated\n"},
        {"5.3.0-0-g54eaed1", WIRE_FLAG_OPT_PROF, "active=true", 500, "No such file or directory"},
        {"5.3.1-0-g1111111", WIRE_FLAG_OPT_PROF, "active=true", 500, "No such file or directory"},
        {"5.3.0-0-g54eaed1", WIRE_FLAG_OPT_PROF, "active=false", 200, "Profiling is deactivated\n"},  /* B14 */
        {"5.2.1-0-gea6b3e9", WIRE_FLAG_CONFIG_PROF, "active=true", 500, "No such file or directory"}, /* B15 */
        {"5.2.1-0-gea6b3e9", WIRE_FLAG_CONFIG_PROF, "active=false", 500, "No such file or directory"},
        {"5.2.1-0-gea6b3e9", WIRE_FLAG_OPT_PROF, "trigger_dump=true", 500, "Bad address"}, /* B18 */
        {"5.3.0-0-g54eaed1", WIRE_FLAG_OPT_PROF, "trigger_dump=true", 500, "No such file or directory"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        set_version(rows[i].version, rows[i].without);
        assert_reply(fake_request("GET", heap_profile, rows[i].query), rows[i].status, "text/plain", rows[i].body);
        g_assert_cmpstr(fake.written, ==, ""); /* it was not asked */
    }
}

static void
test_dump(void)
{
    fake_reset();
    assert_reply(fake_request("GET", heap_profile, "trigger_dump=true"), 200, heap_type, fake.dump); /* B16, B17 */
    fake.dump_result = OUTCOME_CONTROL_FAILED;
    assert_reply(fake_request("GET", heap_profile, "trigger_dump=true"), 500, "text/plain", "Bad address");
    fake.dump_result = OUTCOME_CROWDED;
    strcpy(fake.failure.why, "two dumps are under way");
    const RouteReply *reply = fake_request("GET", heap_profile, "trigger_dump=true");
    assert_reply(reply, 429, "text/plain", "two dumps are under way");
    g_assert_cmpstr(reply->headers, ==, "Retry-After: 1\r\n");
}

static void
test_methods(void)
{
    static const char *const paths[] = {heap_profile, "/mtev/memory.json"};
    static const char *const methods[] = {"HEAD", "POST", "PUT", "DELETE"};
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(methods); j++) {
            fake_reset();
            const RouteReply *reply = fake_request(methods[j], paths[i], "active=true"); /* B24 */
            assert_reply(reply, 404, NULL, "");
            g_assert_cmpstr(reply->reason, ==, "NOT FOUND");
            g_assert_cmpstr(fake.written, ==, "");
        }
        const RouteReply *reply = fake_request("OPTIONS", paths[i], ""); /* B25 */
        assert_reply(reply, 200, "text/html", "");
        g_assert_cmpstr(reply->headers, ==, "Allow: OPTIONS, GET\r\n");
    }
    g_assert_cmpuint(fake_request("GET", "/mtev/heap_profileX", "")->status, ==, 404); /* B27 */
    g_assert_cmpuint(fake_request("GET", "/mtev/memory.json/", "")->status, ==, 404);
}

/* The GET that changes something needs the role control. */
static void
test_roles(void)
{
    static const struct {
        const char *query;
        RouteRole role;
    } rows[] = {
        {"", ROUTE_ROLE_READ},
        {"trigger_dump=true", ROUTE_ROLE_READ},
        {"active=false", ROUTE_ROLE_CONTROL},
        {"%61ctive=false", ROUTE_ROLE_CONTROL},
        {"active", ROUTE_ROLE_CONTROL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const RouteRequest request = {"GET", heap_profile, rows[i].query, "", 0};
        const RouteMatch match = routes_find(routes_tables, ROUTE_DIALECT_ALL, &request);
        g_assert_cmpint(match.state, ==, ROUTE_MATCHED);
        g_assert_cmpint(match.role, ==, rows[i].role);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/routes/libmtev/memory", test_memory);
    g_test_add_func("/routes/libmtev/state", test_state);
    g_test_add_func("/routes/libmtev/switching", test_switching);
    g_test_add_func("/routes/libmtev/switching-without-profiling", test_switching_without_profiling);
    g_test_add_func("/routes/libmtev/dump", test_dump);
    g_test_add_func("/routes/libmtev/methods", test_methods);
    g_test_add_func("/routes/libmtev/roles", test_roles);
    return g_test_run();
}
