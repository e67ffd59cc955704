/* SPDX-License-Identifier: Apache-2.0 */
#include "service/events.h"

#include "service/sink.h"

#include <string.h>

typedef struct {
    guint number;
    ServiceEventFunc func; /* NULL: unsubscribed during notification */
    gpointer data;
} Subscriber;

struct Events {
    GQueue kept;        /* of ServiceEvent, in order of id */
    GHashTable *counts; /* account -> number of kept events of its targets */
    guint64 last;
    guint64 last_lost; /* id of the newest event that was dropped; 0: none */
    GPtrArray *subscribers;
    guint last_number;
    guint telling; /* nesting depth of notifications */
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
    [SERVICE_EVENT_ENDED] = "ended",
    [SERVICE_EVENT_RULE_FIRED] = "rule-fired",
    [SERVICE_EVENT_RULE_DONE] = "rule-done",
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
    copy->unique = g_strdup(event->unique);
    copy->label = g_strdup(event->label);
    copy->who = g_strdup(event->who);
    copy->detail = g_strdup(event->detail);
    return copy;
}

static void
free_event(gpointer data)
{
    ServiceEvent *event = data;
    g_free((gpointer)(guintptr)event->target);
    g_free((gpointer)(guintptr)event->unique);
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
    events->counts = g_hash_table_new(NULL, NULL);
    g_queue_init(&events->kept);
    return events;
}

void
events_free(Events *events)
{
    if (events == NULL)
        return;
    g_queue_clear_full(&events->kept, free_event);
    g_hash_table_unref(events->counts);
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

/* Notifies subscribers, except new ones, which service_subscribe() has notified. */
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

static guint
count_of(const Events *events, uid_t account)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(events->counts, GUINT_TO_POINTER(account)));
}

static void
count(Events *events, uid_t account, int change)
{
    guint now = count_of(events, account) + (guint)change;
    if (now > 0)
        g_hash_table_insert(events->counts, GUINT_TO_POINTER(account), GUINT_TO_POINTER(now));
    else
        g_hash_table_remove(events->counts, GUINT_TO_POINTER(account));
}

static guint
most_of_one_user(const Events *events)
{
    GHashTableIter iter;
    gpointer n;
    guint most = 0;
    g_hash_table_iter_init(&iter, events->counts);
    while (g_hash_table_iter_next(&iter, NULL, &n))
        most = MAX(most, GPOINTER_TO_UINT(n));
    return most;
}

/* Drops the oldest event of the user whose targets have the most, so that one user's cannot evict another's. */
static void
forget_one(Events *events)
{
    guint most = most_of_one_user(events);
    GList *link = events->kept.head;
    while (count_of(events, ((const ServiceEvent *)link->data)->account) < most)
        link = link->next;
    ServiceEvent *event = link->data;
    events->last_lost = MAX(events->last_lost, event->id);
    count(events, event->account, -1);
    g_queue_delete_link(&events->kept, link);
    free_event(event);
}

void
events_add(Events *events, const ServiceEvent *event)
{
    ServiceEvent *copy = copy_event(event);
    copy->id = ++events->last;
    g_queue_push_tail(&events->kept, copy);
    count(events, copy->account, 1);
    if (events->kept.length > EVENTS_KEPT)
        forget_one(events);
    tell(events, copy);
}

guint
events_subscribe(Events *events, guint64 after, ServiceEventFunc func, gpointer data)
{
    Subscriber *subscriber = g_new0(Subscriber, 1);
    guint number = subscriber->number = ++events->last_number;
    subscriber->func = func;
    subscriber->data = data;
    g_ptr_array_add(events->subscribers, subscriber);
    events->telling++;
    for (const GList *link = events->kept.head; link != NULL && subscriber->func != NULL; link = link->next)
        if (((const ServiceEvent *)link->data)->id > after)
            func(link->data, data);
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
    return after < events->last_lost;
}

static gpointer
new_state(Service *service)
{
    return events_new();
}

static void
free_state(gpointer state)
{
    events_free(state);
}

static void
on_event(gpointer state, const ServiceEvent *event)
{
    events_add(state, event);
}

const Sink event_sink = {.new = new_state, .free = free_state, .event = on_event};
