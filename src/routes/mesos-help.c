/* SPDX-License-Identifier: Apache-2.0 */
/* The help pages of libprocess, as plain text. */
#include "routes/mesos-help.h"

#include "routes/path.h"
#include "routes/reply.h"

#include <string.h>

enum {
    FIRST = 2, /* component of "/help/memory-profiler/start" after the actor's name */
    SECOND = 3,
    NAME_MAX_SIZE = 32,
};

static const struct {
    const char *name;
    const char *usage;
    const char *summary;
    const char *description;
} endpoints[] = {
    {"start", "/memory-profiler/start?duration=VALUE", "Starts collection of stack traces.",
     "Activates jemalloc's heap profiler for the duration, 5mins by default, from 1secs to 1days. Units are ns, us, "
     "ms, secs, mins, hrs, days and weeks. At the end a dump is taken, and profiling is switched off."},
    {"stop", "/memory-profiler/stop", "Stops memory profiling and dumps collected data.",
     "Ends the run before its time. Samples of earlier runs that are still live appear in the dump as well."},
    {"download/raw", "/memory-profiler/download/raw?id=VALUE", "Returns a raw memory profile.",
     "jemalloc's dump of the latest run that ended; an id must be that of this run. Needed while another run is under "
     "way."},
    {"download/text", "/memory-profiler/download/text?id=VALUE", "Returns a symbolized memory profile.",
     "The latest run as a table of functions."},
    {"download/graph", "/memory-profiler/download/graph?id=VALUE", "Returns a graph visualizing memory allocations.",
     "The latest run as a call graph, SVG."},
    {"statistics", "/memory-profiler/statistics", "Shows memory allocation statistics.",
     "jemalloc's statistics as JSON."},
    {"state", "/memory-profiler/state", "Shows the configuration of the memory-profiler process.",
     "Whether jemalloc was found, how it was started, the current run, and the directory with the files of the latest "
     "one."},
};

static const size_t n_endpoints = sizeof(endpoints) / sizeof(endpoints[0]);

static void
list_endpoints(RouteReply *reply)
{
    reply_text(reply, 200, REPLY_UTF8, "Endpoints of memory-profiler:\n\n");
    for (size_t i = 0; i < n_endpoints; i++)
        reply_print(reply, "%s\n    %s\n", endpoints[i].usage, endpoints[i].summary);
    reply_print(reply, "\nSee also /help/memory-profiler/ENDPOINT.\n");
}

bool
mesos_help_write(const RouteRequest *request, RouteReply *reply)
{
    char name[NAME_MAX_SIZE] = "";
    char rest[NAME_MAX_SIZE] = "";
    path_component(request->path, FIRST, name, sizeof(name) / 2);
    if (path_component(request->path, SECOND, rest, sizeof(rest) / 2))
        strcat(strcat(name, "/"), rest);
    for (size_t i = 0; i < n_endpoints; i++) {
        if (strcmp(endpoints[i].name, name) == 0) {
            reply_text(reply, 200, REPLY_UTF8, "USAGE\n    %s\n\nTL;DR\n    %s\n\nDESCRIPTION\n    %s\n",
                       endpoints[i].usage, endpoints[i].summary, endpoints[i].description);
            return true;
        }
    }
    if (name[0] == '\0')
        list_endpoints(reply);
    return name[0] == '\0';
}
