/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/host.h"

#include "agent/process.h"
#include "embed/ask.h"
#include "embed/call.h"
#include "embed/capture.h"
#include "embed/failure.h"
#include "embed/kept.h"
#include "embed/own-dump.h"
#include "embed/process-file.h"
#include "embed/recordings.h"
#include "routes/publish.h"
#include "routes/render.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PROGRAM_MAX = 1024,
    TITLE_MAX = 64,
    RENDERINGS_MAX = 2, /* each is a separate process with its own limits */
};

/* Set under the turn; "": "jescope" on PATH. */
static char program[PROGRAM_MAX];

static Published published; /* used under the turn */
static unsigned renderings; /* renderings in progress; used under the turn */

static Outcome
hello(void *host, WireHelloReply *hello, Failure *failure)
{
    CALL_SCOPE(CALL_WITH_TURN);
    return ask_hello(host, hello, failure);
}

static Outcome
read_control(void *host, const char *control, WireType type, WireCtlReply *value, Failure *failure)
{
    CALL_SCOPE(CALL_WITH_TURN);
    return ask_read(host, control, type, value, failure);
}

static Outcome
write_control(void *host, const char *control, WireType type, uint64_t value, Failure *failure)
{
    CALL_SCOPE(CALL_WITH_TURN);
    return ask_write(host, control, type, value, failure);
}

static Outcome
stats(void *host, const char *letters, int *descriptor, Failure *failure)
{
    CALL_SCOPE(CALL_WITH_TURN);
    return ask_for_file(letters, descriptor, failure);
}

static CaptureWanted
wanted_of(const RouteCapture *capture)
{
    return (CaptureWanted){.capture = capture != NULL ? *capture : (RouteCapture){0}};
}

static Outcome
dump(void *host, const RouteCapture *capture, int *descriptor, Failure *failure)
{
    const CaptureWanted wanted = wanted_of(capture);
    CALL_SCOPE(CALL_WITH_TURN);
    return capture_take(&wanted, descriptor, failure);
}

static Outcome
dump_to_own_file(void *host, Failure *failure)
{
    WireCtlReply prefix;
    int descriptor = -1;
    Outcome result = read_control(host, "opt.prof_prefix", WIRE_TYPE_STRING, &prefix, failure);
    if (result == OUTCOME_DONE)
        result = dump(host, NULL, &descriptor, failure);
    if (result != OUTCOME_DONE)
        return result;
    CALL_SCOPE(CALL_WITH_TURN);
    if (!own_dump_store(prefix.text, descriptor)) {
        /* jemalloc has a single error for all reasons why it cannot write a file. */
        *failure = (Failure){.error = EFAULT};
        result = OUTCOME_CONTROL_FAILED;
    }
    close(descriptor);
    return result;
}

static Outcome
lease(void *host, const WireLeaseRequest *wanted, WireLease *lease, Failure *failure)
{
    CALL_SCOPE(CALL_WITH_TURN);
    return ask_lease(host, wanted, lease, failure);
}

static Outcome
variable(void *host, const char *name, char *text, size_t size, Failure *failure)
{
    CALL_SCOPE(CALL_ALONE);
    return process_file_variable(name, text, size, failure);
}

static Outcome
cmdline(void *host, char *text, size_t size, size_t *n, Failure *failure)
{
    CALL_SCOPE(CALL_ALONE);
    return process_file_read("/proc/self/cmdline", text, size, n, failure);
}

static Outcome
maps(void *host, int *descriptor, Failure *failure)
{
    CALL_SCOPE(CALL_ALONE);
    return process_file_copy("/proc/self/maps", descriptor, failure);
}

static Outcome
recording_start(void *host, const RouteRecordingRequest *request, RouteRecording *recording, Failure *failure)
{
    CALL_SCOPE(CALL_WITH_TURN);
    return recordings_start(request, recording, failure);
}

static Outcome
recording_stop(void *host, uint64_t id, RouteRecording *recording, Failure *failure)
{
    CALL_SCOPE(CALL_WITH_TURN);
    return recordings_stop(id, recording, failure);
}

static size_t
list_recordings(void *host, RouteRecording *rows, size_t n)
{
    CALL_SCOPE(CALL_WITH_TURN);
    return recordings_list(rows, n);
}

static size_t
list_dumps(void *host, RouteDump *rows, size_t n)
{
    CALL_SCOPE(CALL_WITH_TURN);
    return kept_list(rows, n);
}

static Outcome
delta_open(void *host, int *descriptor, Failure *failure)
{
    CALL_SCOPE(CALL_WITH_TURN);
    return kept_open_delta(descriptor, failure);
}

static void
delta_keep(void *host, int dump)
{
    CALL_SCOPE(CALL_WITH_TURN);
    kept_keep_delta(dump);
}

static bool
begin_rendering(char chosen[static PROGRAM_MAX])
{
    CALL_SCOPE(CALL_WITH_TURN);
    const bool fits = renderings < RENDERINGS_MAX;
    renderings += fits;
    memcpy(chosen, program, PROGRAM_MAX);
    return fits;
}

