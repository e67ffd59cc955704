/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/table.h"

#include "routes/libmtev.h"
#include "routes/mesos.h"
#include "routes/native.h"
#include "routes/pprof.h"
#include "routes/report-query.h"
#include "routes/userver.h"

#include <string.h>
#include <strings.h>

static RouteRole
role_read(const RouteRequest *request)
{
    return ROUTE_ROLE_READ;
}

static RouteRole
role_control(const RouteRequest *request)
{
    return ROUTE_ROLE_CONTROL;
}

static const RouteParameter libmtev_parameters[] = {
    {"active", "text", "\"true\" switches sampling on, anything else off"},
    {"trigger_dump", "text", "\"true\" answers with a heap dump"},
    {0},
};

static const RouteParameter userver_parameters[] = {
    {"count", "integer", "of bg_threads_set_max: how many background threads there may be"},
    {0},
};

static const RouteParameter mesos_start_parameters[] = {
    {"duration", "text", "a number with ns, us, ms, secs, mins, hrs, days or weeks; from 1secs to 1days, else 5mins"},
    {0},
};

static const RouteParameter mesos_download_parameters[] = {
    {"id", "id", "of the run, which must be the latest one that ended"},
    {0},
};

static const RouteParameter pprof_parameters[] = {
    {"debug", "integer", "above 0: a text to read instead of profile.proto"},
    {"seconds", "integer", "what changed in so many seconds, at most 300; sampling is on meanwhile"},
    {0},
};

static const RouteParameter pprof_delta_parameters[] = {
    {"debug", "integer", "above 0: a text to read instead of profile.proto"},
    {0},
};

#define TARGET "/api/v1/targets/{target}"

static const RouteParameter profiling_parameters[] = {
    {"active", "boolean", "whether to sample"},
    {"for", "duration", "only so long: a lease, after which it is as before; without, until it is changed again"},
    {0},
};

static const RouteParameter renew_parameters[] = {
    {"for", "duration", "how long from now on"},
    {0},
};

static const RouteParameter reset_parameters[] = {
    {"sample", "size", "the mean distance of samples from now on, rounded to a power of two"},
    {0},
};

static const RouteParameter arena_parameters[] = {
    {"arena", "integer", "only this one; without, all"},
    {0},
};

static const RouteParameter decay_parameters[] = {
    {"dirty_ms", "integer", "after how many milliseconds unused pages are returned; 0: at once, -1: never"},
    {"muzzy_ms", "integer", "the same for pages that the kernel may take already"},
    {0},
};

static const RouteParameter threads_parameters[] = {
    {"enabled", "boolean", "whether background threads run"},
    {"max", "integer", "how many there may be"},
    {0},
};

#define CONTROL_TYPES "bool|unsigned|size|ssize|u64|string|none"

static const RouteParameter control_parameters[] = {
    {"type", CONTROL_TYPES, "of its value, for a control that is not in our table"},
    {0},
};

static const RouteParameter control_set_parameters[] = {
    {"value", "text", "to be written; left out, the control is run as an action"},
    {"type", CONTROL_TYPES, "of its value, for a control that is not in our table"},
    {0},
};

static const RouteParameter recording_parameters[] = {
    {"for", "duration", "how long to record"},
    {0},
};

