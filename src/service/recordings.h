/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of one target. While one runs, profiling is on by a lease of the agent (LEASE_MS), so that it ends soon
 * after jescope does, however jescope ends; timers in the main context renew it and end the recording in time.
 *
 * Somebody else who switches profiling off meanwhile wins: the recording is dropped, and no dump is taken. If it cannot
 * be told at the end whether profiling is on, or it cannot be switched off, the recording goes on for another 5 s.
 */
#ifndef JESCOPE_SERVICE_RECORDINGS_H
#define JESCOPE_SERVICE_RECORDINGS_H

#include "service/core.h"

/* Of one target; guarded by ServiceTarget.lock. */
typedef struct {
    gboolean running; /* latest is running */
    gboolean has_latest;
    gboolean busy; /* it is being started or ended */
    RouteRecording latest;
    char *who;
    guint64 lease;   /* 0: it runs without, since somebody else has switched profiling on for good */
    gboolean stuck;  /* at its end jemalloc would not switch profiling off; of who has busy */
    gint64 ends_us;  /* monotonic */
    gint64 began_us; /* monotonic */
    guint64 last_id;
    GSource *timer;
} Recordings;

typedef struct Job Job;

/* As the functions of RouteHostOps; on JOB's thread. */
RouteResult recordings_start(Job *job, guint64 duration_ms, RouteRecording *recording, RouteFailure *failure);
RouteResult recordings_stop(Job *job, guint64 id, RouteRecording *recording, RouteFailure *failure);
gsize recordings_list(ServiceTarget *target, RouteRecording *rows, gsize n);

/* In the main context: ends what runs, as the service ends or TARGET has ended. */
void recordings_end(ServiceTarget *target);

/* The target is about to be forgotten. */
void recordings_clear(Recordings *recordings);

#endif
