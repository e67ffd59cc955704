/* SPDX-License-Identifier: Apache-2.0 */
#include "fake-host.h"

#include "routes/report-query.h"

#include <errno.h>
#include <glib.h>
#include <jansson.h>
#include <string.h>

#define TARGET "/api/v1/targets/4711"

static json_t *body; /* of the last reply, NULL if it is not JSON */

static const RouteReply *
ask(const char *method, const char *path, const char *query)
{
    const RouteReply *reply = fake_request(method, path, query);
    json_decref(body);
    body = json_loads(fake_body(), 0, NULL);
    return reply;
}

static void
assert_status(unsigned status, const char *method, const char *path, const char *query)
{
    const RouteReply *reply = ask(method, path, query);
    if (reply->status != status)
        g_test_message("%s %s?%s: %s", method, path, query, fake_body());
    g_assert_cmpuint(reply->status, ==, status);
    g_assert_nonnull(body);
    g_assert_cmpstr(reply->content_type, ==, "application/json");
}

/* An error has a code, a sentence and a remedy. */
static void
assert_error(unsigned status, const char *code, const char *method, const char *path, const char *query)
{
    const char *found, *message, *hint;
    assert_status(status, method, path, query);
    g_assert_cmpint(
        json_unpack(body, "{s:{s:s, s:s, s:s}}", "error", "code", &found, "message", &message, "hint", &hint), ==, 0);
    g_assert_cmpstr(found, ==, code);
    g_assert_cmpuint(strlen(message), >, 0);
    g_assert_cmpuint(strlen(hint), >, 0);
}

static json_t *
member(const char *path)
{
    g_auto(GStrv) names = g_strsplit(path, ".", -1);
    json_t *value = body;
    for (char **name = names; *name != NULL; name++)
        value = json_object_get(value, *name);
    g_assert_nonnull(value);
    return value;
}

static void
test_status(void)
{
    fake_reset();
    assert_status(200, "GET", TARGET, "");
    g_assert_cmpstr(json_string_value(member("name")), ==, "served");
    g_assert_cmpint(json_integer_value(member("pid")), ==, 4711);
    g_assert_true(json_is_true(member("jemalloc.config_prof")));
    g_assert_true(json_is_true(member("profiling.available")));
    g_assert_true(json_is_false(member("profiling.active")));
    g_assert_cmpint(json_integer_value(member("profiling.sample_bytes")), ==, 512 << 10);
    g_assert_true(json_is_null(member("profiling.lease")));
    g_assert_true(json_is_null(member("recording")));
    ask("POST", TARGET "/recordings", "for=10s");
    assert_status(200, "GET", TARGET, "");
    g_assert_cmpfloat(json_number_value(member("recording.remaining_seconds")), ==, 10);
    fake.hello.flags &= ~(uint32_t)WIRE_FLAG_OPT_PROF;
    assert_status(200, "GET", TARGET "/profiling", "");
    g_assert_true(json_is_false(member("available")));
    g_assert_true(json_is_null(member("sample_bytes")));
}

static void
test_profiling(void)
{
    fake_reset();
    assert_status(200, "PUT", TARGET "/profiling", "active=true");
    g_assert_true(fake.active);
    g_assert_true(json_is_true(member("active")));
    assert_status(200, "POST", TARGET "/profiling", "active=no");
    g_assert_false(fake.active);
    assert_status(200, "PUT", TARGET "/profiling", "active=true&for=5m");
    g_assert_cmpfloat(json_number_value(member("lease.remaining_seconds")), ==, 300);
    assert_error(409, "busy", "PUT", TARGET "/profiling", "active=true&for=5m");
    assert_status(200, "PUT", TARGET "/profiling/leases/7", "for=10m");
    g_assert_cmpfloat(json_number_value(member("lease.remaining_seconds")), ==, 600);
    assert_error(404, "not_found", "DELETE", TARGET "/profiling/leases/8", "");
    assert_error(404, "not_found", "DELETE", TARGET "/profiling/leases/x", "");
    assert_status(200, "DELETE", TARGET "/profiling/leases/7", "");
    g_assert_true(json_is_null(member("lease")));
    g_assert_false(fake.active);
    assert_error(400, "missing_parameter", "PUT", TARGET "/profiling", "");
    assert_error(400, "invalid_parameter", "PUT", TARGET "/profiling", "active=maybe");
    assert_error(400, "invalid_parameter", "PUT", TARGET "/profiling", "active=1&for=5x");
    assert_error(400, "invalid_parameter", "PUT", TARGET "/profiling", "active=1&for=31d");
    assert_error(400, "unknown_parameter", "PUT", TARGET "/profiling", "active=1&lasting=5s");
    assert_error(400, "invalid_parameter", "PUT", TARGET "/profiling", "active=1&duration=5s&for=5s");
    assert_status(200, "PUT", TARGET "/profiling/", "active=1&duration=5s");
    g_assert_cmpuint(fake.lease.remaining_ms, ==, 5000);
}

