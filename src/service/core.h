/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of this directory: the service, and messages from its threads to its main context.
 *
 * Locks must be taken in this order: HistoryHold, live_begin_use(), Service.lock, live_lock().
 */
#ifndef JESCOPE_SERVICE_CORE_H
#define JESCOPE_SERVICE_CORE_H

#include "service/held-files.h"
#include "service/message-queue.h"
#include "service/message-shares.h"
#include "service/service.h"
#include "service/shared-history.h"
#include "service/sink.h"
#include "service/turns.h"

typedef struct Registry Registry;
typedef struct Collector Collector;
typedef struct Job Job;

/* Calls FUNC with the RouteHost of JOB's target. */
typedef gpointer (*WorkRunner)(Job *job, ServiceWorkFunc func, gpointer data);

/* A row of the table of sinks. */
typedef struct {
    const Sink *sink;
    gpointer state;
} SinkRow;

struct Service {
    gatomicrefcount references; /* one of the owner, and one of each target */
    GMainContext *context;
    ServiceOptions options; /* a copy owned by the service, except data */
    char **names;           /* options.targets */
    SharedHistory *history;
    MessageQueue *messages;
    MessageShares *lines;        /* of service_say_of() */
    MessageShares *event_shares; /* of live_emit() */
    HeldFiles *page_trees;
    HeldFiles *bases; /* service_target_unique() of a target -> the dump that its next difference is relative to */
    GArray *sinks;    /* of SinkRow */
    gint ticking;     /* atomic: a thread calls Sink.tick */

    /* The following are only used in the main context. */
    Registry *registry;   /* NULL once the owner has freed the service */
    Collector *collector; /* NULL once the owner has freed the service */
    void (*stopped)(gpointer data);
    gpointer stopped_data;
    GSource *stop_alarm;
    GSource *late_tick;
    GHashTable *patience;   /* scrape.c: uid -> Patience */
    GThreadPool *task_pool; /* tasks without a target: task.c */

    GMutex lock; /* guards the following members, and the lanes of targets (work.h) */
    WorkRunner run_job;
    GThreadPool *pools[SERVICE_PACES];
    Turns turns[SERVICE_PACES];
    GHashTable *unbegun; /* set of all waiting Jobs */
    GQueue slow;         /* of Job: the slow ones in progress */
    guint needed;        /* number of jobs and tasks that a clean shutdown waits for */
    Turns renderings;
    GQueue rendering;     /* of RenderingTurn (host.c): those that may wait for other peers only */
    GCond rendering_done; /* another one may begin */
    gboolean closed;
    gboolean stopping;
    ServiceFigures figures;
};

/* A reference that is dropped at the end of its scope; only the owner calls service_free(). */
typedef Service ServiceHold;
Service *service_ref(Service *service);
void service_unref(Service *service);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ServiceHold, service_unref)

/* Calls FUNC soon in the main context, unless the owner frees the service first. FREE_DATA (may be NULL) is always
 * called. Calls are made in the order of posting. May be called from any thread. */
void service_post(Service *service, GSourceFunc func, gpointer data, GDestroyNotify free_data);

/* A source in the main context that calls FUNC at its ready time, which the caller has to set. */
GSource *service_new_alarm(Service *service, GSourceFunc func, gpointer data);

/* Calls options.say; from any thread. */
void service_say(Service *service, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* The same for what processes of ACCOUNT cause, within its share (message-shares.h); what is left out is counted in the
 * next message. -1: what no user's processes do, but others can cause. */
void service_say_of(Service *service, uid_t account, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Calls options.failed; from any thread. */
void service_fail(Service *service, const GError *error);

/* Call the function of every sink, in the contexts that sink.h allows. service_hand_tick() does nothing while another
 * thread runs it. */
void service_hand_sample(Service *service, const CollectedSample *collected);
void service_hand_remark(Service *service, const CollectedRemark *remark);
void service_hand_event(Service *service, const ServiceEvent *event);
void service_hand_tick(Service *service);
void service_stop_sinks(Service *service);
void service_close_sinks(Service *service);

/* The state of SINK. */
gpointer service_sink_state(const Service *service, const Sink *sink);

/* Counts a sample that was due but not taken. */
void service_count_missed(Service *service);

/* A pool of N threads, all created in advance, which call FUNC for pushed items. */
GThreadPool *service_new_pool(GFunc func, guint n, GError **error);

/* service_start_tasks() creates THREADS threads for work without a target; service_offload() calls FUNC(DATA) on one of
 * them. */
gboolean service_start_tasks(Service *service, guint threads, GError **error);
void service_offload(Service *service, void (*func)(gpointer data), gpointer data);

/* Read the options; from any thread. */
guint64 service_every_us(Service *service);
HistoryParts service_parts(Service *service);

/* A clean shutdown waits between these two calls. The second is made in the main context. */
void service_begin_needed(Service *service);
void service_end_needed(Service *service);

/* Both call the function given to service_stop(), once, in the main context; service_check_stopped() only if there is
 * nothing left to wait for. */
void service_check_stopped(Service *service);
void service_notify_stopped(Service *service);

#endif
