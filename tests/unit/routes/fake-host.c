/* SPDX-License-Identifier: Apache-2.0 */
#include "fake-host.h"

#include <errno.h>
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
    if (write(descriptor, text, strlen(text)) < 0 || lseek(descriptor, 0, SEEK_SET) != 0) {
        return -1;
    }
    return descriptor;
}

static RouteResult
fail(RouteResult result, RouteFailure *failure)
{
    if (result != ROUTE_DONE) {
        *failure = fake.failure;
    }
    return result;
}

static bool
can_profile(void)
{
    const uint32_t both = WIRE_FLAG_CONFIG_PROF | WIRE_FLAG_OPT_PROF;
    return (fake.hello.flags & both) == both;
}

static RouteResult
fake_hello(void *host, WireHelloReply *hello, RouteFailure *failure)
{
    if (fake.reachable == ROUTE_DONE) {
        *hello = fake.hello;
        hello->flags |= fake.active ? WIRE_FLAG_PROF_ACTIVE : 0;
        hello->lease = fake.lease;
    }
    return fail(fake.reachable, failure);
}

static RouteResult
fake_read(void *host, const char *control, WireType type, RouteValue *value, RouteFailure *failure)
{
    static const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"arenas.narenas", 3},      {"max_background_threads", 4},    {"background_thread", 0},
                   {"prof.lg_sample", 19},     {"arenas.dirty_decay_ms", 10000}, {"arenas.muzzy_decay_ms", 0},
                   {"stats.allocated", 123456}};
    if (fake.reachable != ROUTE_DONE) {
        return fail(fake.reachable, failure);
    }
    if (strncmp(control, "prof.", 5) == 0 && !can_profile()) {
        return fail(ROUTE_NO_PROFILING, failure);
    }
    *value = (RouteValue){0};
    if (strcmp(control, "config.malloc_conf") == 0) {
        strcpy(value->text, "built:in");
        return ROUTE_DONE;
    }
    if (strcmp(control, "prof.active") == 0 || strcmp(control, "prof.thread_active_init") == 0) {
        value->value = strcmp(control, "prof.active") == 0 ? fake.active : fake.thread_active_init;
        return ROUTE_DONE;
    }
    if (strcmp(control, "opt.prof_accum") == 0) {
        value->value = fake.prof_accum;
        return ROUTE_DONE;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(control, numbers[i].name) == 0) {
            value->value = numbers[i].value;
            return ROUTE_DONE;
        }
    }
    *failure = (RouteFailure){.error = ENOENT};
    return ROUTE_CONTROL_FAILED;
}

static RouteResult
fake_write(void *host, const char *control, WireType type, uint64_t value, RouteFailure *failure)
{
    RouteResult result = fake.reachable != ROUTE_DONE ? fake.reachable : fake.write_result;
    size_t used = strlen(fake.written);
    if (result == ROUTE_DONE) {
        snprintf(fake.written + used, sizeof fake.written - used, "%s=%lld ", control, (long long)value);
        fake.active = strcmp(control, "prof.active") == 0 ? value != 0 : fake.active;
    }
    return fail(result, failure);
}

static RouteResult
fake_stats(void *host, const char *letters, int *descriptor, RouteFailure *failure)
{
    char text[64];
    if (fake.reachable != ROUTE_DONE) {
        return fail(fake.reachable, failure);
    }
    snprintf(text, sizeof text, strchr(letters, 'J') != NULL ? "{\"jemalloc\":\"%s\"}" : "statistics %s\n", letters);
    *descriptor = to_memfd(text);
    return ROUTE_DONE;
}

static RouteResult
fake_dump(void *host, int *descriptor, RouteFailure *failure)
{
    RouteResult result = fake.reachable != ROUTE_DONE ? fake.reachable
                         : can_profile()              ? fake.dump_result
                                                      : ROUTE_NO_PROFILING;
    if (result == ROUTE_DONE) {
        *descriptor = to_memfd(fake.dump);
    }
    return fail(result, failure);
}

