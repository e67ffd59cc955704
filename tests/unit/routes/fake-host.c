/* SPDX-License-Identifier: Apache-2.0 */
#include "fake-host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BODY_MAX = 256 * 1024 };

static const uint64_t began_ms = 1700000000000;

FakeHost fake;
static RouteReply reply = {.descriptor = -1};
static char body[BODY_MAX];

static int
to_memfd(const char *text)
{
    int descriptor = memfd_create("fake", MFD_CLOEXEC);
    if (write(descriptor, text, strlen(text)) < 0 || lseek(descriptor, 0, SEEK_SET) != 0)
        return -1;
    return descriptor;
}

static Outcome
fail(Outcome result, Failure *failure)
{
    if (result != OUTCOME_DONE)
        *failure = fake.failure;
    return result;
}

static bool
can_profile(void)
{
    const uint32_t both = WIRE_FLAG_CONFIG_PROF | WIRE_FLAG_OPT_PROF;
    return (fake.hello.flags & both) == both;
}

static Outcome
fake_hello(void *host, WireHelloReply *hello, Failure *failure)
{
    if (fake.reachable == OUTCOME_DONE) {
        *hello = fake.hello;
        hello->flags |= fake.active ? WIRE_FLAG_PROF_ACTIVE : 0;
        hello->lease = fake.lease;
    }
    return fail(fake.reachable, failure);
}

static Outcome
fake_read(void *host, const char *control, WireType type, WireCtlReply *value, Failure *failure)
{
    static const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"arenas.narenas", 3},      {"max_background_threads", 4},    {"background_thread", 0},
                   {"prof.lg_sample", 19},     {"arenas.dirty_decay_ms", 10000}, {"arenas.muzzy_decay_ms", 0},
                   {"stats.allocated", 123456}};
    if (fake.reachable != OUTCOME_DONE)
        return fail(fake.reachable, failure);
    if (strncmp(control, "prof.", 5) == 0 && !can_profile())
        return fail(OUTCOME_NO_PROFILING, failure);
    *value = (WireCtlReply){0};
    if (strcmp(control, "config.malloc_conf") == 0) {
        strcpy(value->text, "built:in");
        return OUTCOME_DONE;
    }
    if (strcmp(control, "prof.active") == 0 || strcmp(control, "prof.thread_active_init") == 0) {
        value->value = strcmp(control, "prof.active") == 0 ? fake.active : fake.thread_active_init;
        return OUTCOME_DONE;
    }
    if (strcmp(control, "opt.prof_accum") == 0) {
        value->value = fake.prof_accum;
        return OUTCOME_DONE;
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(control, numbers[i].name) == 0) {
            value->value = numbers[i].value;
            return OUTCOME_DONE;
        }
    }
    *failure = (Failure){.error = ENOENT};
    return OUTCOME_CONTROL_FAILED;
}

static Outcome
fake_write(void *host, const char *control, WireType type, uint64_t value, Failure *failure)
{
    Outcome result = fake.reachable != OUTCOME_DONE ? fake.reachable : fake.write_result;
    size_t used = strlen(fake.written);
    if (result == OUTCOME_DONE) {
        snprintf(fake.written + used, sizeof(fake.written) - used, "%s=%lld ", control, (long long)value);
        fake.active = strcmp(control, "prof.active") == 0 ? value != 0 : fake.active;
    }
    return fail(result, failure);
}

static Outcome
fake_stats(void *host, const char *letters, int *descriptor, Failure *failure)
{
    char text[64];
    if (fake.reachable != OUTCOME_DONE)
        return fail(fake.reachable, failure);
    snprintf(text, sizeof(text), strchr(letters, 'J') != NULL ? "{\"jemalloc\":\"%s\"}" : "statistics %s\n", letters);
    *descriptor = to_memfd(text);
    return OUTCOME_DONE;
}

static void
note_capture(const RouteCapture *capture)
{
    fake.captured = capture != NULL ? *capture : (RouteCapture){0};
}

