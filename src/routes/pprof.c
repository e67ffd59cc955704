/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths that Go's and gperftools' pprof, and jeprof, request: /debug/pprof and /pprof. docs/dialects.md describes
 * the answers.
 */
#include "routes/table.h"

#include "routes/choice.h"
#include "routes/pause.h"
#include "routes/pprof-reply.h"
#include "routes/pprof-symbol.h"
#include "routes/query.h"
#include "routes/reply.h"
#include "routes/values.h"

#include <string.h>
#include <unistd.h>

enum {
    SECONDS_MAX = 300,
    LEASE_MARGIN_MS = 10000, /* for the dump at the end; if jescope dies, sampling ends with the lease */
    CMDLINE_MAX = 4096,
};

static const char index_page[] =
    "<!doctype html><html><head><meta charset=\"utf-8\"><title>/debug/pprof</title></head><body>\n"
    "<p>Profiles of jemalloc's heap, for <code>go tool pprof</code> and other readers of profile.proto. With "
    "<code>?debug=1</code> as text, with <code>?seconds=N</code> what changed in N seconds.</p>\n"
    "<ul>\n"
    "<li><a href=\"heap?debug=1\">heap</a>: what is in use</li>\n"
    "<li><a href=\"allocs?debug=1\">allocs</a>: what was ever allocated, if the program runs with "
    "prof_accum:true</li>\n"
    "<li><a href=\"delta_heap?debug=1\">delta_heap</a>: what changed since this was last asked for</li>\n"
    "<li><a href=\"cmdline\">cmdline</a>: the program's arguments</li>\n"
    "<li>symbol: names of addresses</li>\n"
    "</ul></body></html>\n";

static void
pprof_unknown(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    pprof_refuse(reply, 404, "no such profile: jemalloc profiles only the heap; see /debug/pprof/");
}

static void
pprof_wrong_method(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    pprof_refuse(reply, 405, "use GET for profiles");
    reply_header(reply, "Allow", "GET");
}

static void
pprof_index(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    reply_begin(reply, 200, "text/html; charset=utf-8");
    reply_add(reply, index_page, strlen(index_page));
}

/* ---- profiles ---- */

/* A profile being made. */
typedef struct {
    const RouteHost *host;
    const RouteRequest *request;
    RouteReply *reply;
    const char *name; /* the last component of the path */
    const char *const *options;
    int dump, base; /* descriptors, -1: none */
} Profile;

static bool
take_dump(const Profile *profile, int *descriptor)
{
    Failure failure = {0};
    Outcome result = profile->host->ops->dump(profile->host->data, NULL, descriptor, &failure);
    if (result != OUTCOME_DONE)
        pprof_failure(profile->reply, result, &failure);
    return result == OUTCOME_DONE;
}

static bool
wants_text(const RouteRequest *request)
{
    QueryValue debug;
    uint64_t level;
    query_find(request->query, "debug", &debug);
    return value_unsigned(debug.text, &level) && level > 0;
}

/* Sends profile->dump against profile->base. False: the reply has the error. */
static bool
send_profile(const Profile *profile)
{
    bool text = wants_text(profile->request);
    const RouteRendering rendering = {
        .format = text ? "text" : "pprof", .options = profile->options, .dump = profile->dump, .base = profile->base};
    Failure failure = {0};
    int report = -1;
    Outcome result = profile->host->ops->render(profile->host->data, &rendering, &report, &failure);
    if (result != OUTCOME_DONE) {
        pprof_failure(profile->reply, result, &failure);
        return false;
    }
    reply_file(profile->reply, text ? REPLY_UTF8 : REPLY_BYTES, report);
    if (!text)
        reply_header(profile->reply, "Content-Disposition", "attachment; filename=\"%s\"", profile->name);
    return true;
}

static void
close_dumps(const Profile *profile)
{
    if (profile->dump >= 0)
        close(profile->dump);
    if (profile->base >= 0)
        close(profile->base);
}

