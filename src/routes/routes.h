/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes: what an HTTP request about one target means, and its answer. A pure function from (method, path, query, body)
 * to (status, headers, body) over a RouteHost, the table of what can be done with the target. Two hosts exist: the
 * service's (over a Target, for `jescope serve`) and the library's (over the process it is linked into). So every
 * dialect, and the part of the native API that is about one target, exists once: here.
 *
 * This room uses libc only and never allocates from the heap, since the library runs it inside the program under study.
 * docs/decisions/0007-routes.md tells why it is a room of its own.
 *
 * Threads: routes hold no state. A host is used by one call at a time; whoever owns it sees to that.
 */
#ifndef JESCOPE_ROUTES_ROUTES_H
#define JESCOPE_ROUTES_ROUTES_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ROUTE_WHY_MAX = 512,   /* a sentence, with the NUL */
    ROUTE_BODY_MAX = 8192, /* a body held in the reply itself; longer ones are in a memfd */
    ROUTE_HEADERS_MAX = 1024,
    ROUTE_RECORDINGS_MAX = 32, /* that a host lists */
    ROUTE_DUMPS_MAX = 64,
};

/* ---- the host: one target, as functions ---- */

typedef enum {
    ROUTE_DONE = 0,
    ROUTE_CONTROL_FAILED, /* mallctl returned RouteFailure.error */
    ROUTE_NO_JEMALLOC,    /* the process is there, a jemalloc that serves malloc is not */
    ROUTE_NO_PROFILING,   /* built or started without: prof.* was not touched */
    ROUTE_NOT_ALLOWED,    /* this control may not be written (or read) */
    ROUTE_BUSY,           /* another lease or recording is running */
    ROUTE_CROWDED,        /* too many of these are under way: the same will do in a moment */
    ROUTE_NOT_FOUND,      /* no such recording, dump or format */
    ROUTE_INVALID,        /* a value that cannot be meant */
    ROUTE_GONE,           /* the target has ended */
    ROUTE_UNREACHABLE,    /* it is there and does not answer, or may not be talked to */
    ROUTE_SYSTEM,         /* errno in RouteFailure.error: no memory, no disk, no `jescope` to run */
} RouteResult;

/* Why something did not work: filled by every host function that does not return ROUTE_DONE. */
typedef struct {
    int error;
    char why[ROUTE_WHY_MAX]; /* one sentence that names the value and the way out; no full stop, no newline */
} RouteFailure;

typedef struct {
    uint64_t value;
    char text[WIRE_TEXT_MAX]; /* for WIRE_TYPE_STRING */
} RouteValue;

typedef enum {
    ROUTE_RECORDING_RUNNING,
    ROUTE_RECORDING_DONE,    /* its dump is there */
    ROUTE_RECORDING_DROPPED, /* somebody else switched profiling off meanwhile: no dump */
    ROUTE_RECORDING_FAILED,  /* the dump failed: failure tells why */
} RouteRecordingState;

/* Profiling switched on for a duration, ending in a dump. Times are CLOCK_REALTIME in milliseconds. */
typedef struct {
    uint64_t id;   /* seconds since 1970 at its start, made unique by counting up: what Mesos calls a run's id */
    uint64_t dump; /* id of its dump once DONE; 0 before */
    uint64_t begin_ms;
    uint64_t duration_ms;
    uint64_t remaining_ms; /* 0 once it ended */
    uint32_t state;        /* RouteRecordingState */
    RouteFailure failure;
} RouteRecording;

typedef struct {
    uint64_t id;
    uint64_t recording; /* 0: taken by itself */
    uint64_t taken_ms;
    uint64_t bytes;
} RouteDump;

/* A dump written in another form. */
typedef struct {
    const char *format;         /* a name of `jescope report --format` */
    const char *const *options; /* further arguments of `jescope report`, checked by the caller, NULL at the end */
    int dump;                   /* descriptors, at offset 0, that stay the caller's */
    int base;                   /* -1: none */
} RouteRendering;