static Outcome
fake_dump(void *host, const RouteCapture *capture, int *descriptor, Failure *failure)
{
    Outcome result = fake.reachable != OUTCOME_DONE ? fake.reachable
                     : can_profile()                ? fake.dump_result
                                                    : OUTCOME_NO_PROFILING;
    note_capture(capture);
    if (result == OUTCOME_DONE)
        *descriptor = to_memfd(fake.dump);
    return fail(result, failure);
}

static Outcome
fake_dump_to_own_file(void *host, Failure *failure)
{
    return fake_write(host, "own file", WIRE_TYPE_NONE, 0, failure);
}

static Outcome
fake_lease(void *host, const WireLeaseRequest *request, WireLease *lease, Failure *failure)
{
    if (fake.reachable != OUTCOME_DONE || !can_profile())
        return fail(fake.reachable != OUTCOME_DONE ? fake.reachable : OUTCOME_NO_PROFILING, failure);
    if (request->action == WIRE_LEASE_TAKE ? fake.lease.id != 0 : fake.lease.id != request->lease_id)
        return fail(request->action == WIRE_LEASE_TAKE ? OUTCOME_BUSY : OUTCOME_NOT_FOUND, failure);
    if (request->action == WIRE_LEASE_RELEASE) {
        fake.active = fake.lease.restores;
        fake.lease = (WireLease){0};
    } else {
        fake.lease.restores = request->action == WIRE_LEASE_TAKE ? fake.active : fake.lease.restores;
        fake.lease_flags = request->action == WIRE_LEASE_TAKE ? request->flags : fake.lease_flags;
        fake.lease.active = fake.active = true;
        fake.lease.id = 7;
        fake.lease.remaining_ms = request->duration_ms;
    }
    *lease = fake.lease;
    return OUTCOME_DONE;
}

static Outcome
fake_variable(void *host, const char *name, char *text, size_t size, Failure *failure)
{
    const char *value = strcmp(name, "MALLOC_CONF") == 0                   ? fake.environment
                        : strcmp(name, "LIBPROCESS_MEMORY_PROFILING") == 0 ? fake.profiling
                                                                           : "";
    snprintf(text, size, "%s", value);
    return OUTCOME_DONE;
}

static Outcome
fake_cmdline(void *host, char *text, size_t size, size_t *n, Failure *failure)
{
    static const char arguments[] = "/usr/bin/served\0--port\0";
    *n = sizeof(arguments) - 1 < size ? sizeof(arguments) - 1 : size;
    memcpy(text, arguments, *n);
    return fail(fake.reachable == OUTCOME_GONE ? OUTCOME_GONE : OUTCOME_DONE, failure);
}

static Outcome
fake_maps(void *host, int *descriptor, Failure *failure)
{
    *descriptor = to_memfd("00400000-00500000 r-xp 00000000 08:01 42 /usr/bin/served\n");
    return OUTCOME_DONE;
}

static uint64_t
keep_dump(uint64_t recording)
{
    size_t kept = fake.n_dumps < FAKE_DUMPS_MAX ? fake.n_dumps : FAKE_DUMPS_MAX - 1;
    uint64_t id = fake.n_dumps > 0 ? fake.dumps[0].id + 1 : 1;
    memmove(fake.dumps + 1, fake.dumps, kept * sizeof(fake.dumps[0]));
    fake.dumps[0] = (RouteDump){id, recording, began_ms, strlen(fake.dump)};
    fake.n_dumps = kept + 1;
    return id;
}

