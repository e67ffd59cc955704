/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs on targets, one at a time per target, on pools of threads, one per ServicePace, which the users that targets run
 * as share fairly (turns.h), and of slow work, the peers that ask for it. A slow job that no longer needs its target
 * lets the next one begin (work_release()).
 */
#ifndef JESCOPE_SERVICE_WORK_H
#define JESCOPE_SERVICE_WORK_H

#include "service/core.h"

/* Creates the pools, whose threads call RUN for each job. */
gboolean work_start(Service *service, WorkRunner run, GError **error);

/* Makes queued jobs fail with OUTCOME_STOPPING. */
void work_drop_waiting(Service *service);

/* To be called when the owner frees the service (Service.closed is set): no more callbacks; jobs in progress end by
 * themselves. */
void work_end(Service *service);

/* Submits work with precedence, which is also accepted while the service is stopping or the queue is full. */
ServiceTicket *work_submit_own(ServiceTarget *target, const ServiceWork *work, ServiceDone done, gpointer data);

/* Called by a job on its thread: other work on the target may begin from now on. */
void work_release(Job *job);

/* The target and client of JOB, for its host. */
ServiceTarget *work_target(const Job *job);
const char *work_who(const Job *job);
guint64 work_peer(const Job *job);

/* Whether its request overrides checks of the room in the target's groups (headroom.h). On its thread. */
void work_set_forced(Job *job, gboolean forced);
gboolean work_is_forced(const Job *job);

/* Whether WHAT, of which JOB is about to tell, differs from what it told last. On its thread. */
gboolean work_is_first(Job *job, const char *what);

#endif
