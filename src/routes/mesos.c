/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory profiler of Mesos' libprocess, /memory-profiler. Its runs are the host's recordings. docs/dialects.md
 * lists the differences.
 */
#include "routes/table.h"

#include "routes/choice.h"
#include "routes/json.h"
#include "routes/mesos-duration.h"
#include "routes/mesos-help.h"
#include "routes/pause.h"
#include "routes/publish.h"
#include "routes/query.h"
#include "routes/reply.h"
#include "routes/unprofiled.h"

#include "jemalloc/version.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    WHY_MAX = 768,
    DURATION_TEXT_MAX = 32,
    NAME_SIZE = 64,
    PATH_SIZE = 1024,
    WAIT_MS = 1500, /* for a run that is about to end when its result is requested */
    POLL_MS = 20,
    BEGINNING_MAX = 256, /* of a dump: contains its totals */
};

static const uint64_t default_ns = UINT64_C(300000000000);
static const uint64_t least_ns = UINT64_C(1000000000);
static const uint64_t most_ns = UINT64_C(86400000000000);

static const char not_yet[] = "Not yet generated";

static const char not_detected[] = "\n"
                                   "The current binary doesn't seem to be linked against jemalloc,\n"
                                   "or its malloc is another one's. Start it under `jescope run`, with\n"
                                   "jemalloc in LD_PRELOAD, or build it with --enable-jemalloc-allocator.\n";

static const char not_enabled[] = "\n"
                                  "The current process seems to be using jemalloc, but profiling\n"
                                  "couldn't be enabled. Start it with prof:true in MALLOC_CONF or under\n"
                                  "`jescope run`; /memory-profiler/state shows what it was started with. A\n"
                                  "jemalloc of your own must be built with --enable-stats and --enable-prof.\n";

/* The host's recordings in Mesos' terms: at most one running, and the result of the latest other one. */
typedef struct {
    bool running;
    bool ended; /* with a dump, or with a failure to make one */
    RouteRecording run;
    RouteRecording last;
} Runs;

static void
look(const RouteHost *host, Runs *runs)
{
    RouteRecording rows[ROUTE_RECORDINGS_MAX];
    size_t n = host->ops->recordings(host->data, rows, ROUTE_RECORDINGS_MAX);
    *runs = (Runs){0};
    for (size_t i = 0; i < n; i++) {
        if (rows[i].state == ROUTE_RECORDING_RUNNING && !runs->running) {
            runs->running = true;
            runs->run = rows[i];
        } else if (rows[i].state != ROUTE_RECORDING_RUNNING && rows[i].state != ROUTE_RECORDING_DROPPED &&
                   !runs->ended) {
            runs->ended = true;
            runs->last = rows[i];
        }
    }
}

static bool
is_done(const Runs *runs)
{
    return runs->ended && runs->last.state == ROUTE_RECORDING_DONE;
}

/* The dump of RUN as a file in DIRECTORY. False: none. */
static bool
publish_dump(const RouteHost *host, const RouteRecording *run, char *directory, size_t size)
{
    Failure failure;
    RoutePublication what = {
        .file = ROUTE_FILE_DUMP, .recording = run->id, .descriptor = -1, .directory = directory, .size = size};
    if (host->ops->publish(host->data, &what, &failure) == OUTCOME_DONE)
        return true;
    if (host->ops->dump_open(host->data, run->dump, &what.descriptor, &failure) != OUTCOME_DONE)
        return false;
    bool published = host->ops->publish(host->data, &what, &failure) == OUTCOME_DONE;
    close(what.descriptor);
    return published;
}

static const char *
prefix_of(const RouteHost *host)
{
    return host->prefix != NULL ? host->prefix : "";
}

static void
refuse(RouteReply *reply, Outcome result, const Failure *failure)
{
    reply_text(reply, outcome_row(result)->http, REPLY_UTF8, "%s.\n", reply_failure_text(result, failure));
    reply_add_retry(reply);
}