static Outcome
fake_recording_start(void *host, const RouteRecordingRequest *request, RouteRecording *recording, Failure *failure)
{
    if (fake.reachable != OUTCOME_DONE || !can_profile())
        return fail(fake.reachable != OUTCOME_DONE ? fake.reachable : OUTCOME_NO_PROFILING, failure);
    if (fake.active)
        return fail(OUTCOME_BUSY, failure);
    size_t kept = fake.n_recordings < FAKE_RECORDINGS_MAX ? fake.n_recordings : FAKE_RECORDINGS_MAX - 1;
    uint64_t id = fake.n_recordings > 0 ? fake.recordings[0].id + 1 : began_ms / 1000;
    memmove(fake.recordings + 1, fake.recordings, kept * sizeof(fake.recordings[0]));
    fake.recordings[0] = (RouteRecording){
        .id = id, .begin_ms = began_ms, .duration_ms = request->duration_ms, .remaining_ms = request->duration_ms};
    fake.n_recordings = kept + 1;
    note_capture(&request->capture);
    fake.chosen = request->choice;
    fake.active = true;
    *recording = fake.recordings[0];
    return OUTCOME_DONE;
}

void
fake_end_recording(RouteRecordingState state)
{
    RouteRecording *recording = &fake.recordings[0];
    if (fake.n_recordings == 0 || recording->state != ROUTE_RECORDING_RUNNING)
        return;
    recording->state = state;
    recording->remaining_ms = 0;
    recording->dump = state == ROUTE_RECORDING_DONE ? keep_dump(recording->id) : 0;
    recording->failure = state == ROUTE_RECORDING_FAILED ? fake.failure : (Failure){0};
    fake.active = false;
}

static Outcome
fake_recording_stop(void *host, uint64_t id, RouteRecording *recording, Failure *failure)
{
    for (size_t i = 0; i < fake.n_recordings; i++) {
        if (fake.recordings[i].id == id) {
            fake_end_recording(fake.dump_result == OUTCOME_DONE ? ROUTE_RECORDING_DONE : ROUTE_RECORDING_FAILED);
            *recording = fake.recordings[i];
            return OUTCOME_DONE;
        }
    }
    return fail(OUTCOME_NOT_FOUND, failure);
}

static size_t
fake_recordings(void *host, RouteRecording *rows, size_t n)
{
    n = n < fake.n_recordings ? n : fake.n_recordings;
    memcpy(rows, fake.recordings, n * sizeof(rows[0]));
    return n;
}

static Outcome
fake_dump_take(void *host, const RouteCapture *capture, RouteDump *dump, Failure *failure)
{
    Outcome result = fake.reachable != OUTCOME_DONE ? fake.reachable
                     : can_profile()                ? fake.dump_result
                                                    : OUTCOME_NO_PROFILING;
    note_capture(capture);
    if (result == OUTCOME_DONE) {
        keep_dump(0);
        *dump = fake.dumps[0];
    }
    return fail(result, failure);
}

static size_t
fake_dumps(void *host, RouteDump *rows, size_t n)
{
    n = n < fake.n_dumps ? n : fake.n_dumps;
    memcpy(rows, fake.dumps, n * sizeof(rows[0]));
    return n;
}

static Outcome
fake_dump_open(void *host, uint64_t id, int *descriptor, Failure *failure)
{
    for (size_t i = 0; i < fake.n_dumps; i++) {
        if (fake.dumps[i].id == id) {
            *descriptor = to_memfd(fake.dump);
            return OUTCOME_DONE;
        }
    }
    return fail(OUTCOME_NOT_FOUND, failure);
}

static Outcome
fake_delta_open(void *host, int *descriptor, Failure *failure)
{
    *descriptor = fake.delta >= 0 ? fcntl(fake.delta, F_DUPFD_CLOEXEC, 0) : -1;
    return OUTCOME_DONE;
}

static void
fake_delta_keep(void *host, int dump)
{
    if (fake.delta >= 0)
        close(fake.delta);
    fake.delta = fcntl(dump, F_DUPFD_CLOEXEC, 0);
}

static void
note(const char *word)
{
    size_t used = strlen(fake.rendered);
    snprintf(fake.rendered + used, sizeof(fake.rendered) - used, "%s%s", used > 0 ? " " : "", word);
}

