/* SPDX-License-Identifier: Apache-2.0 */
/* The latest events, and their subscribers. Used by one thread. */
#ifndef JESCOPE_SERVICE_EVENTS_H
#define JESCOPE_SERVICE_EVENTS_H

#include "service/service.h"

enum {
    EVENTS_KEPT = 1024,
};

typedef struct Events Events;

Events *events_new(void);
void events_free(Events *events);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Events, events_free)

/* Adds a copy of EVENT, with an id, and notifies the subscribers. Beyond EVENTS_KEPT, drops the oldest event of the
 * user whose targets have the most. */
void events_add(Events *events, const ServiceEvent *event);

/* These implement service_subscribe() and the related functions. */
guint events_subscribe(Events *events, guint64 after, ServiceEventFunc func, gpointer data);
void events_unsubscribe(Events *events, guint subscription);
guint64 events_last(const Events *events);
gboolean events_lost(const Events *events, guint64 after);

#endif
