/* SPDX-License-Identifier: Apache-2.0 */
#include "fake-host.h"

#include <glib.h>
#include <string.h>

static void
assert_reply(const RouteReply *reply, unsigned status, const char *type, const char *body)
{
    g_assert_cmpstr(fake_body(), ==, body);
    g_assert_cmpuint(reply->status, ==, status);
    g_assert_cmpstr(reply->content_type, ==, type);
}

static void
test_profiles(void)
{
    static const char bytes[] = "application/octet-stream", text[] = "text/plain; charset=utf-8";
    fake_reset();
    const RouteReply *reply = fake_request("GET", "/debug/pprof/heap", "gc=1");
    assert_reply(reply, 200, bytes, "pprof");
    g_assert_nonnull(strstr(reply->headers, "Content-Disposition: attachment; filename=\"heap\"\r\n"));
    assert_reply(fake_request("GET", "/debug/pprof/heap", "debug=1"), 200, text, "text");
    assert_reply(fake_request("GET", "/debug/pprof/heap", "debug=0"), 200, bytes, "pprof");
    assert_reply(fake_request("GET", "/debug/pprof/allocs", ""), 200, bytes, "pprof");
    fake.prof_accum = true;
    assert_reply(fake_request("GET", "/debug/pprof/allocs", ""), 200, bytes, "pprof --value=alloc_space");
    assert_reply(fake_request("GET", "/pprof/heap", ""), 200, "text/plain", fake.dump);
    assert_reply(fake_request("GET", "/pprof/growth", ""), 200, "text/plain", fake.dump);
}

/* Sampling is on meanwhile, and afterwards as before. */
static void
test_seconds(void)
{
    fake_reset();
    assert_reply(fake_request("GET", "/debug/pprof/heap", "seconds=1"), 200, "application/octet-stream", "pprof base");
    g_assert_false(fake.active);
    g_assert_cmpuint(fake.lease.id, ==, 0);
    g_assert_cmpuint(fake_request("GET", "/debug/pprof/heap", "seconds=301")->status, ==, 400);
    g_assert_cmpuint(fake_request("GET", "/debug/pprof/heap", "seconds=x")->status, ==, 400);
    fake.dump_result = OUTCOME_CONTROL_FAILED;
    g_assert_cmpuint(fake_request("GET", "/debug/pprof/heap", "seconds=1")->status, ==, 500);
    g_assert_cmpuint(fake.lease.id, ==, 0);
    fake.lease.id = 9; /* another client's */
    g_assert_cmpuint(fake_request("GET", "/debug/pprof/heap", "seconds=1")->status, ==, 409);
}

static void
test_differences_since_the_last_request(void)
{
    fake_reset();
    assert_reply(fake_request("GET", "/debug/pprof/delta_heap", ""), 200, "application/octet-stream", "pprof");
    assert_reply(fake_request("GET", "/debug/pprof/delta_heap", ""), 200, "application/octet-stream", "pprof base");
}

/* Nothing is kept of a request without a report. */
static void
test_differences_after_a_failure(void)
{
    fake_reset();
    fake.render_result = OUTCOME_SYSTEM;
    g_assert_cmpuint(fake_request("GET", "/debug/pprof/delta_heap", "")->status, ==, 500);
    g_assert_cmpint(fake.delta, ==, -1);
    fake.render_result = OUTCOME_DONE;
    assert_reply(fake_request("GET", "/debug/pprof/delta_heap", ""), 200, "application/octet-stream", "pprof");
    assert_reply(fake_request("GET", "/debug/pprof/delta_heap", ""), 200, "application/octet-stream", "pprof base");
}

static void
test_names(void)
{
    static const char *const paths[] = {"/pprof/symbol", "/debug/pprof/symbol"};
    static const char names[] = "num_symbols: 1\n0x0000000000401000\tmain\n0x0000000000402000\tinner--outer\n";
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        fake_reset();
        assert_reply(fake_request("GET", paths[i], ""), 200, "text/plain", "num_symbols: 1\n");
        g_assert_cmpstr(fake.rendered, ==, ""); /* nothing is done for it */
        assert_reply(fake_post(paths[i], "", "0x401000+0x402000"), 200, "text/plain", names);
        g_assert_cmpstr(fake.rendered, ==, "symbolized");
        assert_reply(fake_request("GET", paths[i], "0x401000%2B0x402000"), 200, "text/plain", names);
        assert_reply(fake_post(paths[i], "", "nothing 0x 0xg"), 200, "text/plain", "num_symbols: 1\n");
        fake.render_result = OUTCOME_SYSTEM;
        g_assert_cmpuint(fake_post(paths[i], "", "0x1")->status, ==, 500);
    }
}

static void
test_arguments(void)
{
    fake_reset();
    const RouteReply *reply = fake_request("GET", "/pprof/cmdline", "");
    g_assert_cmpuint(reply->body_size, ==, strlen("/usr/bin/served") + 1 + strlen("--port") + 1);
    g_assert_cmpstr(fake_body(), ==, "/usr/bin/served");
}

static void
test_what_there_is_not(void)
{
    static const char *const paths[] = {"/debug/pprof/profile", "/debug/pprof/goroutine", "/debug/pprof/block",
                                        "/debug/pprof/mutex",   "/pprof/profile",         "/debug/pprof/heap/"};
    fake_reset();
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        const RouteReply *reply = fake_request("GET", paths[i], "seconds=30");
        g_assert_cmpuint(reply->status, ==, 404);
        g_assert_nonnull(strstr(reply->headers, "X-Go-Pprof: 1\r\n"));
    }
    g_assert_cmpuint(fake_post("/debug/pprof/heap", "", "")->status, ==, 405);
    g_assert_cmpuint(fake_request("GET", "/debug/pprof/", "")->status, ==, 200);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/routes/pprof/profiles", test_profiles);
    g_test_add_func("/routes/pprof/seconds", test_seconds);
    g_test_add_func("/routes/pprof/differences-since-the-last-request", test_differences_since_the_last_request);
    g_test_add_func("/routes/pprof/differences-after-a-failure", test_differences_after_a_failure);
    g_test_add_func("/routes/pprof/names", test_names);
    g_test_add_func("/routes/pprof/arguments", test_arguments);
    g_test_add_func("/routes/pprof/what-there-is-not", test_what_there_is_not);
    return g_test_run();
}