static void
end_rendering(void)
{
    CALL_SCOPE(CALL_WITH_TURN);
    renderings--;
}

/* Called without the turn, so that other calls do not wait for the child. */
static Outcome
render(void *host, const RouteRendering *rendering, int *descriptor, Failure *failure)
{
    char name[PROCESS_NAME_MAX];
    char title[TITLE_MAX];
    char chosen[PROGRAM_MAX];
    if (!begin_rendering(chosen)) {
        *failure = (Failure){.why = "two reports are already being made; try again in a moment"};
        return OUTCOME_CROWDED;
    }
    process_read_name(name);
    snprintf(title, sizeof(title), "%s (%d)", name, (int)getpid());
    const RenderSetup setup = {.program = chosen[0] != '\0' ? chosen : NULL, .title = title, .pid = getpid()};
    const Outcome result = render_report(&setup, rendering, descriptor, failure);
    end_rendering();
    return result;
}

/* Symbolizes the kept dump ID, and replaces *DESCRIPTOR, a copy of it, with the result. Unless OUTCOME_DONE,
 * *DESCRIPTOR is unchanged. */
static Outcome
name_dump(void *host, uint64_t id, int *descriptor, Failure *failure)
{
    const RouteRendering rendering = {.format = "symbolized", .dump = *descriptor, .base = -1};
    int named = -1;
    Outcome result = render(host, &rendering, &named, failure);
    if (result != OUTCOME_DONE)
        return result;
    int kept = fcntl(named, F_DUPFD_CLOEXEC, 0);
    CALL_SCOPE(CALL_WITH_TURN);
    if (kept >= 0)
        kept_name(id, kept);
    close(*descriptor);
    *descriptor = named;
    return OUTCOME_DONE;
}

/* A dump that is still to be symbolized is symbolized now, since the thread that ends recordings has no time for it. */
static Outcome
dump_open(void *host, uint64_t id, int *descriptor, Failure *failure)
{
    Call call;
    bool nameless = false;
    call_begin(&call, CALL_WITH_TURN);
    Outcome result = kept_open(id, descriptor, &nameless, failure);
    call_end(&call);
    if (result == OUTCOME_DONE && nameless) {
        Failure ignored;
        name_dump(host, id, descriptor, &ignored);
    }
    return result;
}

static Outcome
dump_take(void *host, const RouteCapture *capture, RouteDump *dump, Failure *failure)
{
    Call call;
    RouteDump taken;
    int descriptor = -1;
    bool nameless = false;
    const CaptureWanted wanted = wanted_of(capture);
    call_begin(&call, CALL_WITH_TURN);
    Outcome result = kept_take(&wanted, &taken, failure);
    if (result == OUTCOME_DONE)
        result = kept_open(taken.id, &descriptor, &nameless, failure);
    call_end(&call);
    if (result == OUTCOME_DONE && nameless) {
        result = name_dump(host, taken.id, &descriptor, failure);
        taken.bytes = result == OUTCOME_DONE ? (uint64_t)lseek(descriptor, 0, SEEK_END) : 0;
    }
    if (descriptor >= 0)
        close(descriptor);
    if (result == OUTCOME_DONE)
        *dump = taken;
    return result;
}

static Outcome
publish(void *host, const RoutePublication *what, Failure *failure)
{
    char parent[ROUTE_DIRECTORY_MAX];
    CALL_SCOPE(CALL_WITH_TURN);
    bool named = process_file_variable("TMPDIR", parent, sizeof(parent), NULL) == OUTCOME_DONE && parent[0] == '/';
    return publish_put(&published, named ? parent : "/tmp", what, failure);
}

void
host_forget(void)
{
    published = (Published){0};
    renderings = 0;
}

__attribute__((destructor)) static void
remove_published(void)
{
    publish_remove(&published);
}

static const RouteHostOps ops = {
    .hello = hello,
    .read = read_control,
    .write = write_control,
    .stats = stats,
    .dump = dump,
    .dump_to_own_file = dump_to_own_file,
    .lease = lease,
    .variable = variable,
    .cmdline = cmdline,
    .maps = maps,
    .recording_start = recording_start,
    .recording_stop = recording_stop,
    .recordings = list_recordings,
    .dump_take = dump_take,
    .dumps = list_dumps,
    .dump_open = dump_open,
    .delta_open = delta_open,
    .delta_keep = delta_keep,
    .render = render,
    .publish = publish,
};

bool
host_set_program(const char *chosen)
{
    size_t n = chosen != NULL ? strlen(chosen) : 0;
    if (n >= sizeof(program))
        return false;
    CALL_SCOPE(CALL_WITH_TURN);
    memcpy(program, chosen != NULL ? chosen : "", n);
    program[n] = '\0';
    return true;
}

const RouteHost host_self = {.ops = &ops};