static void
test_parameters_in_a_form(void)
{
    fake_reset();
    g_assert_cmpuint(fake_post(TARGET "/profiling", "", "active=true&for=1h30m")->status, ==, 200);
    g_assert_cmpuint(fake.lease.remaining_ms, ==, 90 * 60 * 1000);
    g_assert_cmpuint(fake_post(TARGET "/profiling", "active=false", "active=true")->status, ==, 200);
    g_assert_false(fake.active); /* the query comes first */
    g_assert_cmpuint(fake_post(TARGET "/profiling", "active=true", "switch=true")->status, ==, 400);
    g_assert_nonnull(strstr(fake_body(), "unknown parameter 'switch'; known: active, for, duration"));
    g_assert_cmpuint(fake_post(TARGET "/profiling", "activ=true", "")->status, ==, 400);
    g_assert_nonnull(strstr(fake_body(), "unknown parameter 'activ'; did you mean 'active'?"));
}

/* A search for one parameter passes all others: their number is bounded, with empty ones. */
static void
test_too_many_parameters(void)
{
    static const char *const repeated[] = {"for=5s&", "&"};
    for (guint i = 0; i < G_N_ELEMENTS(repeated); i++) {
        g_autoptr(GString) form = g_string_new("active=true&");
        while (form->len < 64 * 1024)
            g_string_append(form, repeated[i]);
        fake_reset();
        g_assert_cmpuint(fake_post(TARGET "/profiling", "", form->str)->status, ==, 400);
        g_assert_nonnull(strstr(fake_body(), "at most 64 parameters"));
        g_assert_cmpuint(fake_post(TARGET "/profiling", form->str, "")->status, ==, 400);
        g_assert_false(fake.active);
        g_string_truncate(form, strlen("active=true&") + 62 * strlen(repeated[i]));
        g_string_append(form, "for=5s");
        g_assert_cmpuint(fake_post(TARGET "/profiling", "", form->str)->status, ==, 200);
    }
}