static void
mesos_unknown(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    reply_text(reply, 404, REPLY_UTF8, "404 Not Found.");
}

/* False: the program was started with the profiler switched off by libprocess' own variable. */
static bool
is_on(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    static const char *const off[] = {"disabled", "false", "0"};
    char text[NAME_SIZE];
    Failure failure;
    if (host->ops->variable(host->data, "LIBPROCESS_MEMORY_PROFILING", text, sizeof(text), &failure) != OUTCOME_DONE)
        return true;
    for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
        if (strcmp(text, off[i]) == 0) {
            mesos_unknown(NULL, request, reply);
            return false;
        }
    }
    return true;
}

static bool
serves_malloc(Outcome result, const WireHelloReply *hello)
{
    return result == OUTCOME_DONE && (hello->flags & WIRE_FLAG_SERVES_MALLOC) != 0;
}

/* False: no jemalloc, or the target cannot be reached; the reply has the error. */
static bool
detect(const RouteHost *host, WireHelloReply *hello, RouteReply *reply)
{
    Failure failure = {0};
    Outcome result = host->ops->hello(host->data, hello, &failure);
    if (serves_malloc(result, hello))
        return true;
    if (result == OUTCOME_DONE || result == OUTCOME_NO_JEMALLOC)
        reply_text(reply, 400, REPLY_UTF8, "%s", not_detected);
    else
        refuse(reply, result, &failure);
    return false;
}

/* ---- /start ---- */

static bool
parse_duration(const RouteRequest *request, uint64_t *ms, RouteReply *reply)
{
    QueryValue text;
    uint64_t ns = default_ns;
    char why[WHY_MAX];
    char readable[DURATION_TEXT_MAX];
    if (query_find(request->query, "duration", &text) != QUERY_ABSENT &&
        !mesos_duration_parse(text.text, &ns, why, sizeof(why))) {
        reply_text(reply, 400, REPLY_UTF8, "Could not parse parameter 'duration': %s.\n", why);
        return false;
    }
    if (ns < least_ns || ns > most_ns) {
        mesos_duration_format(ns, readable, sizeof(readable));
        reply_text(reply, 400, REPLY_UTF8, "Duration '%s' must be between 1secs and 1days.\n", readable);
        return false;
    }
    *ms = ns / 1000000;
    return true;
}

/* A browser that follows the refresh of this answer gets the result. */
static void
tell_run(const RouteHost *host, const RouteRecording *run, const char *beginning, RouteReply *reply)
{
    Json json;
    char text[WHY_MAX];
    unsigned long long id = run->id;
    const char *prefix = prefix_of(host);
    reply_begin(reply, 200, REPLY_JSON);
    json_begin(&json, reply);
    json_begin_object(&json, NULL);
    json_number(&json, "id", id);
    snprintf(text, sizeof(text),
             "%s Its result will be at %s/memory-profiler/download/raw?id=%llu when the time is over, or after "
             "%s/memory-profiler/stop.",
             beginning, prefix, id, prefix);
    json_text(&json, "message", text);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)((run->remaining_ms + 500) / 1000));
    json_text(&json, "remaining_seconds", text);
    json_end(&json);
    reply_header(reply, "Refresh", "%llu; url=%s/memory-profiler/download/graph?id=%llu",
                 (unsigned long long)((run->remaining_ms + 999) / 1000), prefix, id);
}

/* jemalloc up to 5.2.1 accepted the command to profile even if it could not, and so did Mesos. */
static void
tell_void_run(const RouteHost *host, uint64_t duration_ms, RouteReply *reply)
{
    const RouteRecording run = {.id = (uint64_t)time(NULL), .remaining_ms = duration_ms};
    tell_run(host, &run,
             "Successfully started new heap profiling run. But this jemalloc was started without prof:true: it will "
             "find nothing.",
             reply);
}