static RouteResult
fake_lease(void *host, const WireLeaseRequest *request, WireLease *lease, RouteFailure *failure)
{
    if (fake.reachable != ROUTE_DONE || !can_profile()) {
        return fail(fake.reachable != ROUTE_DONE ? fake.reachable : ROUTE_NO_PROFILING, failure);
    }
    if (request->action == WIRE_LEASE_TAKE ? fake.lease.id != 0 : fake.lease.id != request->lease_id) {
        return fail(request->action == WIRE_LEASE_TAKE ? ROUTE_BUSY : ROUTE_NOT_FOUND, failure);
    }
    if (request->action == WIRE_LEASE_RELEASE) {
        fake.active = fake.lease.restores;
        fake.lease = (WireLease){0};
    } else {
        fake.lease.restores = request->action == WIRE_LEASE_TAKE ? fake.active : fake.lease.restores;
        fake.lease.active = fake.active = true;
        fake.lease.id = 7;
        fake.lease.remaining_ms = request->duration_ms;
    }
    *lease = fake.lease;
    return ROUTE_DONE;
}

static RouteResult
fake_variable(void *host, const char *name, char *text, size_t size, RouteFailure *failure)
{
    const char *value = strcmp(name, "MALLOC_CONF") == 0                   ? fake.environment
                        : strcmp(name, "LIBPROCESS_MEMORY_PROFILING") == 0 ? fake.profiling
                                                                           : "";
    snprintf(text, size, "%s", value);
    return ROUTE_DONE;
}

static RouteResult
fake_cmdline(void *host, char *text, size_t size, size_t *n, RouteFailure *failure)
{
    static const char arguments[] = "/usr/bin/served\0--port\0";
    *n = sizeof arguments - 1 < size ? sizeof arguments - 1 : size;
    memcpy(text, arguments, *n);
    return fail(fake.reachable == ROUTE_GONE ? ROUTE_GONE : ROUTE_DONE, failure);
}

static RouteResult
fake_maps(void *host, int *descriptor, RouteFailure *failure)
{
    *descriptor = to_memfd("00400000-00500000 r-xp 00000000 08:01 42 /usr/bin/served\n");
    return ROUTE_DONE;
}

static uint64_t
keep_dump(uint64_t recording)
{
    size_t kept = fake.n_dumps < FAKE_DUMPS_MAX ? fake.n_dumps : FAKE_DUMPS_MAX - 1;
    uint64_t id = fake.n_dumps > 0 ? fake.dumps[0].id + 1 : 1;
    memmove(fake.dumps + 1, fake.dumps, kept * sizeof fake.dumps[0]);
    fake.dumps[0] = (RouteDump){id, recording, began_ms, strlen(fake.dump)};
    fake.n_dumps = kept + 1;
    return id;
}

static RouteResult
fake_recording_start(void *host, uint64_t duration_ms, RouteRecording *recording, RouteFailure *failure)
{
    if (fake.reachable != ROUTE_DONE || !can_profile()) {
        return fail(fake.reachable != ROUTE_DONE ? fake.reachable : ROUTE_NO_PROFILING, failure);
    }
    if (fake.active) {
        return fail(ROUTE_BUSY, failure);
    }
    size_t kept = fake.n_recordings < FAKE_RECORDINGS_MAX ? fake.n_recordings : FAKE_RECORDINGS_MAX - 1;
    uint64_t id = fake.n_recordings > 0 ? fake.recordings[0].id + 1 : began_ms / 1000;
    memmove(fake.recordings + 1, fake.recordings, kept * sizeof fake.recordings[0]);
    fake.recordings[0] =
        (RouteRecording){.id = id, .begin_ms = began_ms, .duration_ms = duration_ms, .remaining_ms = duration_ms};
    fake.n_recordings = kept + 1;
    fake.active = true;
    *recording = fake.recordings[0];
    return ROUTE_DONE;
}

void
fake_end_recording(RouteRecordingState state)
{
    RouteRecording *recording = &fake.recordings[0];
    if (fake.n_recordings == 0 || recording->state != ROUTE_RECORDING_RUNNING) {
        return;
    }
    recording->state = state;
    recording->remaining_ms = 0;
    recording->dump = state == ROUTE_RECORDING_DONE ? keep_dump(recording->id) : 0;
    recording->failure = state == ROUTE_RECORDING_FAILED ? fake.failure : (RouteFailure){0};
    fake.active = false;
}

