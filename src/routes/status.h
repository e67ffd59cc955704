/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a target: one document with the same keys in `jescope status --json`, `ps --json`, GET
 * /api/v1/targets/{target} and each element of the list of targets. docs/formats.md has the keys. Unknown values are
 * null.
 */
#ifndef JESCOPE_ROUTES_STATUS_H
#define JESCOPE_ROUTES_STATUS_H

#include "routes/routes.h"

struct Json;

/* Bytes; docs/metrics.md has the formulas. */
typedef enum {
    STATUS_HELD,
    STATUS_ALLOCATED,
    STATUS_ACTIVE,
    STATUS_METADATA,
    STATUS_RESIDENT,
    STATUS_MAPPED,
    STATUS_RETAINED,
    STATUS_RSS, /* from here on: of the process, from the kernel */
    STATUS_ANONYMOUS,
    STATUS_OUTSIDE,
    STATUS_FIGURES,
} StatusFigure;

#define STATUS_UNKNOWN UINT64_MAX

enum {
    STATUS_UNIQUE_MAX = 48,
    STATUS_URL_MAX = 128,
};

/* Times are CLOCK_REALTIME. Strings are owned by the caller; NULL, "" and 0 are unknown values unless noted. */
typedef struct RouteStatus {
    int64_t pid;
    uint32_t uid;
    const char *name;
    char unique[STATUS_UNIQUE_MAX]; /* "PID.STARTTICKS", unique since boot */
    const char *series;             /* its name in the history */
    const char *state;              /* "live" or "gone" */
    const char *reach;              /* "agent", "attach" or "unknown" */
    const char *user;               /* the name of the effective user */
    const char *arguments;          /* the command line, without secrets */
    const char *control_group;      /* "/system.slice/redis.service" */
    uint64_t started_ms;
    char trouble[FAILURE_WHY_MAX]; /* why the last exchange with it failed */
    uint64_t left_alone_ms;        /* time for which it is not queried, after trouble */
    char url[STATUS_URL_MAX];      /* of this document */
    bool has_hello;
    WireHelloReply hello;
    uint64_t sample_bytes;
    int threads_sampled; /* whether new threads are sampled; negative: unknown */
    bool is_recording;
    RouteRecording recording; /* the running one, if there is one */
    uint64_t sampled_ms;      /* when the figures were taken; 0: never */
    uint64_t figures[STATUS_FIGURES];
    char notice[FAILURE_WHY_MAX]; /* this jemalloc does not serve the main heap */
} RouteStatus;

/* "allocated" */
const char *status_figure_name(StatusFigure figure);

/* Sets all values to unknown. */
void status_init(RouteStatus *status);

/* Parses RouteStatus.unique. False: TEXT is not of this form. */
bool status_parse_unique(const char *text, int64_t *pid, uint64_t *start_ticks);

/* Copies HELLO, and from it the process, unless its pid is known: in its own PID namespace it may have another. */
void status_set_hello(RouteStatus *status, const WireHelloReply *hello);

/* Adds the members of STATUS to the open object of JSON; or those of "profiling" only. */
void status_add(struct Json *json, const RouteStatus *status);
void status_add_profiling(struct Json *json, const RouteStatus *status);

/* A reply whose body is STATUS. */
void status_reply(RouteReply *reply, const RouteStatus *status);

#endif