static void
tell_not_started(const RouteHost *host, Outcome result, const Failure *failure, RouteReply *reply)
{
    switch (result) {
    case OUTCOME_BUSY:
        reply_text(reply, 409, REPLY_UTF8, "Heap profiling was started externally.\n");
        break;
    case OUTCOME_NO_PROFILING:
    case OUTCOME_CONTROL_FAILED:
        reply_text(reply, 400, REPLY_UTF8, "%s", not_enabled);
        break;
    default:
        refuse(reply, result, failure);
    }
}

/* Whether another client has switched off the current run, which will then have no dump. */
static bool
is_void(const RouteHost *host)
{
    Failure failure;
    WireCtlReply active;
    return host->ops->read(host->data, "prof.active", WIRE_TYPE_BOOL, &active, &failure) == OUTCOME_DONE &&
           active.value == 0;
}

static Outcome
start_run(const RouteHost *host, const RouteRecordingRequest *request, RouteRecording *run, Failure *failure)
{
    Runs runs;
    Failure ignored;
    Outcome result = host->ops->recording_start(host->data, request, run, failure);
    if (result != OUTCOME_BUSY || !is_void(host))
        return result;
    look(host, &runs);
    if (runs.running)
        host->ops->recording_stop(host->data, runs.run.id, run, &ignored);
    return host->ops->recording_start(host->data, request, run, failure);
}

static void
mesos_start(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    static const char running[] = "Heap profiling is already active.";
    WireHelloReply hello;
    Failure failure = {0};
    RouteRecording run;
    RouteRecordingRequest wanted = {0};
    Runs runs;
    if (!is_on(host, request, reply) || !detect(host, &hello, reply) ||
        !parse_duration(request, &wanted.duration_ms, reply))
        return;
    Outcome result = choice_read(request->query, &wanted.choice.sampler, &failure);
    if (result != OUTCOME_DONE) {
        refuse(reply, result, &failure);
        return;
    }
    if (unprofiled_applies(&hello)) {
        if (unprofiled_write_active(&hello, true) == 0)
            tell_void_run(host, wanted.duration_ms, reply);
        else
            tell_not_started(host, OUTCOME_NO_PROFILING, &failure, reply);
        return;
    }
    result = start_run(host, &wanted, &run, &failure);
    if (result == OUTCOME_DONE) {
        tell_run(host, &run, "Successfully started new heap profiling run.", reply);
        return;
    }
    look(host, &runs);
    if (result == OUTCOME_BUSY && runs.running)
        tell_run(host, &runs.run, running, reply);
    else if (result == OUTCOME_NO_PROFILING && wanted.choice.sampler != WIRE_SAMPLER_AUTO)
        refuse(reply, result, &failure);
    else
        tell_not_started(host, result, &failure, reply);
}

/* ---- /stop ---- */

/* Why there is no raw profile; NULL: it exists. */
static const char *
why_not_there(const Runs *runs, char *text, size_t size)
{
    if (!runs->ended)
        return not_yet;
    if (runs->last.state == ROUTE_RECORDING_DONE)
        return NULL;
    const Failure *failure = &runs->last.failure;
    snprintf(
        text, size,
        "Failed to create artifact: Couldn't write value /tmp/libprocess.XXXXXX/profile.dump for option prof.dump: %s",
        failure->error != 0 ? error_name(failure->error) : failure->why);
    return text;
}

/* The value of prof.active that this jemalloc would return. */
static Outcome
read_active(const RouteHost *host, const WireHelloReply *hello, bool *active, Failure *failure)
{
    WireCtlReply value = {0};
    if (unprofiled_applies(hello)) {
        failure->error = unprofiled_read(hello);
        *active = false;
        return failure->error == 0 ? OUTCOME_DONE : OUTCOME_CONTROL_FAILED;
    }
    Outcome result = host->ops->read(host->data, "prof.active", WIRE_TYPE_BOOL, &value, failure);
    *active = value.value != 0;
    return result;
}