static Outcome
fake_render(void *host, const RouteRendering *rendering, int *descriptor, Failure *failure)
{
    fake.rendered[0] = '\0';
    note(rendering->format);
    for (const char *const *option = rendering->options; option != NULL && *option != NULL; option++)
        note(*option);
    if (rendering->base >= 0)
        note("base");
    if (fake.render_result == OUTCOME_DONE) {
        /* A symbolized dump, if requested. */
        *descriptor = to_memfd(strcmp(rendering->format, "symbolized") == 0
                                   ? "--- symbol\nbinary=/usr/bin/served\n0x0000000000401000 main\n"
                                     "0x0000000000402000 inner--outer\n---\n--- heap\nheap_v2/1\n"
                                   : fake.rendered);
    }
    return fail(fake.render_result, failure);
}

/* Without a directory: publications are counted. */
static Outcome
fake_publish(void *host, const RoutePublication *what, Failure *failure)
{
    if (fake.published[what->file] != what->recording && what->descriptor < 0)
        return fail(OUTCOME_NOT_FOUND, failure);
    fake.n_published += what->descriptor >= 0 && fake.published[what->file] != what->recording;
    fake.published[what->file] = what->recording;
    snprintf(what->directory, what->size, "/tmp/libprocess.XYZ");
    return fail(fake.publish_result, failure);
}

static const RouteHostOps ops = {
    .hello = fake_hello,
    .read = fake_read,
    .write = fake_write,
    .stats = fake_stats,
    .dump = fake_dump,
    .dump_to_own_file = fake_dump_to_own_file,
    .lease = fake_lease,
    .variable = fake_variable,
    .cmdline = fake_cmdline,
    .maps = fake_maps,
    .recording_start = fake_recording_start,
    .recording_stop = fake_recording_stop,
    .recordings = fake_recordings,
    .dump_take = fake_dump_take,
    .dumps = fake_dumps,
    .dump_open = fake_dump_open,
    .delta_open = fake_delta_open,
    .delta_keep = fake_delta_keep,
    .render = fake_render,
    .publish = fake_publish,
};

RouteHost fake_host = {.ops = &ops};

void
fake_reset(void)
{
    if (fake.delta > 0)
        close(fake.delta);
    fake = (FakeHost){
        .environment = "prof:true",
        .profiling = "",
        .dump = "heap_v2/524288\n  t*: 1: 2 [0: 0]\n@ 0x401000\n  t*: 1: 2 [0: 0]\n\nMAPPED_LIBRARIES:\n",
        .failure = {.error = EFAULT},
        .thread_active_init = true,
        .delta = -1,
    };
    fake.hello.flags = WIRE_FLAG_SERVES_MALLOC | WIRE_FLAG_CONFIG_PROF | WIRE_FLAG_OPT_PROF | WIRE_FLAG_CONFIG_STATS;
    fake.hello.pid = 4711;
    strcpy(fake.hello.name, "served");
    strcpy(fake.hello.agent_version, "0.1.0");
    strcpy(fake.hello.jemalloc_version, "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c");
    strcpy(fake.hello.found_in, "/usr/lib/libjemalloc.so.2");
}

const RouteReply *
fake_ask(const RouteRequest *request)
{
    if (reply.descriptor >= 0)
        close(reply.descriptor);
    memset(&reply, 0x5a, sizeof(reply)); /* earlier content must not matter */
    fake_host.grants = fake.grants;
    const RouteMatch match = routes_find(routes_tables, ROUTE_DIALECT_ALL, request);
    routes_answer(&fake_host, &match, request, &reply);
    size_t n = reply.body_size < BODY_MAX - 1 ? reply.body_size : BODY_MAX - 1;
    if (reply.descriptor < 0)
        memcpy(body, reply.body, n);
    else if (pread(reply.descriptor, body, n, 0) != (ssize_t)n)
        n = 0;
    body[n] = '\0';
    return &reply;
}

const RouteReply *
fake_request(const char *method, const char *path, const char *query)
{
    const RouteRequest request = {method, path, query, "", 0};
    return fake_ask(&request);
}

const RouteReply *
fake_post(const char *path, const char *query, const char *form)
{
    const RouteRequest request = {"POST", path, query, form, strlen(form)};
    return fake_ask(&request);
}

const char *
fake_body(void)
{
    return body;
}