/* Every function may block, bounded by deadlines of the host's own. Out-parameters are touched on ROUTE_DONE only. */
typedef struct {
    RouteResult (*hello)(void *host, WireHelloReply *hello, RouteFailure *failure);
    RouteResult (*read)(void *host, const char *control, WireType type, RouteValue *value, RouteFailure *failure);
    /* WIRE_TYPE_NONE runs an action. */
    RouteResult (*write)(void *host, const char *control, WireType type, uint64_t value, RouteFailure *failure);
    /* Returns a memfd at offset 0, the caller's to close, in *descriptor. */
    RouteResult (*stats)(void *host, const char *letters, int *descriptor, RouteFailure *failure);
    RouteResult (*dump)(void *host, int *descriptor, RouteFailure *failure);
    /* header and reserved fields of the request are not looked at. */
    RouteResult (*lease)(void *host, const WireLeaseRequest *request, WireLease *lease, RouteFailure *failure);
    /* A variable of the environment the target was started with; an empty text if it was not set. */
    RouteResult (*variable)(void *host, const char *name, char *text, size_t size, RouteFailure *failure);
    /* The program's arguments, each with its NUL, as /proc/PID/cmdline has them. */
    RouteResult (*cmdline)(void *host, char *text, size_t size, size_t *n, RouteFailure *failure);
    /* The memory map, as /proc/PID/maps has it, in a memfd. */
    RouteResult (*maps)(void *host, int *descriptor, RouteFailure *failure);

    /* ROUTE_BUSY if one of ours is running, or if prof.active is on already by somebody else's doing. */
    RouteResult (*recording_start)(void *host, uint64_t duration_ms, RouteRecording *recording, RouteFailure *failure);
    /* Ends it now: dump, prof.active as it was before. Ended already: as it is. */
    RouteResult (*recording_stop)(void *host, uint64_t id, RouteRecording *recording, RouteFailure *failure);
    /* Newest first. Returns how many (at most ROUTE_RECORDINGS_MAX). */
    size_t (*recordings)(void *host, RouteRecording *rows, size_t n);

    /* Takes a dump and keeps it. */
    RouteResult (*dump_take)(void *host, RouteDump *dump, RouteFailure *failure);
    size_t (*dumps)(void *host, RouteDump *rows, size_t n); /* newest first */
    /* Its modification time is when it was taken: symbols of younger files are not used. */
    RouteResult (*dump_open)(void *host, uint64_t id, int *descriptor, RouteFailure *failure);
    /* Keeps DUMP, a descriptor the host takes over whatever it returns, as the one the next difference of
     * /debug/pprof/delta_heap begins at; *previous is the one kept until now, the caller's to close; -1: none. */
    RouteResult (*delta)(void *host, int dump, int *previous, RouteFailure *failure);

    /* The rendered report in a memfd at offset 0. Never inside the target's own process: a child does it. */
    RouteResult (*render)(void *host, const RouteRendering *rendering, int *descriptor, RouteFailure *failure);

    /* Sleeps, while what others want of the target goes on. NULL where the calling thread may simply sleep. */
    void (*pause)(void *host, uint64_t ms);
} RouteHostOps;

typedef struct {
    const RouteHostOps *ops;
    void *data;         /* the first argument of each */
    const char *prefix; /* what the caller has cut off the path ("/targets/4711"), for addresses in replies; or NULL */
    const char *directory; /* what Mesos' /state calls tmp_dir and its downloads name; never opened by a route */
} RouteHost;

/* ---- requests and replies ---- */

typedef struct {
    const char *method; /* "GET" */
    const char *path;   /* decoded, without the query; begins with '/' */
    const char *query;  /* as it came, still encoded, without '?'; "" for none */
    const char *body;   /* not NULL; of a native request a form ("for=10s&active=true") that adds to the query */
    size_t body_size;
} RouteRequest;

