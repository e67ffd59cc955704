/* SPDX-License-Identifier: Apache-2.0 */
/* Names in comments are rows of the list of promised behaviours (docs/dialects.md). */
#include "fake-host.h"

#include "routes/mesos-duration.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

static const char text_type[] = "text/plain; charset=utf-8";

static void
assert_text(const char *path, const char *query, unsigned status, const char *body)
{
    const RouteReply *reply = fake_request("GET", path, query);
    g_assert_cmpstr(fake_body(), ==, body);
    g_assert_cmpuint(reply->status, ==, status);
    g_assert_cmpstr(reply->content_type, ==, text_type);
}

static void
assert_json(const char *path, const char *query, const char *beginning)
{
    const RouteReply *reply = fake_request("GET", path, query);
    g_assert_cmpuint(reply->status, ==, 200);
    g_assert_cmpstr(reply->content_type, ==, "application/json");
    if (!g_str_has_prefix(fake_body(), beginning))
        g_assert_cmpstr(fake_body(), ==, beginning);
}

static void
test_start(void)
{
    fake_reset();
    assert_json("/memory-profiler/start", "",
                "{\"id\":1700000000,\"message\":\"Successfully started new heap profiling run."); /* D3 */
    g_assert_true(g_str_has_suffix(fake_body(), "\"remaining_seconds\":\"300\"}"));
    assert_json("/memory-profiler/start", "duration=10secs",
                "{\"id\":1700000000,\"message\":\"Heap profiling is already active."); /* D5 */
    g_assert_true(g_str_has_suffix(fake_body(), "\"remaining_seconds\":\"300\"}"));
    fake_reset();
    fake.active = true;
    assert_text("/memory-profiler/start", "", 409, "Heap profiling was started externally.\n"); /* D6 */
}

static void
test_start_leads_to_the_result(void)
{
    fake_reset();
    const RouteReply *reply = fake_request("GET", "/memory-profiler/start", "duration=10secs"); /* D4 */
    g_assert_cmpstr(reply->headers, ==, "Refresh: 10; url=/memory-profiler/download/graph?id=1700000000\r\n");
    g_assert_cmpuint(fake.recordings[0].duration_ms, ==, 10000);
}

static void
test_start_without_profiling(void)
{
    fake_reset();
    fake.hello.flags &= ~(uint32_t)WIRE_FLAG_OPT_PROF;
    const RouteReply *reply = fake_request("GET", "/memory-profiler/start", ""); /* D7 */
    g_assert_cmpuint(reply->status, ==, 400);
    g_assert_true(g_str_has_prefix(fake_body(), "\nThe current process seems to be using jemalloc, but profiling\n"
                                                "couldn't be enabled."));
    strcpy(fake.hello.jemalloc_version, "5.2.1-0-g1");
    fake_request("GET", "/memory-profiler/start", "");
    g_assert_nonnull(strstr(fake_body(), "\"message\":\"Successfully started new heap profiling run."));
    g_assert_cmpuint(fake.n_recordings, ==, 0);
}

static void
test_durations(void)
{
    static const struct {
        const char *query, *body;
    } rows[] = {
        {"duration=600", "Could not parse parameter 'duration': Invalid duration '600'.\n"}, /* D8 */
        {"duration=", "Could not parse parameter 'duration': Invalid duration ''.\n"},
        {"duration=5m", "Could not parse parameter 'duration': Unknown duration unit 'm'; supported units are 'ns', "
                        "'us', 'ms', 'secs', 'mins', 'hrs', 'days', and 'weeks'.\n"},                 /* D9 */
        {"duration=mins", "Could not parse parameter 'duration': Failed to convert '' to number.\n"}, /* D10 */
        {"duration=1.2.3secs", "Could not parse parameter 'duration': Failed to convert '1.2.3' to number.\n"},
        {"duration=500ms", "Duration '500ms' must be between 1secs and 1days.\n"}, /* D11 */
        {"duration=25hrs", "Duration '25hrs' must be between 1secs and 1days.\n"},
        {"duration=2days", "Duration '2days' must be between 1secs and 1days.\n"},
        {"duration=-5secs", "Could not parse parameter 'duration': Failed to convert '' to number.\n"},
    };
    static const char *const good[] = {"1secs", "1days", "0.5mins", "24hrs", "86400secs"}; /* D12 */
    fake_reset();
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        assert_text("/memory-profiler/start", rows[i].query, 400, rows[i].body);
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autofree char *query = g_strconcat("duration=", good[i], NULL);
        fake_reset();
        assert_json("/memory-profiler/start", query, "{\"id\":");
    }
    assert_text("/memory-profiler/start", rows[0].query, 400, rows[0].body); /* D13 */
}