/* 0: not given. False: invalid, and the reply has the error. */
static bool
read_seconds(const Profile *profile, uint64_t *seconds)
{
    QueryValue text;
    *seconds = 0;
    if (query_find(profile->request->query, "seconds", &text) == QUERY_ABSENT)
        return true;
    if (!value_unsigned(text.text, seconds) || *seconds > SECONDS_MAX) {
        pprof_refuse(profile->reply, 400, "seconds: it must be a number from 0 to 300");
        return false;
    }
    return true;
}

/* Switches sampling on until end_sampling(), unless it was on before: then *lease is 0. */
static bool
begin_sampling(const Profile *profile, uint64_t seconds, uint64_t *lease)
{
    const RouteHost *host = profile->host;
    WireLeaseRequest take = {
        .action = WIRE_LEASE_TAKE, .duration_ms = seconds * 1000 + LEASE_MARGIN_MS, .active = true};
    SamplerChoice choice = {0};
    WireHelloReply hello;
    WireLease taken = {0};
    Failure failure = {0};
    Outcome result = choice_read(profile->request->query, &choice.sampler, &failure);
    take.flags = sampler_choice_flags(choice.sampler);
    if (result == OUTCOME_DONE)
        result = choice_prepare(host, &choice, &failure);
    if (result == OUTCOME_DONE)
        result = host->ops->hello(host->data, &hello, &failure);
    if (result == OUTCOME_DONE && (choice.sampler != WIRE_SAMPLER_AUTO || (hello.flags & WIRE_FLAG_PROF_ACTIVE) == 0))
        result = host->ops->lease(host->data, &take, &taken, &failure);
    if (result != OUTCOME_DONE)
        pprof_failure(profile->reply, result, &failure);
    *lease = taken.id;
    return result == OUTCOME_DONE;
}

static void
end_sampling(const Profile *profile, uint64_t lease)
{
    const WireLeaseRequest release = {.action = WIRE_LEASE_RELEASE, .lease_id = lease};
    WireLease none;
    Failure failure;
    if (lease != 0)
        profile->host->ops->lease(profile->host->data, &release, &none, &failure);
}

/* Takes a dump at the start and the end of the time. False: the reply has the error. */
static bool
take_two_dumps(Profile *profile, uint64_t seconds)
{
    uint64_t lease;
    bool taken = false;
    if (!begin_sampling(profile, seconds, &lease))
        return false;
    if (take_dump(profile, &profile->base)) {
        pause_for(profile->host, seconds * 1000);
        taken = take_dump(profile, &profile->dump);
    }
    end_sampling(profile, lease);
    return taken;
}

static void
answer_profile(Profile *profile)
{
    uint64_t seconds;
    if (read_seconds(profile, &seconds) &&
        (seconds > 0 ? take_two_dumps(profile, seconds) : take_dump(profile, &profile->dump)))
        send_profile(profile);
    close_dumps(profile);
}

static RouteRole
pprof_heap_role(const RouteRequest *request)
{
    QueryValue seconds;
    return query_find(request->query, "seconds", &seconds) == QUERY_ABSENT ? ROUTE_ROLE_READ : ROUTE_ROLE_CONTROL;
}

static void
pprof_heap(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    Profile profile = {.host = host, .request = request, .reply = reply, .name = "heap", .dump = -1, .base = -1};
    answer_profile(&profile);
}