static void
tell_stopped(const RouteHost *host, const RouteRecording *run, RouteReply *reply)
{
    static const struct {
        const char *member, *kind;
    } urls[] = {{"url_graph_profile", "graph"}, {"url_raw_profile", "raw"}, {"url_symbolized_profile", "text"}};
    Json json;
    char text[WHY_MAX];
    unsigned long long id = run->id;
    reply_begin(reply, 200, REPLY_JSON);
    json_begin(&json, reply);
    json_begin_object(&json, NULL);
    snprintf(text, sizeof(text), "%llu", id);
    json_text(&json, "id", text);
    json_text(&json, "message", "Successfully stopped memory profiling run. The url_ members have its result.");
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        snprintf(text, sizeof(text), "%s/memory-profiler/download/%s?id=%llu", prefix_of(host), urls[i].kind, id);
        json_text(&json, urls[i].member, text);
    }
    json_end(&json);
}

/* False: the reply says why there is nothing to stop. */
static bool
end_run(const RouteHost *host, bool active, RouteReply *reply)
{
    Runs runs;
    RouteRecording ended;
    Failure failure = {0};
    look(host, &runs);
    if (runs.running) {
        Outcome result = host->ops->recording_stop(host->data, runs.run.id, &ended, &failure);
        if (result != OUTCOME_DONE)
            refuse(reply, result, &failure);
        return result == OUTCOME_DONE;
    }
    if (active) {
        reply_text(reply, 400, REPLY_UTF8,
                   "Profiling is active, but was not started by libprocess. Accessing the raw profile through "
                   "libprocess is currently not supported.\n");
    }
    return !active;
}

static void
mesos_stop(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    WireHelloReply hello;
    Failure failure = {0};
    Runs runs;
    char text[WHY_MAX + PATH_SIZE];
    bool active;
    if (!is_on(host, request, reply) || !detect(host, &hello, reply))
        return;
    Outcome result = read_active(host, &hello, &active, &failure);
    if (result != OUTCOME_DONE) {
        reply_text(reply, 400, REPLY_UTF8, "Error interfacing with jemalloc: Couldn't read option prof.active: %s.\n",
                   reply_failure_text(result, &failure));
        return;
    }
    if (!end_run(host, active, reply))
        return;
    look(host, &runs);
    const char *why = why_not_there(&runs, text, sizeof(text));
    if (why != NULL) {
        reply_text(reply, 400, REPLY_UTF8, "%s.\n", why);
        return;
    }
    char directory[ROUTE_DIRECTORY_MAX];
    publish_dump(host, &runs.last, directory, sizeof(directory));
    tell_stopped(host, &runs.last, reply);
}

/* ---- /state and /statistics ---- */

/* The variable with jemalloc's options. */
static void
read_environment(const RouteHost *host, const WireHelloReply *hello, char *text, size_t size)
{
    char name[NAME_SIZE];
    Failure failure;
    WireCtlReply value;
    jemalloc_conf_variable(hello->prefix, name, sizeof(name));
    if (host->ops->variable(host->data, name, text, size, &failure) != OUTCOME_DONE)
        text[0] = '\0';
    /* A program that sets its title has overwritten it, but jemalloc or the agent may have a copy. */
    if (text[0] == '\0' &&
        host->ops->read(host->data, "opt.malloc_conf.env_var", WIRE_TYPE_STRING, &value, &failure) == OUTCOME_DONE)
        snprintf(text, size, "%s", value.text);
}

static void
add_unread(Json *json, const char *member, const char *control, const char *why)
{
    char text[WHY_MAX];
    snprintf(text, sizeof(text), "Couldn't read option %s: %s", control, why);
    json_text(json, member, text);
}

