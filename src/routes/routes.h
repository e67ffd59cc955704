/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes: HTTP requests about one target and their responses. A pure function from (method, path, query, body) to
 * (status, headers, body) over a RouteHost, the table of operations on the target. Two hosts exist: the service's (over
 * a Target, for `jescope serve`) and the library's (over the process it is linked into). So every dialect, and the part
 * of the native API that is about one target, exists once: here.
 *
 * This room uses libc only and never allocates from the heap, since the library runs it inside the program under study.
 * docs/decisions/0007-routes.md says why it is a room of its own.
 *
 * Threads: routes hold no state. A host is used by one call at a time, which its owner ensures.
 */
#ifndef JESCOPE_ROUTES_ROUTES_H
#define JESCOPE_ROUTES_ROUTES_H

#include "routes/message.h"

#include "wire/outcome.h"
#include "wire/sampler-choice.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    ROUTE_RECORDINGS_MAX = 32, /* in the list of a host */
    ROUTE_DUMPS_MAX = 64,
    ROUTE_DIRECTORY_MAX = 256,
};

/* ---- the host: one target, as functions ---- */

struct RouteStatus; /* routes/status.h */

typedef enum {
    ROUTE_RECORDING_RUNNING,
    ROUTE_RECORDING_DONE,    /* its dump exists */
    ROUTE_RECORDING_DROPPED, /* another client switched profiling off meanwhile: there is no dump */
    ROUTE_RECORDING_FAILED,  /* the dump failed: failure says why */
} RouteRecordingState;

/* Options of a dump; zeros: raw, within the host's limits. */
typedef struct {
    bool symbolized;     /* kept with the names of its functions, as the format "symbolized" */
    bool forced;         /* even if the target's memory control group may have no room for it */
    uint64_t output_max; /* its maximum size, without names; 0: the host's limit */
} RouteCapture;

/* Profiling switched on for a duration, ending in a dump. Times are CLOCK_REALTIME in milliseconds. */
typedef struct {
    uint64_t id;   /* seconds since 1970 at its start, incremented if taken: Mesos' id of a run */
    uint64_t dump; /* id of its dump once DONE; 0 before */
    uint64_t begin_ms;
    uint64_t duration_ms;
    uint64_t remaining_ms; /* 0 once it ended */
    uint32_t state;        /* RouteRecordingState */
    Failure failure;       /* of a recording that is DONE: why its dump has no names; empty otherwise */
} RouteRecording;

typedef struct {
    uint64_t duration_ms;
    SamplerChoice choice;
    RouteCapture capture;
} RouteRecordingRequest;

typedef struct {
    uint64_t id;
    uint64_t recording; /* 0: taken without a recording */
    uint64_t taken_ms;
    uint64_t bytes;
} RouteDump;

/* Renders a dump in another form. */
typedef struct {
    const char *format;         /* a name of `jescope report --format` */
    const char *const *options; /* further arguments of `jescope report`, checked by the caller, NULL at the end */
    int dump;                   /* descriptors, at offset 0, owned by the caller */
    int base;                   /* -1: none */
} RouteRendering;

/* Page JSON of a kept dump. */
typedef struct {
    const char *const *options; /* as RouteRendering.options */
    uint64_t dump;              /* ids */
    uint64_t base;              /* 0: none */
} RoutePage;

/* Files with the names that Mesos uses. */
typedef enum {
    ROUTE_FILE_DUMP,
    ROUTE_FILE_TEXT,
    ROUTE_FILE_GRAPH,
    ROUTE_N_FILES,
} RouteFile;

typedef struct {
    RouteFile file;
    uint64_t recording; /* its recording */
    int descriptor;     /* its content, from offset 0 on; owned by the caller; -1: nothing is to be written */
    char *directory;    /* of SIZE bytes: filled with the directory */
    size_t size;
} RoutePublication;