static void
test_formats_durations(void)
{
    static const struct {
        const char *text, *formatted;
    } rows[] = {
        {"500ms", "500ms"},   {"36hrs", "36hrs"},   {"24hrs", "1days"},       {"60secs", "1mins"},
        {"90secs", "90secs"}, {"1.5ms", "1500us"},  {"732hrs", "30.5days"},   {"0secs", "0ns"},
        {"7days", "1weeks"},  {"10days", "10days"}, {"1500.5ms", "1500.5ms"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char text[64];
        uint64_t ns;
        g_assert_true(mesos_duration_parse(rows[i].text, &ns, text, sizeof(text)));
        mesos_duration_format(ns, text, sizeof(text));
        g_assert_cmpstr(text, ==, rows[i].formatted);
    }
}

static void
test_stop(void)
{
    fake_reset();
    assert_text("/memory-profiler/stop", "", 400, "Not yet generated.\n"); /* D15 */
    fake_request("GET", "/memory-profiler/start", "");
    for (int i = 0; i < 2; i++) { /* D14, then D16 */
        assert_json("/memory-profiler/stop", "",
                    "{\"id\":\"1700000000\",\"message\":\"Successfully stopped memory profiling run.");
        g_assert_true(g_str_has_suffix(
            fake_body(),
            "\"url_graph_profile\":\"/memory-profiler/download/graph?id=1700000000\",\"url_raw_profile\":\"/"
            "memory-profiler/download/raw?id=1700000000\",\"url_symbolized_profile\":\"/memory-profiler/download/"
            "text?id=1700000000\"}"));
    }
    fake.active = true;
    assert_text("/memory-profiler/stop", "", 400,
                "Profiling is active, but was not started by libprocess. Accessing the raw profile through libprocess "
                "is currently not supported.\n"); /* D17 */
    fake.hello.flags &= ~(uint32_t)WIRE_FLAG_CONFIG_PROF;
    assert_text(
        "/memory-profiler/stop", "", 400,
        "Error interfacing with jemalloc: Couldn't read option prof.active: No such file or directory.\n"); /* D18 */
}

static void
test_a_dump_that_fails(void)
{
    static const char why[] = "Failed to create artifact: Couldn't write value /tmp/libprocess.XXXXXX/profile.dump for "
                              "option prof.dump: Bad address.\n";
    fake_reset();
    fake_request("GET", "/memory-profiler/start", "");
    fake.dump_result = OUTCOME_CONTROL_FAILED;
    assert_text("/memory-profiler/stop", "", 400, why); /* D19 */
    g_autofree char *raw = g_strconcat("Cannot access raw profile: ", why, NULL);
    assert_text("/memory-profiler/download/raw", "", 400, raw);
}

/* Another client has switched profiling off: the original checks prof.active, and starts again. */
static void
test_a_run_after_one_that_others_broke_off(void)
{
    fake_reset();
    fake_request("GET", "/memory-profiler/start", "duration=1hrs");
    fake.active = false;
    fake_request("GET", "/memory-profiler/start", "duration=10secs"); /* D3 */
    g_assert_nonnull(strstr(fake_body(), "\"id\":1700000001,\"message\":\"Successfully started"));
    g_assert_true(g_str_has_suffix(fake_body(), "\"remaining_seconds\":\"10\"}"));
    g_assert_true(fake.active);
}

static void
test_help(void)
{
    fake_reset();
    const RouteReply *reply = fake_request("GET", "/help/memory-profiler", "");
    g_assert_cmpuint(reply->status, ==, 200);
    g_assert_nonnull(strstr(fake_body(), "/memory-profiler/download/graph?id=VALUE\n"));
    reply = fake_request("GET", "/help/memory-profiler/download/raw", "");
    g_assert_cmpuint(reply->status, ==, 200);
    g_assert_true(g_str_has_prefix(fake_body(), "USAGE\n    /memory-profiler/download/raw?id=VALUE\n"));
    assert_text("/help/memory-profiler/nothing", "", 404, "404 Not Found.");
}

static void
test_a_run_that_others_end(void)
{
    fake_reset();
    fake_request("GET", "/memory-profiler/start", "");
    fake_end_recording(ROUTE_RECORDING_DONE);
    fake_request("GET", "/memory-profiler/start", "");
    fake_end_recording(ROUTE_RECORDING_DROPPED); /* D20 */
    assert_json("/memory-profiler/stop", "", "{\"id\":\"1700000000\"");
}

#define JEMALLOC(active)                                                                                               \
    "{\"jemalloc\":{\"malloc_conf\":{\"build_options\":\"built:in\",\"environment\":\"prof:true\"},"                   \
    "\"profiling_active\":" active ",\"profiling_enabled\":true},"

static void
test_state(void)
{
    fake_reset();
    assert_json("/memory-profiler/state", "",
                JEMALLOC("false") "\"memory_profiler\":{\"current_run\":{\"id\":null},\"jemalloc_detected\":true,\"tmp_"
                                  "dir\":\"Not yet generated\"}}"); /* D23 */
    fake_request("GET", "/memory-profiler/start", "duration=12.25secs");
    assert_json(
        "/memory-profiler/state/", "",
        JEMALLOC(
            "true") "\"memory_profiler\":{\"current_run\":{\"id\":1700000000,\"remaining_seconds\":12.250},"); /* D24,
                                                                                                                  D42 */
    fake_end_recording(ROUTE_RECORDING_DONE);
    assert_json(
        "/memory-profiler/state/x", "",
        JEMALLOC(
            "false") "\"memory_profiler\":{\"current_run\":{\"id\":1700000000,\"remaining_seconds\":0},"); /* D21, D25
                                                                                                            */
    g_assert_true(g_str_has_suffix(fake_body(), "\"tmp_dir\":\"/tmp/libprocess.XYZ\"}}"));
    fake_request("GET", "/memory-profiler/state", "");
    g_assert_cmpuint(fake.n_published, ==, 1); /* existing files are not written again */
    fake.publish_result = OUTCOME_SYSTEM;
    fake_request("GET", "/memory-profiler/state", "");
    g_assert_true(g_str_has_suffix(fake_body(), "\"tmp_dir\":\"Not yet generated\"}}"));
    fake.hello.flags &= ~(uint32_t)WIRE_FLAG_CONFIG_PROF;
    fake_request("GET", "/memory-profiler/state", ""); /* D26 */
    g_assert_nonnull(strstr(fake_body(), "\"profiling_active\":\"Couldn't read option prof.active: No such file or "
                                         "directory\",\"profiling_enabled\":false"));
}

static void
test_without_jemalloc(void)
{
    static const char *const paths[] = {"/memory-profiler/start", "/memory-profiler/stop",
                                        "/memory-profiler/statistics"};
    fake_reset();
    fake.hello.flags &= ~(uint32_t)WIRE_FLAG_SERVES_MALLOC;
    for (int i = 0; i < 2; i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(paths); j++) {
            const RouteReply *reply = fake_request("GET", paths[j], "duration=bad"); /* D2 */
            g_assert_cmpuint(reply->status, ==, 400);
            g_assert_true(
                g_str_has_prefix(fake_body(), "\nThe current binary doesn't seem to be linked against jemalloc"));
            g_assert_true(g_str_has_suffix(fake_body(), ".\n"));
        }
        assert_json("/memory-profiler/state", "",
                    "{\"memory_profiler\":{\"current_run\":{\"id\":null},\"jemalloc_detected\":false,\"tmp_dir\":\"Not "
                    "yet generated\"}}"); /* D22 */
        assert_text("/memory-profiler/download/text", "", 400, "No source profile exists: Not yet generated.\n");
        fake.reachable = OUTCOME_NO_JEMALLOC;
    }
}