static void
add_jemalloc(const RouteHost *host, const WireHelloReply *hello, Json *json)
{
    Failure failure = {0};
    WireCtlReply value;
    char environment[WIRE_MESSAGE_MAX];
    bool active;
    read_environment(host, hello, environment, sizeof(environment));
    json_begin_object(json, "jemalloc");
    json_begin_object(json, "malloc_conf");
    Outcome result = host->ops->read(host->data, "config.malloc_conf", WIRE_TYPE_STRING, &value, &failure);
    if (result == OUTCOME_DONE)
        json_text(json, "build_options", value.text);
    else
        add_unread(json, "build_options", "config.malloc_conf", reply_failure_text(result, &failure));
    json_text(json, "environment", environment);
    json_end(json);
    result = read_active(host, hello, &active, &failure);
    if (result == OUTCOME_DONE)
        json_boolean(json, "profiling_active", active);
    else
        add_unread(json, "profiling_active", "prof.active", reply_failure_text(result, &failure));
    json_boolean(json, "profiling_enabled", (hello->flags & WIRE_FLAG_CONFIG_PROF) != 0);
    json_end(json);
}

static void
add_run(const Runs *runs, Json *json)
{
    json_begin_object(json, "current_run");
    if (runs->running) {
        json_number(json, "id", runs->run.id);
        json_seconds(json, "remaining_seconds", runs->run.remaining_ms);
    } else if (is_done(runs)) {
        json_number(json, "id", runs->last.id);
        json_number(json, "remaining_seconds", 0);
    } else {
        json_put_null(json, "id");
    }
    json_end(json);
}

static void
mesos_state(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    WireHelloReply hello;
    Failure failure = {0};
    Runs runs;
    Json json;
    char directory[ROUTE_DIRECTORY_MAX];
    if (!is_on(host, request, reply))
        return;
    bool detected = serves_malloc(host->ops->hello(host->data, &hello, &failure), &hello);
    look(host, &runs);
    reply_begin(reply, 200, REPLY_JSON);
    json_begin(&json, reply);
    json_begin_object(&json, NULL);
    if (detected)
        add_jemalloc(host, &hello, &json);
    json_begin_object(&json, "memory_profiler");
    add_run(&runs, &json);
    json_boolean(&json, "jemalloc_detected", detected);
    bool there = is_done(&runs) && publish_dump(host, &runs.last, directory, sizeof(directory));
    json_text(&json, "tmp_dir", there ? directory : not_yet);
    json_end(&json);
    json_end(&json);
}

static void
mesos_statistics(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    WireHelloReply hello;
    Failure failure = {0};
    int descriptor = -1;
    if (!is_on(host, request, reply) || !detect(host, &hello, reply))
        return;
    Outcome result = host->ops->stats(host->data, "J", &descriptor, &failure);
    if (result == OUTCOME_DONE)
        reply_file(reply, "application/json; charset=utf-8", descriptor);
    else
        refuse(reply, result, &failure);
}

/* ---- /download ---- */

/* A kind of download: the dump itself or a report of it. */
typedef struct {
    RouteFile file;
    const char *missing;        /* beginning of the error without a dump */
    const char *format;         /* NULL: the dump */
    const char *const *options; /* of the report */
    bool needs_samples;         /* jeprof fails on an empty profile */
} Download;

/* Why TEXT is not an id; NULL: *id is set. */
static const char *
parse_id(const char *text, uint64_t *id)
{
    uint64_t value = 0;
    bool overflow = false;
    for (; *text >= '0' && *text <= '9'; text++)
        overflow |= __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *text - '0', &value);
    if (overflow || value > INT64_MAX)
        return "Numerical result out of range";
    *id = value;
    return *text == '\0' ? NULL : "Garbage after parsed id";
}

/* A client that follows the Refresh header of /start arrives at the moment the run ends. */
static void
look_at_end(const RouteHost *host, uint64_t id, Runs *runs)
{
    look(host, runs);
    for (int waited = 0; waited < WAIT_MS && runs->running && runs->run.id == id && runs->run.remaining_ms < WAIT_MS;
         waited += POLL_MS) {
        pause_for(host, POLL_MS);
        look(host, runs);
    }
}