/* Every function may block, bounded by the host's own deadlines. Out-parameters are set on OUTCOME_DONE only. */
typedef struct {
    Outcome (*hello)(void *host, WireHelloReply *hello, Failure *failure);
    /* Sets text of *VALUE for WIRE_TYPE_STRING, value for the other types. */
    Outcome (*read)(void *host, const char *control, WireType type, WireCtlReply *value, Failure *failure);
    /* WIRE_TYPE_NONE runs an action. */
    Outcome (*write)(void *host, const char *control, WireType type, uint64_t value, Failure *failure);
    /* Returns a memfd at offset 0 in *descriptor, to be closed by the caller. */
    Outcome (*stats)(void *host, const char *letters, int *descriptor, Failure *failure);
    /* CAPTURE may be NULL, for zeros, here and below; symbolized is ignored here. */
    Outcome (*dump)(void *host, const RouteCapture *capture, int *descriptor, Failure *failure);
    /* Writes a dump to a new file of the program's, named as jemalloc names one by opt.prof_prefix. CONTROL_FAILED,
     * like jemalloc, if the file cannot be created. */
    Outcome (*dump_to_own_file)(void *host, Failure *failure);
    /* The header and reserved fields of the request are ignored. */
    Outcome (*lease)(void *host, const WireLeaseRequest *request, WireLease *lease, Failure *failure);
    /* The value that an environment variable had at the target's start; empty if it was not set. */
    Outcome (*variable)(void *host, const char *name, char *text, size_t size, Failure *failure);
    /* The program's arguments, each with its NUL; a server omits the values of secrets. */
    Outcome (*cmdline)(void *host, char *text, size_t size, size_t *n, Failure *failure);
    /* The memory map in a memfd, in the form of /proc/PID/maps. */
    Outcome (*maps)(void *host, int *descriptor, Failure *failure);

    /* OUTCOME_BUSY if a recording is running, or another client has switched profiling on. CAPTURE has the options of
     * its dump; one that cannot be symbolized is kept without names. */
    Outcome (*recording_start)(void *host, const RouteRecordingRequest *request, RouteRecording *recording,
                               Failure *failure);
    /* Ends the recording now, with a dump, and restores prof.active. No effect if it has ended. */
    Outcome (*recording_stop)(void *host, uint64_t id, RouteRecording *recording, Failure *failure);
    /* Newest first. Returns their number (at most ROUTE_RECORDINGS_MAX). */
    size_t (*recordings)(void *host, RouteRecording *rows, size_t n);

    /* Takes a dump and keeps it. */
    Outcome (*dump_take)(void *host, const RouteCapture *capture, RouteDump *dump, Failure *failure);
    size_t (*dumps)(void *host, RouteDump *rows, size_t n); /* newest first */
    /* The modification time of the file is when the dump was taken: symbols of younger files are not used. */
    Outcome (*dump_open)(void *host, uint64_t id, int *descriptor, Failure *failure);
    /* Opens a dump to compare with: one of this target, or of another one if the host permits it and ids are unique
     * across targets. NULL: like dump_open. */
    Outcome (*base_open)(void *host, uint64_t id, int *descriptor, Failure *failure);
    /* Opens the base of the next /debug/pprof/delta_heap, to be closed by the caller; *descriptor is -1 if there is
     * none, or none any more. */
    Outcome (*delta_open)(void *host, int *descriptor, Failure *failure);
    /* Keeps DUMP, a descriptor that the caller still owns, as this base, if there is room for it. */
    void (*delta_keep)(void *host, int dump);

    /* Returns the rendered report in a memfd at offset 0. Never renders inside the target's own process, but in a
     * child. */
    Outcome (*render)(void *host, const RouteRendering *rendering, int *descriptor, Failure *failure);

    /* The same with the format page of a kept dump, whose result the host may cache; NULL: it caches nothing.
     * OUTCOME_NOT_FOUND: one of the dumps is not kept (any more); failure says which. */
    Outcome (*page)(void *host, const RoutePage *page, int *descriptor, Failure *failure);

    /* Creates a file in a private directory of the host, unless it exists, and returns its directory to clients that
     * request it. OUTCOME_NOT_FOUND: it does not exist, and nothing was to be written. */
    Outcome (*publish)(void *host, const RoutePublication *what, Failure *failure);

    /* Fills in what is known without querying the target, except hello. NULL: nothing. */
    void (*status)(void *host, struct RouteStatus *status);

    /* Sleeps, while other requests for the target continue. NULL if the calling thread may sleep itself. */
    void (*pause)(void *host, uint64_t ms);
} RouteHostOps;

/* Additional permissions of a host. */
typedef enum {
    ROUTE_GRANT_SOURCE = 1u << 0, /* format=source: lines of the files that the program's debug information names */
} RouteGrant;

typedef struct {
    const RouteHostOps *ops;
    void *data;                  /* the first argument of each */
    unsigned grants;             /* RouteGrant */
    uint64_t sampler_memory_max; /* maximum memory that a request may set for jescope's own sampler; 0:
                                    WIRE_SAMPLER_MEMORY_DEFAULT */
    const char *prefix; /* the prefix that the caller has removed from the path ("/targets/4711"), percent-encoded, for
                           URLs in replies; or NULL */
} RouteHost;

#endif