static void
test_statistics(void)
{
    fake_reset();
    const RouteReply *reply = fake_request("GET", "/memory-profiler/statistics", ""); /* D27 */
    g_assert_cmpuint(reply->status, ==, 200);
    g_assert_cmpstr(reply->content_type, ==, "application/json; charset=utf-8");
    g_assert_cmpstr(fake_body(), ==, "{\"jemalloc\":\"J\"}");
}

static void
assert_download(const char *kind, const char *query, const char *file, const char *body)
{
    g_autofree char *path = g_strconcat("/memory-profiler/download/", kind, NULL);
    g_autofree char *header =
        g_strdup_printf("Content-Disposition: attachment; filename=/tmp/libprocess.XYZ/%s\r\n", file);
    const RouteReply *reply = fake_request("GET", path, query);
    g_assert_cmpstr(fake_body(), ==, body);
    g_assert_cmpuint(reply->status, ==, 200);
    g_assert_cmpstr(reply->content_type, ==, "application/octet-stream");
    g_assert_cmpstr(reply->headers, ==, header);
}

static void
test_downloads(void)
{
    fake_reset();
    assert_text("/memory-profiler/download/raw", "", 400, "Cannot access raw profile: Not yet generated.\n"); /* D29 */
    assert_text("/memory-profiler/download/graph", "id=1", 400, "No source profile exists: Not yet generated.\n");
    fake_request("GET", "/memory-profiler/start", "");
    fake_request("GET", "/memory-profiler/stop", "");
    assert_download("raw", "", "profile.dump", fake.dump); /* D28, D47 */
    assert_download("raw", "id=1700000000", "profile.dump", fake.dump);
    assert_download("text", "", "symbolized-profile.dump", "text --jeprof"); /* D37 */
    assert_download("graph", "", "profile.svg", "callgraph-svg");
    fake_request("GET", "/memory-profiler/start", "");
    assert_text("/memory-profiler/download/raw", "", 400,
                "A profiling run is currently in progress. To download results of the previous run, please pass an "
                "'id' explicitly.\n");                                  /* D30 */
    assert_download("raw", "id=1700000000", "profile.dump", fake.dump); /* D31 */
}

