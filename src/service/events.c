/* SPDX-License-Identifier: Apache-2.0 */
#include "service/events.h"

#include <string.h>

typedef struct {
    guint number;
    ServiceEventFunc func; /* NULL: unsubscribed while events were told */
    gpointer data;
} Subscriber;

struct Events {
    ServiceEvent *ring[EVENTS_KEPT]; /* by id modulo its size */
    guint64 last;
    GPtrArray *subscribers;
    guint last_number;
    guint telling; /* how deep */
};

static const char *const names[SERVICE_EVENT_COUNT] = {
    [SERVICE_EVENT_TARGET_CAME] = "target-came",
    [SERVICE_EVENT_TARGET_GONE] = "target-gone",
    [SERVICE_EVENT_PROFILING_ON] = "profiling-on",
    [SERVICE_EVENT_PROFILING_OFF] = "profiling-off",
    [SERVICE_EVENT_CONTROL] = "control",
    [SERVICE_EVENT_RECORDING_STARTED] = "recording-started",
    [SERVICE_EVENT_RECORDING_ENDED] = "recording-ended",
    [SERVICE_EVENT_DUMP] = "dump",
    [SERVICE_EVENT_ADVICE] = "advice",
    [SERVICE_EVENT_ADVICE_OFF] = "advice-off",
};

const char *
service_event_name(ServiceEventType type)
{
    return names[type];
}

static ServiceEvent *
copy_event(const ServiceEvent *event)
{
    ServiceEvent *copy = g_memdup2(event, sizeof(*event));
    copy->target = g_strdup(event->target);
    copy->label = g_strdup(event->label);
    copy->who = g_strdup(event->who);
    copy->detail = g_strdup(event->detail);
    return copy;
}

static void
free_event(ServiceEvent *event)
{
    if (event == NULL)
        return;
    g_free((gpointer)(guintptr)event->target);
    g_free((gpointer)(guintptr)event->label);
    g_free((gpointer)(guintptr)event->who);
    g_free((gpointer)(guintptr)event->detail);
    g_free(event);
}

Events *
events_new(void)
{
    Events *events = g_new0(Events, 1);
    events->subscribers = g_ptr_array_new_with_free_func(g_free);
    return events;
}

void
events_free(Events *events)
{
    if (events == NULL)
        return;
    for (guint i = 0; i < EVENTS_KEPT; i++)
        free_event(events->ring[i]);
    g_ptr_array_unref(events->subscribers);
    g_free(events);
}

static void
forget_unsubscribed(Events *events)
{
    for (guint i = events->subscribers->len; i-- > 0;)
        if (((const Subscriber *)events->subscribers->pdata[i])->func == NULL)
            g_ptr_array_remove_index(events->subscribers, i);
}

/* Who subscribes meanwhile is not told: service_subscribe() did it. */
static void
tell(Events *events, const ServiceEvent *event)
{
    guint count = events->subscribers->len;
    events->telling++;
    for (guint i = 0; i < count; i++) {
        const Subscriber *subscriber = events->subscribers->pdata[i];
        if (subscriber->func != NULL)
            subscriber->func(event, subscriber->data);
    }
    if (--events->telling == 0)
        forget_unsubscribed(events);
}

void
events_add(Events *events, const ServiceEvent *event)
{
    ServiceEvent *copy = copy_event(event);
    copy->id = ++events->last;
    ServiceEvent **place = &events->ring[copy->id % EVENTS_KEPT];
    free_event(*place);
    *place = copy;
    tell(events, copy);
}

guint
events_subscribe(Events *events, guint64 after, ServiceEventFunc func, gpointer data)
{
    Subscriber *subscriber = g_new0(Subscriber, 1);
    guint number = subscriber->number = ++events->last_number;
    subscriber->func = func;
    subscriber->data = data;
    guint64 first = events->last >= EVENTS_KEPT ? events->last - EVENTS_KEPT + 1 : 1;
    g_ptr_array_add(events->subscribers, subscriber);
    events->telling++;
    for (guint64 id = MAX(first, after < events->last ? after + 1 : G_MAXUINT64);
         id <= events->last && subscriber->func != NULL; id++)
        func(events->ring[id % EVENTS_KEPT], data);
    if (--events->telling == 0)
        forget_unsubscribed(events);
    return number;
}

void
events_unsubscribe(Events *events, guint subscription)
{
    for (guint i = 0; i < events->subscribers->len; i++) {
        Subscriber *subscriber = events->subscribers->pdata[i];
        if (subscriber->number == subscription)
            subscriber->func = NULL;
    }
    if (events->telling == 0)
        forget_unsubscribed(events);
}

guint64
events_last(const Events *events)
{
    return events->last;
}

gboolean
events_lost(const Events *events, guint64 after)
{
    return events->last > EVENTS_KEPT && after < events->last - EVENTS_KEPT;
}
