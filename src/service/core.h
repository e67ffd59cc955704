/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this room share: the service, and the way from its threads back to its main context.
 *
 * Locks, in the order in which they may be taken: Keep's, ServiceTarget.use, Service.lock, ServiceTarget.lock.
 */
#ifndef JESCOPE_SERVICE_CORE_H
#define JESCOPE_SERVICE_CORE_H

#include "service/events.h"
#include "service/keep.h"
#include "service/service.h"

typedef struct Registry Registry;
typedef struct Beat Beat;

struct Service {
    gatomicrefcount references; /* the owner's, and one of each target */
    GMainContext *context;
    ServiceOptions options; /* everything in it is the service's own, but for data */
    char **names;           /* options.targets */
    Keep *keep;

    /* Touched in the main context alone. */
    Registry *registry; /* NULL once the owner has freed it */
    Beat *beat;         /* as registry */
    Events *events;     /* as registry */
    void (*stopped)(gpointer data);
    gpointer stopped_data;
    GSource *stop_alarm;

    GMutex lock; /* of what follows, and of the lanes of targets (work.h) */
    GSource *mail;
    GQueue letters;
    GThreadPool *quick;
    GThreadPool *slow;
    GHashTable *unbegun; /* every Job that waits */
    guint slow_running;
    GQueue slow_waiting; /* targets whose slow work waits for a thread; each with a reference */
    guint renderings;
    GCond rendering_done;
    gboolean closed;
    gboolean stopping;
    gboolean write_failing; /* the history cannot be written */
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

/* As options.say, from any thread. */
void service_say(Service *service, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Of the options, from any thread. */
guint64 service_every_us(Service *service);
HistoryParts service_parts(Service *service);

/* Something that was waited for at a clean end may be over. In the main context. */
void service_check_stopped(Service *service);

#endif