static void
test_downloads_that_fail(void)
{
    fake_reset();
    fake_request("GET", "/memory-profiler/start", "");
    fake_request("GET", "/memory-profiler/stop", "");
    static const struct {
        const char *query, *body;
    } rows[] = {
        {"id=5", "Cannot serve requested id #5.\n"},                                             /* D32 */
        {"id=12x", "Invalid parameter 'id': Garbage after parsed id.\n"},                        /* D33 */
        {"id=99999999999999999999", "Invalid parameter 'id': Numerical result out of range.\n"}, /* D34 */
        {"id=", "Cannot serve requested id #0.\n"},                                              /* D35 */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        assert_text("/memory-profiler/download/raw", rows[i].query, 400, rows[i].body);
        assert_text("/memory-profiler/download/graph", rows[i].query, 400, rows[i].body);
    }
    fake.render_result = OUTCOME_SYSTEM;
    strcpy(fake.failure.why, "no jescope on PATH");
    assert_text(
        "/memory-profiler/download/graph", "", 400,
        "Cannot generate file: Failed to create artifact: Error trying to run jeprof. no jescope on PATH.\n"); /* D38 */
    fake.dump = "heap_v2/524288\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n";                                    /* D39 */
    assert_text("/memory-profiler/download/graph", "", 400,
                "Cannot generate file: Failed to create artifact: Error trying to run jeprof. No nodes to print: "
                "nothing that was sampled was live at the end.\n");
    fake.n_dumps = 0;
    assert_text("/memory-profiler/download/raw", "", 400, "Requested file was deleted from local disk.\n"); /* D36 */
}

static void
test_other_requests(void)
{
    fake_reset();
    fake_request("DELETE", "/memory-profiler/start/", ""); /* D41 */
    g_assert_cmpuint(fake.n_recordings, ==, 1);
    assert_text("/memory-profiler/nothing", "", 404, "404 Not Found."); /* D43 */
    assert_text("/memory-profiler", "", 404, "404 Not Found.");
    fake.profiling = "disabled";
    assert_text("/memory-profiler/state", "", 404, "404 Not Found."); /* D1 */
    fake.profiling = "false";
    assert_text("/memory-profiler/start", "", 404, "404 Not Found.");
    fake.profiling = "true";
    assert_json("/memory-profiler/state", "", "{");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/routes/mesos/start", test_start);
    g_test_add_func("/routes/mesos/start-leads-to-the-result", test_start_leads_to_the_result);
    g_test_add_func("/routes/mesos/start-without-profiling", test_start_without_profiling);
    g_test_add_func("/routes/mesos/durations", test_durations);
    g_test_add_func("/routes/mesos/formats-durations", test_formats_durations);
    g_test_add_func("/routes/mesos/stop", test_stop);
    g_test_add_func("/routes/mesos/a-dump-that-fails", test_a_dump_that_fails);
    g_test_add_func("/routes/mesos/a-run-that-others-end", test_a_run_that_others_end);
    g_test_add_func("/routes/mesos/a-run-after-one-that-others-broke-off", test_a_run_after_one_that_others_broke_off);
    g_test_add_func("/routes/mesos/help", test_help);
    g_test_add_func("/routes/mesos/state", test_state);
    g_test_add_func("/routes/mesos/without-jemalloc", test_without_jemalloc);
    g_test_add_func("/routes/mesos/statistics", test_statistics);
    g_test_add_func("/routes/mesos/downloads", test_downloads);
    g_test_add_func("/routes/mesos/downloads-that-fail", test_downloads_that_fail);
    g_test_add_func("/routes/mesos/other-requests", test_other_requests);
    return g_test_run();
}