static const RouteParameter statistics_parameters[] = {
    {"format", "json|text", "json is the default"},
    {"options", "text", "letters of malloc_stats_print(): what to leave out"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_LIBMTEV, "GET", "/mtev/memory.json", "jemalloc's statistics as JSON", NULL, ROUTE_PRINTING,
     role_read, libmtev_memory},
    {ROUTE_DIALECT_LIBMTEV, "GET", "/mtev/heap_profile", "the state of profiling; or switch it, or take a dump",
     libmtev_parameters, ROUTE_SLOW, libmtev_heap_profile_role, libmtev_heap_profile},
    {ROUTE_DIALECT_LIBMTEV, "OPTIONS", "/mtev/memory.json", NULL, NULL, 0, role_read, libmtev_options},
    {ROUTE_DIALECT_LIBMTEV, "OPTIONS", "/mtev/heap_profile", NULL, NULL, 0, role_read, libmtev_options},
    {ROUTE_DIALECT_USERVER, "POST", "/service/jemalloc/prof/{command}",
     "enable, disable, dump, stat, bg_threads_set_max, bg_threads_enable or bg_threads_disable", userver_parameters,
     ROUTE_SLOW, role_control, userver_command},
    {ROUTE_DIALECT_USERVER, "POST", "/service/jemalloc/prof/{command}/", NULL, NULL, ROUTE_SLOW, role_control,
     userver_command},
    {ROUTE_DIALECT_USERVER, "POST", "/service/jemalloc/prof/", NULL, NULL, 0, role_control, userver_command},
    {ROUTE_DIALECT_MESOS, "*", "/memory-profiler/start/*", "start a run; after the duration its dump is there",
     mesos_start_parameters, 0, role_control, mesos_start},
    {ROUTE_DIALECT_MESOS, "*", "/memory-profiler/stop/*", "end the run now", NULL, ROUTE_SLOW, role_control,
     mesos_stop},
    {ROUTE_DIALECT_MESOS, "*", "/memory-profiler/state/*", "the state of profiling and of the run", NULL, 0, role_read,
     mesos_state},
    {ROUTE_DIALECT_MESOS, "*", "/memory-profiler/statistics/*", "jemalloc's statistics as JSON", NULL, ROUTE_PRINTING,
     role_read, mesos_statistics},
    {ROUTE_DIALECT_MESOS, "*", "/memory-profiler/download/raw/*", "the latest run's dump", mesos_download_parameters,
     ROUTE_SLOW, role_read, mesos_download_raw},
    {ROUTE_DIALECT_MESOS, "*", "/memory-profiler/download/text/*", "the latest run as a table with names",
     mesos_download_parameters, ROUTE_SLOW, role_read, mesos_download_text},
    {ROUTE_DIALECT_MESOS, "*", "/memory-profiler/download/graph/*", "the latest run as a call graph, SVG",
     mesos_download_parameters, ROUTE_SLOW, role_read, mesos_download_graph},
    {ROUTE_DIALECT_PPROF, "GET|HEAD", "/debug/pprof/", "what there is", NULL, 0, role_read, pprof_index},
    {ROUTE_DIALECT_PPROF, "GET", "/debug/pprof/heap", "what is in use, as profile.proto", pprof_parameters,
     ROUTE_SLOW | ROUTE_WAITING, pprof_heap_role, pprof_heap},
    {ROUTE_DIALECT_PPROF, "GET", "/debug/pprof/allocs", "what was ever allocated, with prof_accum:true",
     pprof_parameters, ROUTE_SLOW | ROUTE_WAITING, pprof_heap_role, pprof_allocs},
    {ROUTE_DIALECT_PPROF, "GET", "/debug/pprof/delta_heap", "what changed since this was last asked for",
     pprof_delta_parameters, ROUTE_SLOW, role_control, pprof_delta_heap},
    {ROUTE_DIALECT_PPROF, "GET|HEAD|POST", "/debug/pprof/symbol",
     "names of addresses: 0xA+0xB as the body or the query", NULL, ROUTE_SLOW, role_read, pprof_symbol},
    {ROUTE_DIALECT_PPROF, "GET|HEAD", "/debug/pprof/cmdline", "the program's arguments, each with a NUL", NULL, 0,
     role_read, pprof_cmdline},
    {ROUTE_DIALECT_PPROF, "GET", "/pprof/heap", "a dump, for jeprof", NULL, ROUTE_SLOW, role_read, pprof_raw},
    {ROUTE_DIALECT_PPROF, "GET", "/pprof/growth", "the same: jemalloc has no other record of growth", NULL, ROUTE_SLOW,
     role_read, pprof_raw},
    {ROUTE_DIALECT_PPROF, "GET|HEAD|POST", "/pprof/symbol", "names of addresses: 0xA+0xB as the body or the query",
     NULL, ROUTE_SLOW, role_read, pprof_symbol},
    {ROUTE_DIALECT_PPROF, "GET|HEAD", "/pprof/cmdline", "the program's arguments, each with a NUL", NULL, 0, role_read,
     pprof_cmdline},

    {ROUTE_DIALECT_NATIVE, "GET|HEAD", TARGET, "who it is and how it is", NULL, 0, role_read, native_status},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", TARGET "/profiling", "whether it samples, since when, and the lease that runs",
     NULL, 0, role_read, native_profiling},
    {ROUTE_DIALECT_NATIVE, "PUT|POST", TARGET "/profiling", "switch sampling on or off, for a while or for good",
     profiling_parameters, 0, role_control, native_profiling_set},
    {ROUTE_DIALECT_NATIVE, "PUT|POST", TARGET "/profiling/leases/{lease}", "renew a lease", renew_parameters, 0,
     role_control, native_lease_renew},
    {ROUTE_DIALECT_NATIVE, "DELETE", TARGET "/profiling/leases/{lease}", "end a lease now", NULL, 0, role_control,
     native_lease_release},
    {ROUTE_DIALECT_NATIVE, "POST", TARGET "/reset", "forget all samples, and perhaps sample more or less often",
     reset_parameters, 0, role_control, native_reset},
    {ROUTE_DIALECT_NATIVE, "POST", TARGET "/purge", "return unused pages to the kernel", arena_parameters, 0,
     role_control, native_purge},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", TARGET "/decay", "after what time unused pages are returned", NULL, 0, role_read,
     native_decay},
    {ROUTE_DIALECT_NATIVE, "PUT", TARGET "/decay", "set that time, for arenas there are and to come", decay_parameters,
     0, role_control, native_decay_set},
    {ROUTE_DIALECT_NATIVE, "POST", TARGET "/decay", "return the pages whose time is over", arena_parameters, 0,
     role_control, native_decay_run},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", TARGET "/background-thread", "whether jemalloc's background threads run", NULL,
     0, role_read, native_threads},
    {ROUTE_DIALECT_NATIVE, "PUT|POST", TARGET "/background-thread", "start or end them", threads_parameters, 0,
     role_control, native_threads_set},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", TARGET "/controls/{control}", "read one of jemalloc's controls",
     control_parameters, 0, role_read, native_control},
    {ROUTE_DIALECT_NATIVE, "PUT|POST", TARGET "/controls/{control}", "write or run one of those that clients may write",
     control_set_parameters, 0, role_control, native_control_set},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", TARGET "/recordings", "recordings, newest first", NULL, 0, role_read,
     native_recordings},
    {ROUTE_DIALECT_NATIVE, "POST", TARGET "/recordings", "sample for a while; then its dump is there",
     recording_parameters, 0, role_control, native_recording_start},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", TARGET "/recordings/{recording}", "how far it is", NULL, 0, role_read,
     native_recording},
    {ROUTE_DIALECT_NATIVE, "DELETE", TARGET "/recordings/{recording}", "end it now, with its dump", NULL, ROUTE_SLOW,
     role_control, native_recording_stop},
    {ROUTE_DIALECT_NATIVE, "POST", TARGET "/recordings/{recording}/stop", "end it now, with its dump", NULL, ROUTE_SLOW,
     role_control, native_recording_stop},
    {ROUTE_DIALECT_NATIVE, "GET", TARGET "/recordings/{recording}/result", "its dump, or a report of it",
     report_query_parameters, ROUTE_SLOW, role_read, native_recording_result},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", TARGET "/dumps", "dumps that are kept, newest first", NULL, 0, role_read,
     native_dumps},
    {ROUTE_DIALECT_NATIVE, "POST", TARGET "/dumps", "take a dump and keep it", NULL, ROUTE_SLOW, role_control,
     native_dump_take},
    {ROUTE_DIALECT_NATIVE, "GET", TARGET "/dumps/{dump}",
     "a dump, or a report of it; 'now' takes one without keeping it, 'latest' is the newest one kept",
     report_query_parameters, ROUTE_SLOW, role_read, native_dump},
    {ROUTE_DIALECT_NATIVE, "GET", TARGET "/statistics", "jemalloc's statistics of now", statistics_parameters,
     ROUTE_PRINTING, role_read, native_statistics},
};

