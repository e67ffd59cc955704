/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on targets: of each target one piece at a time, on the threads of two pools, quick and slow. Slow work that does
 * not need its target any more lets the next one begin (work_let_go()).
 */
#ifndef JESCOPE_SERVICE_WORK_H
#define JESCOPE_SERVICE_WORK_H

#include "service/core.h"

typedef struct Job Job;

/* Of one target; guarded by Service.lock. */
typedef struct {
    GQueue waiting[2]; /* of Job, by ServicePace */
    Job *holder;       /* the one that has the target */
    gboolean slow_turn;
    gboolean in_slow_waiting;
} Lane;

/* Makes the pools. */
gboolean work_start(Service *service, GError **error);

/* What has not begun will not be done; who waits for it is told SERVICE_ERROR_STOPPING. */
void work_drop_waiting(Service *service);

/* As the owner frees the service (Service.closed is set): nobody is told any more, and what is under way ends by
 * itself. */
void work_end(Service *service);

/* Whose work may be done while the service is stopping and when too much waits already, and comes before others'. */
ServiceTicket *work_submit_own(ServiceTarget *target, const ServiceWork *work, ServiceDone done, gpointer data);

/* Called by the work itself, on its thread: other work on the target may begin from now on. */
void work_let_go(Job *job);

/* Of JOB, for its host. */
ServiceTarget *work_target(const Job *job);
const char *work_who(const Job *job);

/* Pieces that wait or run, of all targets. */
guint work_left(Service *service);

#endif