/* All allocations are counted only with prof_accum:true; otherwise a profile with this default view looks empty. */
static void
pprof_allocs(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    static const char *const ever[] = {"--value=alloc_space", NULL};
    Failure failure;
    WireCtlReply value = {0};
    bool counted = host->ops->read(host->data, "opt.prof_accum", WIRE_TYPE_BOOL, &value, &failure) == OUTCOME_DONE &&
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

static void
pprof_delta_heap(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    Profile profile = {.host = host, .request = request, .reply = reply, .name = "delta_heap", .dump = -1, .base = -1};
    Failure failure = {0};
    if (!take_dump(&profile, &profile.dump))
        return;
    Outcome result = host->ops->delta_open(host->data, &profile.base, &failure);
    if (result != OUTCOME_DONE)
        pprof_failure(reply, result, &failure);
    else if (send_profile(&profile))
        host->ops->delta_keep(host->data, profile.dump);
    close_dumps(&profile);
}

static void
pprof_raw(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    const Profile profile = {.host = host, .request = request, .reply = reply};
    int descriptor = -1;
    if (take_dump(&profile, &descriptor))
        reply_file(reply, REPLY_TEXT, descriptor);
}

static void
pprof_cmdline(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    char text[CMDLINE_MAX];
    Failure failure = {0};
    size_t n = 0;
    Outcome result = host->ops->cmdline(host->data, text, sizeof(text), &n, &failure);
    if (result != OUTCOME_DONE) {
        pprof_failure(reply, result, &failure);
        return;
    }
    reply_begin(reply, 200, REPLY_UTF8);
    reply_add(reply, text, n);
}

static const RouteParameter pprof_parameters[] = {
    {"debug", "integer", "greater than 0: a text instead of profile.proto"},
    {"seconds", "integer", "the change during this number of seconds, at most 300; sampling is on meanwhile"},
    CHOICE_SAMPLER_ROW,
    {0},
};

static const RouteParameter pprof_delta_parameters[] = {
    {"debug", "integer", "greater than 0: a text instead of profile.proto"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_PPROF, "GET|HEAD", "/debug/pprof/", "list of profiles", .answer = pprof_index},
    {ROUTE_DIALECT_PPROF, "GET|HEAD", "/debug/pprof", NULL, .answer = pprof_index},
    {ROUTE_DIALECT_PPROF, "GET|HEAD", "/debug/pprof/heap", "memory in use, as profile.proto",
     .parameters = pprof_parameters, .flags = ROUTE_SLOW | ROUTE_WAITING, .role_of = pprof_heap_role,
     .answer = pprof_heap},
    {ROUTE_DIALECT_PPROF, "GET|HEAD", "/debug/pprof/allocs", "memory allocated since the start, with prof_accum:true",
     .parameters = pprof_parameters, .flags = ROUTE_SLOW | ROUTE_WAITING, .role_of = pprof_heap_role,
     .answer = pprof_allocs},
    {ROUTE_DIALECT_PPROF, "GET", "/debug/pprof/delta_heap", "change since the previous request",
     .parameters = pprof_delta_parameters, .flags = ROUTE_SLOW, .role = ROUTE_ROLE_CONTROL, .answer = pprof_delta_heap},
    {ROUTE_DIALECT_PPROF, "GET|HEAD|POST", "/debug/pprof/symbol",
     "names of addresses: 0xA+0xB as the body or the query", .flags = ROUTE_SLOW, .is_quick = pprof_names_nothing,
     .answer = pprof_symbol},
    {ROUTE_DIALECT_PPROF, "GET|HEAD", "/debug/pprof/cmdline", "the program's arguments, NUL-separated",
     .answer = pprof_cmdline},
    {ROUTE_DIALECT_PPROF, "GET|HEAD", "/pprof/heap", "a dump, for jeprof", .flags = ROUTE_SLOW, .answer = pprof_raw},
    {ROUTE_DIALECT_PPROF, "GET|HEAD", "/pprof/growth", "same as heap: jemalloc has no other record of growth",
     .flags = ROUTE_SLOW, .answer = pprof_raw},
    {ROUTE_DIALECT_PPROF, "GET|HEAD|POST", "/pprof/symbol", "names of addresses: 0xA+0xB as the body or the query",
     .flags = ROUTE_SLOW, .is_quick = pprof_names_nothing, .answer = pprof_symbol},
    {ROUTE_DIALECT_PPROF, "GET|HEAD", "/pprof/cmdline", "the program's arguments, NUL-separated",
     .answer = pprof_cmdline},
};

const RouteTable pprof_routes = {rows, sizeof(rows) / sizeof(rows[0])};

const Dialect pprof_dialect = {
    .dialect = ROUTE_DIALECT_PPROF,
    .name = "pprof",
    .title = "The pprof family",
    .about = "For `go tool pprof`, jeprof, Parca, Alloy and other pprof clients.",
    .paths = {"/debug/pprof", "/pprof"},
    .unknown = pprof_unknown,
    .wrong_method = pprof_wrong_method,
};