/* False: REQUEST does not name a run with a dump; the reply has the error. */
static bool
choose_run(const RouteHost *host, const RouteRequest *request, const Download *download, Runs *runs, RouteReply *reply)
{
    QueryValue text;
    uint64_t id = 0;
    char why_text[WHY_MAX + PATH_SIZE];
    bool named = query_find(request->query, "id", &text) != QUERY_ABSENT;
    const char *why = named ? parse_id(text.text, &id) : NULL;
    if (why != NULL) {
        reply_text(reply, 400, REPLY_UTF8, "Invalid parameter 'id': %s.\n", why);
        return false;
    }
    look_at_end(host, id, runs);
    if (runs->running && !named) {
        reply_text(reply, 400, REPLY_UTF8,
                   "A profiling run is currently in progress. To download results of the previous run, please pass an "
                   "'id' explicitly.\n");
        return false;
    }
    why = why_not_there(runs, why_text, sizeof(why_text));
    if (why != NULL) {
        reply_text(reply, 400, REPLY_UTF8, "%s: %s.\n", download->missing, why);
        return false;
    }
    if (named && id != runs->last.id) {
        reply_text(reply, 400, REPLY_UTF8, "Cannot serve requested id #%llu.\n", (unsigned long long)id);
        return false;
    }
    return true;
}

/* Whether no sample was live when a dump was taken, by the totals at its beginning. */
static bool
is_empty(int dump)
{
    char beginning[BEGINNING_MAX + 1];
    ssize_t n = pread(dump, beginning, BEGINNING_MAX, 0);
    beginning[n > 0 ? n : 0] = '\0';
    const char *totals = strstr(beginning, "t*: ");
    return totals != NULL && strncmp(totals, "t*: 0: ", strlen("t*: 0: ")) == 0;
}

static void
refuse_download(RouteReply *reply, const char *why)
{
    reply_text(reply, 400, REPLY_UTF8,
               "Cannot generate file: Failed to create artifact: Error trying to run jeprof. %s.\n", why);
}

/* Makes the report; closes *descriptor, and replaces it by the report's. False: the reply has the error. */
static bool
render(const RouteHost *host, const Download *download, int *descriptor, RouteReply *reply)
{
    const RouteRendering rendering = {
        .format = download->format, .options = download->options, .dump = *descriptor, .base = -1};
    Failure failure = {0};
    int rendered = -1;
    Outcome result = host->ops->render(host->data, &rendering, &rendered, &failure);
    close(*descriptor);
    if (result == OUTCOME_CROWDED) {
        refuse(reply, result, &failure);
        return false;
    }
    if (result != OUTCOME_DONE) {
        refuse_download(reply, reply_failure_text(result, &failure));
        return false;
    }
    *descriptor = rendered;
    return true;
}

/* The name in the response is that of a file, which scripts parse. */
static void
name_download(const RouteHost *host, const Download *download, const RouteRecording *run, int descriptor,
              RouteReply *reply)
{
    char directory[ROUTE_DIRECTORY_MAX];
    Failure failure;
    const char *name = publish_name(download->file);
    const RoutePublication what = {.file = download->file,
                                   .recording = run->id,
                                   .descriptor = descriptor,
                                   .directory = directory,
                                   .size = sizeof(directory)};
    if (host->ops->publish(host->data, &what, &failure) == OUTCOME_DONE)
        reply_header(reply, "Content-Disposition", "attachment; filename=%s/%s", directory, name);
    else
        reply_header(reply, "Content-Disposition", "attachment; filename=%s", name);
}

