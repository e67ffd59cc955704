/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this room share: the service, and the way from its threads back to its main context.
 *
 * Locks, in the order in which they may be taken: HistoryHold, live_begin_use(), Service.lock, live_lock().
 */
#ifndef JESCOPE_SERVICE_CORE_H
#define JESCOPE_SERVICE_CORE_H

#include "service/held-files.h"
#include "service/message-queue.h"
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
    gatomicrefcount references; /* the owner's, and one of each target */
    GMainContext *context;
    ServiceOptions options; /* everything in it is owned by the service, except data */
    char **names;           /* options.targets */
    SharedHistory *history;
    MessageQueue *messages;
    HeldFiles *page_trees;
    GArray *sinks; /* of SinkRow */
    gint ticking;  /* atomic: a thread calls Sink.tick */

    /* Touched in the main context alone. */
    Registry *registry;   /* NULL once the owner has freed it */
    Collector *collector; /* as registry */
    void (*stopped)(gpointer data);
    gpointer stopped_data;
    GSource *stop_alarm;
    GSource *late_tick;
    GHashTable *patience;   /* scrape.c: uid -> Patience */
    GThreadPool *task_pool; /* tasks without a target: task.c */

    GMutex lock; /* of the following members, and of the lanes of targets (work.h) */
    WorkRunner run_job;
    GThreadPool *pools[SERVICE_PACES];
    Turns turns[SERVICE_PACES];
    GHashTable *unbegun; /* every Job that waits */
    guint needed;        /* jobs and tasks that a clean end waits for */
    guint renderings;
    GHashTable *renderings_of; /* uid -> how many of its targets' */
    GCond rendering_done;
    gboolean closed;
    gboolean stopping;
    ServiceFigures figures;
};

/* service_free() is the owner's. */
typedef Service ServiceHold;
Service *service_ref(Service *service);
void service_unref(Service *service);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ServiceHold, service_unref)

/* Calls FUNC soon in the main context, unless the owner frees the service before. FREE_DATA (may be NULL) is called in
 * any case. In the order of the calls; from any thread. */
void service_post(Service *service, GSourceFunc func, gpointer data, GDestroyNotify free_data);

/* A source in the main context that calls FUNC at its ready time, which is not set yet. */
GSource *service_new_alarm(Service *service, GSourceFunc func, gpointer data);

/* As options.say, from any thread. */
void service_say(Service *service, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* As options.failed, from any thread. */
void service_fail(Service *service, const GError *error);

/* To every sink, where its functions may be called (sink.h). service_hand_tick() does nothing while another thread is
 * in it. */
void service_hand_sample(Service *service, const CollectedSample *collected);
void service_hand_remark(Service *service, const CollectedRemark *remark);
void service_hand_event(Service *service, const ServiceEvent *event);
void service_hand_tick(Service *service);
void service_stop_sinks(Service *service);
void service_close_sinks(Service *service);

/* The state of SINK. */
gpointer service_sink_state(const Service *service, const Sink *sink);

/* A sample that was due was not taken. */
void service_count_missed(Service *service);

/* N threads, all created in advance. Each calls FUNC for pushed items. */
GThreadPool *service_new_pool(GFunc func, guint n, GError **error);

/* Calls FUNC(DATA) on one of the THREADS that work for no target. */
gboolean service_start_tasks(Service *service, guint threads, GError **error);
void service_offload(Service *service, void (*func)(gpointer data), gpointer data);

/* Of the options, from any thread. */
guint64 service_every_us(Service *service);
HistoryParts service_parts(Service *service);

/* A clean end waits from the first call to the second, which is in the main context. */
void service_begin_needed(Service *service);
void service_end_needed(Service *service);

/* Calls what service_stop() was given, once; the first if nothing is waited for any more. In the main context. */
void service_check_stopped(Service *service);
void service_tell_stopped(Service *service);

#endif
