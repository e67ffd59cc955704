/* SPDX-License-Identifier: Apache-2.0 */
/* A host made of variables, for tests and fuzzing of routes: always the same answers to the same calls. */
#ifndef JESCOPE_TESTS_ROUTES_FAKE_HOST_H
#define JESCOPE_TESTS_ROUTES_FAKE_HOST_H

#include "routes/route.h"

enum { FAKE_DUMPS_MAX = 8, FAKE_RECORDINGS_MAX = 8 };

typedef struct {
    unsigned grants;   /* of fake_host */
    Outcome reachable; /* the result of every function about the target, unless OUTCOME_DONE */
    WireHelloReply hello;
    bool active, thread_active_init, prof_accum;
    Outcome write_result; /* of every write, with error and why */
    Outcome dump_result;
    Outcome render_result;
    Failure failure;         /* handed out with them */
    const char *environment; /* value of MALLOC_CONF */
    const char *profiling;   /* of LIBPROCESS_MEMORY_PROFILING */
    const char *dump;        /* bytes of every dump */

    RouteRecording recordings[FAKE_RECORDINGS_MAX]; /* newest first */
    size_t n_recordings;
    RouteDump dumps[FAKE_DUMPS_MAX]; /* newest first */
    size_t n_dumps;
    WireLease lease;
    int delta; /* -1: none */

    Outcome publish_result;
    uint64_t published[ROUTE_N_FILES]; /* recordings */
    size_t n_published;

    RouteCapture captured; /* how the last dump was to be taken, that of a recording too */
    SamplerChoice chosen;  /* of the last recording */
    uint32_t lease_flags;  /* of the last lease that was taken */

    char written[512];  /* every write: "control=value " */
    char rendered[768]; /* the last rendering: format, options, then "base" if there was one */
} FakeHost;

extern FakeHost fake;
extern RouteHost fake_host;

/* jemalloc 5.3.0 with prof:true, sampling off, nothing recorded. */
void fake_reset(void);
/* Ends the recording that runs. */
void fake_end_recording(RouteRecordingState state);

/* One request to fake_host in all dialects; the reply is valid until the next one. */
const RouteReply *fake_ask(const RouteRequest *request);
const RouteReply *fake_request(const char *method, const char *path, const char *query);
const RouteReply *fake_post(const char *path, const char *query, const char *body);
/* The body of the last reply, with a NUL. */
const char *fake_body(void);

#endif