static void
send_download(const RouteHost *host, const RouteRequest *request, const Download *download, RouteReply *reply)
{
    Runs runs;
    Failure failure = {0};
    int descriptor = -1;
    if (!is_on(host, request, reply) || !choose_run(host, request, download, &runs, reply))
        return;
    Outcome result = host->ops->dump_open(host->data, runs.last.dump, &descriptor, &failure);
    if (result == OUTCOME_NOT_FOUND) {
        reply_text(reply, 400, REPLY_UTF8, "Requested file was deleted from local disk.\n");
        return;
    }
    if (result != OUTCOME_DONE) {
        refuse(reply, result, &failure);
        return;
    }
    if (download->needs_samples && is_empty(descriptor)) {
        close(descriptor);
        refuse_download(reply, "No nodes to print: nothing that was sampled was live at the end");
        return;
    }
    if (download->format != NULL && !render(host, download, &descriptor, reply))
        return;
    reply_file(reply, REPLY_BYTES, descriptor);
    name_download(host, download, &runs.last, descriptor, reply);
}

static void
mesos_download_raw(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    static const Download raw = {ROUTE_FILE_DUMP, "Cannot access raw profile", NULL, NULL, false};
    send_download(host, request, &raw, reply);
}

static void
mesos_download_text(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    static const char *const options[] = {"--jeprof", NULL};
    static const Download text = {ROUTE_FILE_TEXT, "No source profile exists", "text", options, false};
    send_download(host, request, &text, reply);
}

static void
mesos_download_graph(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    static const char *const options[] = {NULL};
    static const Download graph = {ROUTE_FILE_GRAPH, "No source profile exists", "callgraph-svg", options, true};
    send_download(host, request, &graph, reply);
}

static void
mesos_help(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    if (!mesos_help_write(request, reply))
        mesos_unknown(NULL, request, reply);
}

static const RouteParameter mesos_start_parameters[] = {
    {"duration", "text",
     "a number with ns, us, ms, secs, mins, hrs, days or weeks; from 1secs to 1days (default 5mins)"},
    CHOICE_SAMPLER_ROW,
    {0},
};

static const RouteParameter mesos_download_parameters[] = {
    {"id", "id", "id of the latest run that ended"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_MESOS, "*", "/memory-profiler/start/*", "start a run, which ends in a dump after the duration",
     .parameters = mesos_start_parameters, .role = ROUTE_ROLE_CONTROL, .answer = mesos_start},
    {ROUTE_DIALECT_MESOS, "*", "/memory-profiler/stop/*", "end the run now", .flags = ROUTE_SLOW,
     .role = ROUTE_ROLE_CONTROL, .answer = mesos_stop},
    {ROUTE_DIALECT_MESOS, "*", "/memory-profiler/state/*", "the state of profiling and of the run",
     .answer = mesos_state},
    {ROUTE_DIALECT_MESOS, "*", "/memory-profiler/statistics/*", "current statistics as JSON", .flags = ROUTE_PRINTING,
     .answer = mesos_statistics},
    {ROUTE_DIALECT_MESOS, "*", "/memory-profiler/download/raw/*", "the latest run's dump",
     .parameters = mesos_download_parameters, .flags = ROUTE_SLOW, .answer = mesos_download_raw},
    {ROUTE_DIALECT_MESOS, "*", "/memory-profiler/download/text/*", "the latest run as a table of functions",
     .parameters = mesos_download_parameters, .flags = ROUTE_SLOW, .answer = mesos_download_text},
    {ROUTE_DIALECT_MESOS, "*", "/memory-profiler/download/graph/*", "the latest run as a call graph, SVG",
     .parameters = mesos_download_parameters, .flags = ROUTE_SLOW, .answer = mesos_download_graph},
    {ROUTE_DIALECT_MESOS, "*", "/help/memory-profiler/*", "list of these paths, or help about one",
     .answer = mesos_help},
};

const RouteTable mesos_routes = {rows, sizeof(rows) / sizeof(rows[0])};

const Dialect mesos_dialect = {
    .dialect = ROUTE_DIALECT_MESOS,
    .name = "mesos",
    .title = "Mesos' dialect",
    .about = "Paths, responses and errors are those of libprocess' `/memory-profiler`. Any method will do.",
    .paths = {"/memory-profiler", "/help/memory-profiler"},
    .unknown = mesos_unknown,
    .wrong_method = mesos_unknown,
};
