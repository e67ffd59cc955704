/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/pprof.h"

#include "routes/pause.h"
#include "routes/pprof-reply.h"
#include "routes/query.h"
#include "routes/reply.h"
#include "routes/values.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    SECONDS_MAX = 300,
    LEASE_MARGIN_MS = 10000, /* for the dump at the end; if we die, sampling ends with the lease */
    CMDLINE_MAX = 4096,
};

static const char index_page[] =
    "<!doctype html><html><head><meta charset=\"utf-8\"><title>/debug/pprof</title></head><body>\n"
    "<p>Profiles of jemalloc's heap, for <code>go tool pprof</code> and other readers of profile.proto. With "
    "<code>?debug=1</code> as text, with <code>?seconds=N</code> what changed in so many seconds.</p>\n"
    "<ul>\n"
    "<li><a href=\"heap?debug=1\">heap</a>: what is in use</li>\n"
    "<li><a href=\"allocs?debug=1\">allocs</a>: what was ever allocated, if the program runs with "
    "prof_accum:true</li>\n"
    "<li><a href=\"delta_heap?debug=1\">delta_heap</a>: what changed since this was last asked for</li>\n"
    "<li><a href=\"cmdline\">cmdline</a>: the program's arguments</li>\n"
    "<li>symbol: names of addresses</li>\n"
    "</ul></body></html>\n";

void
pprof_refuse(RouteReply *reply, unsigned status, const char *why)
{
    reply_text(reply, status, REPLY_UTF8, "%s\n", why);
    reply_header(reply, "X-Go-Pprof", "1");
}

void
pprof_failure(RouteReply *reply, RouteResult result, const RouteFailure *failure)
{
    pprof_refuse(reply, reply_status(result), reply_failure_text(result, failure));
    reply_add_retry(reply);
}

void
pprof_unknown(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    pprof_refuse(reply, 404, "there is no such profile: jemalloc knows the heap alone; see /debug/pprof/");
}

void
pprof_wrong_method(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    pprof_refuse(reply, 405, "profiles are asked for with GET");
    reply_header(reply, "Allow", "GET");
}

void
pprof_index(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    reply_begin(reply, 200, "text/html; charset=utf-8");
    reply_add(reply, index_page, strlen(index_page));
}

/* ---- profiles ---- */

/* A profile on its way. */
typedef struct {
    const RouteHost *host;
    const RouteRequest *request;
    RouteReply *reply;
    const char *name; /* as the last component of the path has it */
    const char *const *options;
    int dump, base; /* descriptors, -1: none */
} Profile;

static bool
take_dump(const Profile *profile, int *descriptor)
{
    RouteFailure failure = {0};
    RouteResult result = profile->host->ops->dump(profile->host->data, descriptor, &failure);
    if (result != ROUTE_DONE) {
        pprof_failure(profile->reply, result, &failure);
    }
    return result == ROUTE_DONE;
}

static bool
wants_text(const RouteRequest *request)
{
    QueryValue debug;
    uint64_t level;
    query_find(request->query, "debug", &debug);
    return value_unsigned(debug.text, &level) && level > 0;
}

/* Sends profile->dump against profile->base, and closes both. */
static void
send_profile(Profile *profile)
{
    bool text = wants_text(profile->request);
    const RouteRendering rendering = {
        .format = text ? "text" : "pprof", .options = profile->options, .dump = profile->dump, .base = profile->base};
    RouteFailure failure = {0};
    int report = -1;
    RouteResult result = profile->host->ops->render(profile->host->data, &rendering, &report, &failure);
    close(profile->dump);
    if (profile->base >= 0) {
        close(profile->base);
    }
    if (result != ROUTE_DONE) {
        pprof_failure(profile->reply, result, &failure);
        return;
    }
    reply_file(profile->reply, text ? REPLY_UTF8 : REPLY_BYTES, report);
    if (!text) {
        reply_header(profile->reply, "Content-Disposition", "attachment; filename=\"%s\"", profile->name);
    }
}

/* 0: not asked for. False: it is no number we take, and the reply says so. */
static bool
read_seconds(const Profile *profile, uint64_t *seconds)
{
    QueryValue text;
    *seconds = 0;
    if (query_find(profile->request->query, "seconds", &text) == QUERY_ABSENT) {
        return true;
    }
    if (!value_unsigned(text.text, seconds) || *seconds > SECONDS_MAX) {
        pprof_refuse(profile->reply, 400, "seconds: it must be a number from 0 to 300");
        return false;
    }
    return true;
}