typedef struct {
    unsigned status;
    const char *reason;              /* NULL: the usual phrase of the status */
    const char *content_type;        /* NULL: none is sent */
    char headers[ROUTE_HEADERS_MAX]; /* further lines "Name: value\r\n" */
    int descriptor;                  /* the body, from offset 0 on, the caller's to close; -1: it is in body */
    size_t body_size;                /* either way */
    char body[ROUTE_BODY_MAX];
} RouteReply;

typedef enum {
    ROUTE_ROLE_READ,    /* changes nothing */
    ROUTE_ROLE_CONTROL, /* changes the target's state; a dialect's GET may */
} RouteRole;

typedef enum {
    ROUTE_SLOW = 1u << 0,     /* takes a dump or renders: not on a thread that others wait for */
    ROUTE_PRINTING = 1u << 1, /* prints statistics: a moment, grows with the number of arenas */
    ROUTE_WAITING = 1u << 2,  /* slow, and sleeps as long as its parameter "seconds" asks for, at most 5 minutes */
} RouteFlag;

typedef enum {
    ROUTE_DIALECT_NATIVE = 1u << 0,
    ROUTE_DIALECT_LIBMTEV = 1u << 1,
    ROUTE_DIALECT_USERVER = 1u << 2,
    ROUTE_DIALECT_MESOS = 1u << 3,
    ROUTE_DIALECT_PPROF = 1u << 4,
} RouteDialect;

enum {
    ROUTE_DIALECT_ALL = 31,
};

/* A parameter of the query, for documentation and for the OpenAPI description. */
typedef struct {
    const char *name;
    const char *kind;  /* "duration", "size", "integer", "fraction", "boolean", "regex", "text", "id", or words with '|'
                          between them */
    const char *about; /* one phrase */
} RouteParameter;

/* One row of the route table. In a pattern "{name}" stands for one component that is not empty, and a "/" followed by
 * "*" at its end for any rest, none included. All else is literal, a slash at the end too. */
typedef struct {
    RouteDialect dialect;
    const char *methods; /* "GET|HEAD"; "*" for any */
    const char *pattern;
    const char *summary;              /* NULL: a row that documentation leaves out */
    const RouteParameter *parameters; /* ends with a NULL name; NULL: none */
    unsigned flags;                   /* RouteFlag, at most: routes_flags() tells those of one request */
    RouteRole (*role)(const RouteRequest *request);
    void (*answer)(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
} Route;

/* The whole table, *n rows: dispatch, docs/api.md and the OpenAPI description read it. */
const Route *routes_table(size_t *n);

typedef enum {
    ROUTE_MATCHED,
    ROUTE_UNKNOWN_PATH,
    ROUTE_WRONG_METHOD, /* of the paths that match, none has this method; *route is one of them */
} RouteMatch;

/* The set of RouteDialect that WORDS, "libmtev,mesos", "all" or "none", name; the native API is always among them.
 * False leaves *dialects untouched: a word is unknown. */
bool routes_parse_dialects(const char *words, unsigned *dialects);

/* Copies the {target} of a native path ("/api/v1/targets/{target}" and what is below). False: it has none, or it does
 * not fit. Routes themselves do not look at it: whoever calls them has chosen the host by it. */
bool routes_path_target(const char *path, char *target, size_t size);

/* Which row answers a request in one of DIALECTS (RouteDialect). What an unknown path or wrong method is answered
 * with is the dialect's affair too: routes_answer() does it. */
RouteMatch routes_find(const RouteRequest *request, unsigned dialects, const Route **route);

/* The RouteFlag of this request, which ROUTE answers. */
unsigned routes_flags(const Route *route, const RouteRequest *request);

/* Answers. *reply is overwritten in whole; its descriptor is the caller's to close. Never fails: an error is an answer
 * as well. Preserves errno. */
void routes_answer(const RouteHost *host, unsigned dialects, const RouteRequest *request, RouteReply *reply);

#endif