static RouteResult
fake_recording_stop(void *host, uint64_t id, RouteRecording *recording, RouteFailure *failure)
{
    for (size_t i = 0; i < fake.n_recordings; i++) {
        if (fake.recordings[i].id == id) {
            fake_end_recording(fake.dump_result == ROUTE_DONE ? ROUTE_RECORDING_DONE : ROUTE_RECORDING_FAILED);
            *recording = fake.recordings[i];
            return ROUTE_DONE;
        }
    }
    return fail(ROUTE_NOT_FOUND, failure);
}

static size_t
fake_recordings(void *host, RouteRecording *rows, size_t n)
{
    n = n < fake.n_recordings ? n : fake.n_recordings;
    memcpy(rows, fake.recordings, n * sizeof rows[0]);
    return n;
}

static RouteResult
fake_dump_take(void *host, RouteDump *dump, RouteFailure *failure)
{
    RouteResult result = fake.reachable != ROUTE_DONE ? fake.reachable
                         : can_profile()              ? fake.dump_result
                                                      : ROUTE_NO_PROFILING;
    if (result == ROUTE_DONE) {
        keep_dump(0);
        *dump = fake.dumps[0];
    }
    return fail(result, failure);
}

static size_t
fake_dumps(void *host, RouteDump *rows, size_t n)
{
    n = n < fake.n_dumps ? n : fake.n_dumps;
    memcpy(rows, fake.dumps, n * sizeof rows[0]);
    return n;
}

static RouteResult
fake_dump_open(void *host, uint64_t id, int *descriptor, RouteFailure *failure)
{
    for (size_t i = 0; i < fake.n_dumps; i++) {
        if (fake.dumps[i].id == id) {
            *descriptor = to_memfd(fake.dump);
            return ROUTE_DONE;
        }
    }
    return fail(ROUTE_NOT_FOUND, failure);
}

static RouteResult
fake_delta(void *host, int dump, int *previous, RouteFailure *failure)
{
    *previous = fake.delta;
    fake.delta = dump;
    return ROUTE_DONE;
}

static void
note(const char *word)
{
    size_t used = strlen(fake.rendered);
    snprintf(fake.rendered + used, sizeof fake.rendered - used, "%s%s", used > 0 ? " " : "", word);
}

static RouteResult
fake_render(void *host, const RouteRendering *rendering, int *descriptor, RouteFailure *failure)
{
    fake.rendered[0] = '\0';
    note(rendering->format);
    for (const char *const *option = rendering->options; option != NULL && *option != NULL; option++) {
        note(*option);
    }
    if (rendering->base >= 0) {
        note("base");
    }
    if (fake.render_result == ROUTE_DONE) {
        /* A symbolized dump, for whoever asked for names. */
        *descriptor = to_memfd(strcmp(rendering->format, "symbolized") == 0
                                   ? "--- symbol\nbinary=/usr/bin/served\n0x0000000000401000 main\n"
                                     "0x0000000000402000 inner--outer\n---\n--- heap\nheap_v2/1\n"
                                   : fake.rendered);
    }
    return fail(fake.render_result, failure);
}

static const RouteHostOps ops = {
    .hello = fake_hello,
    .read = fake_read,
    .write = fake_write,
    .stats = fake_stats,
    .dump = fake_dump,
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
    .delta = fake_delta,
    .render = fake_render,
};

const RouteHost fake_host = {.ops = &ops, .directory = "/tmp/libprocess.XYZ"};

void
fake_reset(void)
{
    if (fake.delta > 0) {
        close(fake.delta);
    }
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
    if (reply.descriptor >= 0) {
        close(reply.descriptor);
    }
    memset(&reply, 0x5a, sizeof reply); /* what was there before must not matter */
    routes_answer(&fake_host, ROUTE_DIALECT_ALL, request, &reply);
    size_t n = reply.body_size < BODY_MAX - 1 ? reply.body_size : BODY_MAX - 1;
    if (reply.descriptor < 0) {
        memcpy(body, reply.body, n);
    } else if (pread(reply.descriptor, body, n, 0) != (ssize_t)n) {
        n = 0;
    }
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