/* Sampling is on from here until end_sampling(), if it was not before: *lease is 0 then. */
static bool
begin_sampling(const Profile *profile, uint64_t seconds, uint64_t *lease)
{
    const WireLeaseRequest take = {
        .action = WIRE_LEASE_TAKE, .duration_ms = seconds * 1000 + LEASE_MARGIN_MS, .active = true};
    WireHelloReply hello;
    WireLease taken = {0};
    RouteFailure failure = {0};
    RouteResult result = profile->host->ops->hello(profile->host->data, &hello, &failure);
    if (result == ROUTE_DONE && (hello.flags & WIRE_FLAG_PROF_ACTIVE) == 0) {
        result = profile->host->ops->lease(profile->host->data, &take, &taken, &failure);
    }
    if (result != ROUTE_DONE) {
        pprof_failure(profile->reply, result, &failure);
    }
    *lease = taken.id;
    return result == ROUTE_DONE;
}

static void
end_sampling(const Profile *profile, uint64_t lease)
{
    const WireLeaseRequest release = {.action = WIRE_LEASE_RELEASE, .lease_id = lease};
    WireLease none;
    RouteFailure failure;
    if (lease != 0) {
        profile->host->ops->lease(profile->host->data, &release, &none, &failure);
    }
}

/* Dumps at both ends of the time. False: the reply says why not. */
static bool
take_two_dumps(Profile *profile, uint64_t seconds)
{
    uint64_t lease;
    bool taken = false;
    if (!begin_sampling(profile, seconds, &lease)) {
        return false;
    }
    if (take_dump(profile, &profile->base)) {
        pause_for(profile->host, seconds * 1000);
        taken = take_dump(profile, &profile->dump);
        if (!taken) {
            close(profile->base);
        }
    }
    end_sampling(profile, lease);
    return taken;
}

static void
answer_profile(Profile *profile)
{
    uint64_t seconds;
    if (read_seconds(profile, &seconds) &&
        (seconds > 0 ? take_two_dumps(profile, seconds) : take_dump(profile, &profile->dump))) {
        send_profile(profile);
    }
}

RouteRole
pprof_heap_role(const RouteRequest *request)
{
    QueryValue seconds;
    return query_find(request->query, "seconds", &seconds) == QUERY_ABSENT ? ROUTE_ROLE_READ : ROUTE_ROLE_CONTROL;
}

void
pprof_heap(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    Profile profile = {.host = host, .request = request, .reply = reply, .name = "heap", .dump = -1, .base = -1};
    answer_profile(&profile);
}

/* What was ever allocated is counted with prof_accum:true alone; without, a profile that opens on it looks empty. */
void
pprof_allocs(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    static const char *const ever[] = {"--value=alloc_space", NULL};
    RouteFailure failure;
    RouteValue value = {0};
    bool counted = host->ops->read(host->data, "opt.prof_accum", WIRE_TYPE_BOOL, &value, &failure) == ROUTE_DONE &&
                   value.value != 0;
    Profile profile = {.host = host,
                       .request = request,
                       .reply = reply,
                       .name = "allocs",
                       .options = counted ? ever : NULL,
                       .dump = -1,
                       .base = -1};
    answer_profile(&profile);
}

void
pprof_delta_heap(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    Profile profile = {.host = host, .request = request, .reply = reply, .name = "delta_heap", .dump = -1, .base = -1};
    RouteFailure failure = {0};
    if (!take_dump(&profile, &profile.dump)) {
        return;
    }
    int kept = fcntl(profile.dump, F_DUPFD_CLOEXEC, 0);
    RouteResult result = kept < 0 ? ROUTE_SYSTEM : host->ops->delta(host->data, kept, &profile.base, &failure);
    if (result != ROUTE_DONE) {
        close(profile.dump);
        pprof_failure(reply, result, &failure);
        return;
    }
    send_profile(&profile);
}

void
pprof_raw(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    const Profile profile = {.host = host, .request = request, .reply = reply};
    int descriptor = -1;
    if (take_dump(&profile, &descriptor)) {
        reply_file(reply, REPLY_TEXT, descriptor);
    }
}

void
pprof_cmdline(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    char text[CMDLINE_MAX];
    RouteFailure failure = {0};
    size_t n = 0;
    RouteResult result = host->ops->cmdline(host->data, text, sizeof text, &n, &failure);
    if (result != ROUTE_DONE) {
        pprof_failure(reply, result, &failure);
        return;
    }
    reply_begin(reply, 200, REPLY_UTF8);
    reply_add(reply, text, n);
}
