/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/table.h"

#include "routes/libmtev.h"
#include "routes/mesos.h"
#include "routes/native.h"
#include "routes/userver.h"

#include <string.h>

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
};

static const char *const libmtev_paths[] = {"/mtev/", NULL};
static const char *const userver_paths[] = {"/service/jemalloc/", NULL};
static const char *const mesos_paths[] = {"/memory-profiler", NULL};
static const char *const native_paths[] = {"/", NULL};

static const Dialect dialects[] = {
    {ROUTE_DIALECT_LIBMTEV, "libmtev", libmtev_paths, libmtev_unknown, libmtev_unknown},
    {ROUTE_DIALECT_USERVER, "userver", userver_paths, userver_unknown, userver_wrong_method},
    {ROUTE_DIALECT_MESOS, "mesos", mesos_paths, mesos_unknown, mesos_unknown},
    {ROUTE_DIALECT_NATIVE, "native", native_paths, native_unknown, native_wrong_method},
};

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
        if (strncmp(path, *prefix, strlen(*prefix)) == 0) {
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