static const char *const libmtev_paths[] = {"/mtev/", NULL};
static const char *const userver_paths[] = {"/service/jemalloc/", NULL};
static const char *const mesos_paths[] = {"/memory-profiler", NULL};
static const char *const pprof_paths[] = {"/debug/pprof", "/pprof", NULL};
static const char *const native_paths[] = {"/", NULL};

static const Dialect dialects[] = {
    {ROUTE_DIALECT_LIBMTEV, "libmtev", libmtev_paths, libmtev_unknown, libmtev_unknown},
    {ROUTE_DIALECT_USERVER, "userver", userver_paths, userver_unknown, userver_wrong_method},
    {ROUTE_DIALECT_MESOS, "mesos", mesos_paths, mesos_unknown, mesos_unknown},
    {ROUTE_DIALECT_PPROF, "pprof", pprof_paths, pprof_unknown, pprof_wrong_method},
    {ROUTE_DIALECT_NATIVE, "native", native_paths, native_unknown, native_wrong_method},
};

/* Routes of which some requests have none of the row's flags. */
static const struct {
    void (*answer)(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
    bool (*is_quick)(const RouteRequest *request);
} quick[] = {
    {libmtev_heap_profile, libmtev_takes_no_dump},
    {userver_command, userver_is_quick},
    {pprof_symbol, pprof_names_nothing},
};

unsigned
routes_flags(const Route *route, const RouteRequest *request)
{
    for (size_t i = 0; i < sizeof quick / sizeof quick[0]; i++) {
        if (quick[i].answer == route->answer && quick[i].is_quick(request)) {
            return 0;
        }
    }
    return route->flags;
}

const Route *
routes_table(size_t *n)
{
    *n = sizeof rows / sizeof rows[0];
    return rows;
}

const Dialect *
dialects_table(size_t *n)
{
    *n = sizeof dialects / sizeof dialects[0];
    return dialects;
}

static bool
owns(const Dialect *dialect, const char *path)
{
    for (const char *const *prefix = dialect->paths; *prefix != NULL; prefix++) {
        if (strncasecmp(path, *prefix, strlen(*prefix)) == 0) {
            return true;
        }
    }
    return false;
}

const Dialect *
dialect_of(const Route *route, const RouteRequest *request)
{
    const Dialect *row = dialects;
    const Dialect *last = dialects + sizeof dialects / sizeof dialects[0] - 1;
    while (row < last && (route != NULL ? row->dialect != route->dialect : !owns(row, request->path))) {
        row++;
    }
    return row;
}