static void
test_parameters_in_json(void)
{
    static const char *const accepted[] = {
        "{\"active\":true}",
        "{\"active\": true, \"for\": \"30s\"}",
        " {\t\"for\"\r\n:\"30\\u0073\",\"active\":true } \n",
        "{\"\\u0061ctive\":true}",
    };
    static const struct {
        const char *body, *code, *says;
    } refused[] = {
        {"{}", "missing_parameter", "'active' is missing"},
        {"{\"active\":1}", "invalid_parameter", "active: in JSON it must be true or false"},
        {"{\"active\":\"true\"}", "invalid_parameter", "active: in JSON it must be true or false"},
        {"{\"active\":null}", "invalid_parameter", "active: in JSON it must be true or false"},
        {"{\"active\":[true]}", "invalid_parameter", "active: in JSON it must be true or false"},
        {"{\"active\":true,\"for\":30}", "invalid_parameter", "for: in JSON it must be a string"},
        {"{\"active\":true,\"for\":\"30x\"}", "invalid_parameter", "for: invalid value '30x'"},
        {"{\"active\":true,\"active\":false}", "invalid_parameter", "active: given twice"},
        {"{\"active\":true,\"fro\":\"30s\"}", "unknown_parameter", "did you mean 'for'?"},
        {"{\"active\":true", "invalid_body", "byte 14 is unexpected"},
        {"{\"active\":true}x", "invalid_body", "byte 15 is unexpected"},
        {"{\"active\":true,}", "invalid_body", "byte 15 is unexpected"},
        {"{\"active\":tru}", "invalid_body", "byte 10 is unexpected"},
        {"{\"active\":01}", "invalid_body", "byte 11 is unexpected"},
        {"{active:true}", "invalid_body", "byte 1 is unexpected"},
        {"{\"active\":\"\\ud800\"}", "invalid_body", "is unexpected"},
        {"{\"active\":\"\\u0000\"}", "invalid_body", "is unexpected"},
        {"[true]", "invalid_body", "byte 0 is unexpected"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(accepted); i++) {
        fake_reset();
        g_assert_cmpuint(fake_post(TARGET "/profiling", "", accepted[i])->status, ==, 200);
        g_assert_true(fake.active);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        fake_reset();
        g_assert_cmpuint(fake_post(TARGET "/profiling", "", refused[i].body)->status, ==, 400);
        g_test_message("%s: %s", refused[i].body, fake_body());
        g_assert_nonnull(strstr(fake_body(), refused[i].code));
        g_assert_nonnull(strstr(fake_body(), refused[i].says));
        g_assert_false(fake.active);
    }
    fake_reset();
    g_assert_cmpuint(fake_post(TARGET "/controls/prof.gdump", "", "{\"value\":true}")->status, ==, 200);
    g_assert_cmpuint(fake_post(TARGET "/reset", "", "{\"sample\":65536}")->status, ==, 200);
    g_assert_cmpstr(fake.written, ==, "prof.gdump=1 prof.reset=16 ");
    g_assert_cmpuint(fake_post(TARGET "/recordings", "", "{\"duration\":\"30s\"}")->status, ==, 201);
}

static void
test_failures(void)
{
    static const struct {
        Outcome result;
        unsigned status;
        const char *code;
    } rows[] = {
        {OUTCOME_NO_JEMALLOC, 409, "no_jemalloc"},
        {OUTCOME_GONE, 410, "gone"},
        {OUTCOME_SILENT, 503, "unreachable"},
        {OUTCOME_SYSTEM, 500, "system"},
        {OUTCOME_BUSY, 409, "busy"},
        {OUTCOME_CROWDED, 429, "crowded"},
        {OUTCOME_NOT_ALLOWED, 403, "not_allowed"},
        {OUTCOME_NO_HEADROOM, 507, "no_headroom"},
        {OUTCOME_TOO_LARGE, 507, "too_large"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        fake_reset();
        fake.reachable = rows[i].result;
        assert_error(rows[i].status, rows[i].code, "GET", TARGET, "");
        assert_error(rows[i].status, rows[i].code, "POST", TARGET "/purge", "");
        assert_error(rows[i].status, rows[i].code, "POST", TARGET "/dumps", "");
        assert_error(rows[i].status, rows[i].code, "GET", TARGET "/statistics", "");
        assert_error(rows[i].status, rows[i].code, "POST", TARGET "/recordings", "for=1s");
    }
    fake_reset();
    fake.hello.flags &= ~(uint32_t)WIRE_FLAG_OPT_PROF;
    assert_error(409, "profiling_unavailable", "POST", TARGET "/recordings", "for=1s");
    assert_error(409, "profiling_unavailable", "GET", TARGET "/dumps/now", "");
}

static RouteRole
role_of(const char *path, const char *query)
{
    const RouteRequest request = {.method = "GET", .path = path, .query = query, .body = ""};
    const RouteMatch match = routes_find(routes_tables, ROUTE_DIALECT_ALL, &request);
    g_assert_cmpint(match.state, ==, ROUTE_MATCHED);
    return match.role;
}

/* How a dump is taken, for each request that takes one. */
static void
test_capture(void)
{
    static const struct {
        const char *method, *path, *query;
    } rows[] = {
        {"POST", TARGET "/dumps", ""}, {"POST", TARGET "/recordings", "for=1s&"}, {"GET", TARGET "/dumps/now", ""}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *all = g_strconcat(rows[i].query, "force=true&max-output=3MiB", NULL);
        g_autofree char *small = g_strconcat(rows[i].query, "max-output=4095", NULL);
        g_autofree char *large = g_strconcat(rows[i].query, "max-output=65GiB", NULL);
        g_autofree char *nothing = g_strconcat(rows[i].query, "max-output=0", NULL);
        fake_reset();
        assert_error(400, "invalid_parameter", rows[i].method, rows[i].path, small);
        assert_error(400, "invalid_parameter", rows[i].method, rows[i].path, large);
        assert_error(400, "invalid_parameter", rows[i].method, rows[i].path, nothing);
        g_assert_cmpuint(ask(rows[i].method, rows[i].path, all)->status, <, 300);
        g_assert_true(fake.captured.forced && fake.captured.output_max == 3 << 20 && !fake.captured.symbolized);
        fake_reset();
        g_assert_cmpuint(ask(rows[i].method, rows[i].path, rows[i].query)->status, <, 300);
        g_assert_true(!fake.captured.forced && fake.captured.output_max == 0 && !fake.captured.symbolized);
    }
    assert_status(201, "POST", TARGET "/dumps", "symbolize=true");
    g_assert_true(fake.captured.symbolized);
    fake_reset();
    assert_status(201, "POST", TARGET "/recordings", "for=1s&symbolize");
    g_assert_true(fake.captured.symbolized);
    assert_error(400, "unknown_parameter", "GET", TARGET "/dumps/now", "symbolize=true");
    assert_error(400, "invalid_parameter", "GET", TARGET "/dumps/latest", "force=true");
    g_assert_cmpint(role_of(TARGET "/dumps/now", ""), ==, ROUTE_ROLE_READ);
    g_assert_cmpint(role_of(TARGET "/dumps/now", "force=true"), ==, ROUTE_ROLE_CONTROL);
    g_assert_cmpint(role_of(TARGET "/dumps/now", "max-output=1GiB"), ==, ROUTE_ROLE_CONTROL);
}

static void
test_controls(void)
{
    fake_reset();
    assert_status(200, "POST", TARGET "/purge", "");
    assert_status(200, "POST", TARGET "/decay", "arena=3");
    assert_status(200, "POST", TARGET "/reset", "sample=500K");
    assert_status(200, "POST", TARGET "/reset", "");
    g_assert_cmpstr(fake.written, ==,
                    "epoch=1 arena.4096.purge=0 epoch=1 epoch=1 arena.3.decay=0 epoch=1 prof.reset=19 prof.reset=0 ");
    fake_reset();
    assert_status(200, "PUT", TARGET "/decay", "dirty_ms=-1");
    g_assert_cmpstr(
        fake.written, ==,
        "arenas.dirty_decay_ms=-1 arena.0.dirty_decay_ms=-1 arena.1.dirty_decay_ms=-1 arena.2.dirty_decay_ms=-1 ");
    g_assert_cmpint(json_integer_value(member("dirty_ms")), ==, 10000);
    fake_reset();
    assert_status(200, "PUT", TARGET "/background-thread", "enabled=true&max=2");
    g_assert_cmpstr(fake.written, ==, "max_background_threads=2 background_thread=1 ");
    assert_error(400, "invalid_parameter", "PUT", TARGET "/background-thread", "max=0");
    assert_error(400, "invalid_parameter", "POST", TARGET "/purge", "arena=4097");
}

static void
test_any_control(void)
{
    fake_reset();
    assert_status(200, "GET", TARGET "/controls/stats.allocated", "");
    g_assert_cmpint(json_integer_value(member("value")), ==, 123456);
    assert_status(200, "GET", TARGET "/controls/config.malloc_conf", "");
    g_assert_cmpstr(json_string_value(member("value")), ==, "built:in");
    assert_status(200, "PUT", TARGET "/controls/prof.gdump", "value=true");
    assert_status(200, "POST", TARGET "/controls/arena.3.purge", "");
    assert_status(200, "POST", TARGET "/controls/prof.reset", "");
    g_assert_cmpstr(fake.written, ==, "prof.gdump=1 arena.3.purge=0 prof.reset=0 ");
    assert_error(403, "not_allowed", "PUT", TARGET "/controls/prof.prefix", "value=/etc/x");
    assert_error(403, "not_allowed", "PUT", TARGET "/controls/prof.dump", "value=/etc/x");
    assert_error(403, "not_allowed", "PUT", TARGET "/controls/prof.dump", "");
    assert_error(403, "not_allowed", "POST", TARGET "/controls/prof.dump", "type=none");
    assert_error(403, "not_allowed", "PUT", TARGET "/controls/stats.allocated", "value=1");
    assert_error(403, "not_allowed", "GET", TARGET "/controls/arenas.create", "");
    assert_error(404, "not_found", "GET", TARGET "/controls/no.such.control", "");
    assert_error(404, "not_found", "GET", TARGET "/controls/..%2f", "");
    assert_error(400, "invalid_parameter", "PUT", TARGET "/controls/prof.active", "value=2");
    assert_error(500, "control_failed", "GET", TARGET "/controls/no.such.control", "type=size");
    g_assert_cmpstr(fake.written, ==, "prof.gdump=1 arena.3.purge=0 prof.reset=0 ");
}

static void
test_recordings(void)
{
    fake_reset();
    const RouteReply *reply = ask("POST", TARGET "/recordings", "for=30s");
    g_assert_cmpuint(reply->status, ==, 201);
    g_assert_cmpstr(reply->headers, ==, "Location: " TARGET "/recordings/1700000000\r\n");
    g_assert_cmpstr(json_string_value(member("state")), ==, "running");
    assert_error(409, "busy", "POST", TARGET "/recordings", "for=30s");
    assert_error(409, "running", "GET", TARGET "/recordings/1700000000/result", "");
    assert_status(200, "GET", TARGET "/recordings/1700000000", "");
    assert_status(200, "DELETE", TARGET "/recordings/1700000000", "");
    g_assert_cmpstr(json_string_value(member("state")), ==, "done");
    g_assert_cmpint(json_integer_value(member("dump")), ==, 1);
    reply = ask("GET", TARGET "/recordings/1700000000/result", "format=flamegraph");
    g_assert_cmpuint(reply->status, ==, 200);
    g_assert_cmpstr(reply->content_type, ==, "image/svg+xml");
    assert_status(200, "GET", TARGET "/recordings", "");
    g_assert_cmpuint(json_array_size(member("recordings")), ==, 1);
    assert_error(404, "not_found", "GET", TARGET "/recordings/5", "");
    assert_error(404, "not_found", "DELETE", TARGET "/recordings/x", "");
}

static void
test_recordings_without_a_result(void)
{
    fake_reset();
    ask("POST", TARGET "/recordings", "for=30s");
    fake_end_recording(ROUTE_RECORDING_DROPPED);
    assert_error(409, "dropped", "GET", TARGET "/recordings/1700000000/result", "");
    ask("POST", TARGET "/recordings", "for=30s");
    fake.dump_result = OUTCOME_CONTROL_FAILED;
    assert_status(200, "POST", TARGET "/recordings/1700000001/stop", "");
    g_assert_cmpstr(json_string_value(member("state")), ==, "failed");
    g_assert_cmpstr(json_string_value(member("why")), ==, "Bad address");
    assert_error(409, "failed", "GET", TARGET "/recordings/1700000001/result", "");
}

static void
test_dumps(void)
{
    fake_reset();
    assert_error(404, "not_found", "GET", TARGET "/dumps/latest", "");
    const RouteReply *reply = ask("POST", TARGET "/dumps", "");
    g_assert_cmpuint(reply->status, ==, 201);
    g_assert_cmpstr(reply->headers, ==, "Location: " TARGET "/dumps/1\r\n");
    reply = ask("GET", TARGET "/dumps/1", "");
    g_assert_cmpstr(fake_body(), ==, fake.dump);
    g_assert_cmpstr(reply->content_type, ==, "application/octet-stream");
    g_assert_nonnull(strstr(reply->headers, "Content-Disposition: attachment; filename=\"4711.1.heap\"\r\n"));
    g_assert_true(g_regex_match_simple("ETag: \"[0-9a-f]+-1-0-raw-", reply->headers, 0, 0));
    reply = ask("GET", TARGET "/dumps/now", "format=text&cum&count=5&focus=a%7Cb&bytes=false&jeprof=yes");
    g_assert_cmpstr(fake_body(), ==, "text --cum --count=5 --jeprof --focus=a|b");
    g_assert_cmpstr(reply->headers, ==, "Content-Disposition: inline; filename=\"4711.txt\"\r\n");
    ask("GET", TARGET "/dumps/now", "format=json&base=latest");
    g_assert_cmpstr(fake_body(), ==, "json base");
    assert_status(200, "GET", TARGET "/dumps", "");
    g_assert_cmpuint(json_array_size(member("dumps")), ==, 1);
}

/* No spelling of the request reaches the report, nor even a dump. */
static void
test_source_must_be_granted(void)
{
    fake_reset();
    ask("POST", TARGET "/recordings", "for=30s");
    ask("DELETE", TARGET "/recordings/1700000000", "");
    assert_error(403, "source_not_allowed", "GET", TARGET "/dumps/now", "format=source");
    assert_error(403, "source_not_allowed", "GET", TARGET "/dumps/1", "%66ormat=s%6furce&count=0");
    assert_error(403, "source_not_allowed", "GET", TARGET "/dumps/latest", "format=source&base=1");
    assert_error(403, "source_not_allowed", "GET", TARGET "/recordings/1700000000/result", "format=source");
    g_assert_cmpstr(fake.rendered, ==, "");
    fake.grants = ROUTE_GRANT_SOURCE;
    const RouteReply *reply = ask("GET", TARGET "/dumps/now", "format=source");
    g_assert_cmpuint(reply->status, ==, 200);
    g_assert_cmpstr(fake_body(), ==, "source");
}

/* A slash at the end of a path makes no difference. */
static void
test_locations(void)
{
    fake_reset();
    const RouteReply *reply = ask("POST", TARGET "/dumps/", "");
    g_assert_cmpstr(reply->headers, ==, "Location: " TARGET "/dumps/1\r\n");
    reply = ask("POST", TARGET "/recordings/", "for=10s");
    g_assert_cmpstr(reply->headers, ==, "Location: " TARGET "/recordings/1700000000\r\n");
}

static void
test_dumps_that_fail(void)
{
    fake_reset();
    ask("POST", TARGET "/dumps", "");
    assert_error(400, "invalid_parameter", "GET", TARGET "/dumps/1", "format=gif");
    assert_error(400, "invalid_parameter", "GET", TARGET "/dumps/1", "base=1");
    assert_error(400, "invalid_parameter", "GET", TARGET "/dumps/1", "format=symbolized&base=1");
    assert_error(404, "not_found", "GET", TARGET "/dumps/1", "format=text&base=9");
    assert_error(404, "not_found", "GET", TARGET "/dumps/9", "");
    assert_error(404, "not_found", "GET", TARGET "/dumps/0", "");
    assert_error(400, "invalid_parameter", "GET", TARGET "/dumps/1", "format=text&count=-1");
    assert_error(400, "unknown_parameter", "GET", TARGET "/dumps/1", "format=text&debug-path=/etc");
    assert_error(400, "unknown_parameter", "GET", TARGET "/dumps/1", "format=text&output=/etc/x");
    fake.render_result = OUTCOME_INVALID;
    strcpy(fake.failure.why, "--focus: invalid regular expression '('");
    assert_error(400, "invalid", "GET", TARGET "/dumps/1", "format=text&focus=(");
}

/* A refusal names the parameter and the value that it had. */
static void
test_refused_values(void)
{
    static const struct {
        const char *method, *path, *query, *message;
    } cases[] = {
        {"POST", TARGET "/purge", "arena=4097",
         "arena: invalid value '4097'; it must be the number of an arena, or omitted for all"},
        {"PUT", TARGET "/decay", "dirty_ms=1s", "dirty_ms: invalid value '1s'; it must be an integer"},
        {"PUT", TARGET "/background-thread", "max=0",
         "max: invalid value '0'; it must be at least 1; enabled=false ends all threads"},
        {"PUT", TARGET "/background-thread", "enabled=2", "enabled: invalid value '2'; it must be true or false"},
        {"PUT", TARGET "/profiling", "active&for=31d",
         "for: invalid value '31d'; it must be a duration like 90s, 5m or 1h30m, of 30 days at most"},
        {"PUT", TARGET "/profiling", "active&sample=0",
         "sample: invalid value '0'; it must be a size like 512KiB, greater than 0"},
        {"POST", TARGET "/dumps", "max-output=1KiB",
         "max-output: invalid value '1KiB'; it must be a size from 4KiB to 64GiB"},
        {"GET", TARGET "/dumps/now", "format=text&count=2147483648",
         "count: invalid value '2147483648'; it must be a number; 0 shows all"},
        {"PUT", TARGET "/controls/prof.gdump", "value=maybe", "value: invalid value 'maybe'; it must be true or false"},
        {"POST", TARGET "/recordings", "", "the parameter 'for' is missing"},
    };
    fake_reset();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        ask(cases[i].method, cases[i].path, cases[i].query);
        g_assert_cmpstr(json_string_value(member("error.message")), ==, cases[i].message);
    }
    g_assert_cmpstr(fake.written, ==, "");
}

static void
test_statistics(void)
{
    fake_reset();
    assert_status(200, "GET", TARGET "/statistics", "options=mx");
    g_assert_cmpstr(fake_body(), ==, "{\"jemalloc\":\"Jmx\"}");
    ask("GET", TARGET "/statistics", "format=text");
    g_assert_cmpstr(fake_body(), ==, "statistics \n");
    assert_error(400, "invalid_parameter", "GET", TARGET "/statistics", "options=J%0a");
    assert_error(400, "invalid_parameter", "GET", TARGET "/statistics", "format=xml");
}

static void
test_other_requests(void)
{
    fake_reset();
    assert_error(404, "not_found", "GET", TARGET "/nothing", "");
    assert_error(404, "not_found", "GET", "/", "");
    assert_error(405, "method_not_allowed", "PATCH", TARGET "/decay", "");
    g_assert_cmpstr(ask("PATCH", TARGET "/decay", "")->headers, ==, "Allow: GET, HEAD, PUT, POST\r\n");
    g_assert_cmpstr(ask("DELETE", TARGET "/profiling", "")->headers, ==, "Allow: GET, HEAD, PUT, POST\r\n");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/native/capture", test_capture);
    g_test_add_func("/routes/native/status", test_status);
    g_test_add_func("/routes/native/profiling", test_profiling);
    g_test_add_func("/routes/native/parameters-in-a-form", test_parameters_in_a_form);
    g_test_add_func("/routes/native/too-many-parameters", test_too_many_parameters);
    g_test_add_func("/routes/native/parameters-in-json", test_parameters_in_json);
    g_test_add_func("/routes/native/failures", test_failures);
    g_test_add_func("/routes/native/controls", test_controls);
    g_test_add_func("/routes/native/any-control", test_any_control);
    g_test_add_func("/routes/native/recordings", test_recordings);
    g_test_add_func("/routes/native/recordings-without-a-result", test_recordings_without_a_result);
    g_test_add_func("/routes/native/locations", test_locations);
    g_test_add_func("/routes/native/dumps", test_dumps);
    g_test_add_func("/routes/native/source-must-be-granted", test_source_must_be_granted);
    g_test_add_func("/routes/native/dumps-that-fail", test_dumps_that_fail);
    g_test_add_func("/routes/native/refused-values", test_refused_values);
    g_test_add_func("/routes/native/statistics", test_statistics);
    g_test_add_func("/routes/native/other-requests", test_other_requests);
    int status = g_test_run();
    json_decref(body);
    return status;
}
