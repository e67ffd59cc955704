/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/remote-events.h"

#include "client/document.h"
#include "client/event-stream.h"
#include "tui/event-text.h"

#include <string.h>

enum {
    WAITING_MAX = 256,  /* maximum number of events waiting for the main loop */
    SILENCE_MS = 60000, /* four intervals of the server's keep-alive comments */
    LOST_S = 2,         /* seconds before reconnecting a lost stream */
    REFUSED_S = 30,     /* seconds before retrying a refused stream */
    HTTP_OK = 200,
    HTTP_NOT_FOUND = 404, /* from a program with libjescope, which has no events */
};

typedef struct {
    gint64 time_us;
    char *target;
    char *text;
} Waiting;

struct RemoteEvents {
    gatomicrefcount references; /* one of the thread, one of the feed */
    Connection *connection;     /* used by the thread */
    GMainContext *context;
    const Feed *feed; /* used in the main context; NULL: freed */
    GMutex lock;
    GCond changed;
    gboolean is_over;   /* guarded by lock, like the next two */
    GQueue waiting;     /* of Waiting, oldest first */
    gboolean is_coming; /* a source that delivers them is attached */
    /* The latest event received; used by the thread. A restarted server counts from 1 again. */
    gint64 latest_us;
    gint64 latest_id;
};

static void
free_waiting(gpointer data)
{
    Waiting *waiting = data;
    g_free(waiting->target);
    g_free(waiting->text);
    g_free(waiting);
}

static RemoteEvents *
events_ref(RemoteEvents *events)
{
    g_atomic_ref_count_inc(&events->references);
    return events;
}

static void
events_unref(gpointer data)
{
    RemoteEvents *events = data;
    if (!g_atomic_ref_count_dec(&events->references))
        return;
    connection_free(events->connection);
    g_main_context_unref(events->context);
    g_queue_clear_full(&events->waiting, free_waiting);
    g_mutex_clear(&events->lock);
    g_cond_clear(&events->changed);
    g_free(events);
}

/* ---- the main loop ---- */

static gboolean
hand_over(gpointer data)
{
    RemoteEvents *events = data;
    GQueue taken = G_QUEUE_INIT;
    g_mutex_lock(&events->lock);
    taken = events->waiting;
    g_queue_init(&events->waiting);
    events->is_coming = FALSE;
    g_mutex_unlock(&events->lock);
    const FeedSink *sink = events->feed != NULL ? &events->feed->sink : NULL;
    for (const GList *link = taken.head; link != NULL; link = link->next) {
        const Waiting *event = link->data;
        if (sink != NULL && sink->event != NULL)
            sink->event(&(FeedEvent){event->time_us, event->target, event->text}, sink->data);
    }
    g_queue_clear_full(&taken, free_waiting);
    return G_SOURCE_REMOVE;
}

/* ---- the thread ---- */

/* Takes ownership of EVENT. */
static void
add(RemoteEvents *events, Waiting *event)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&events->lock);
    g_queue_push_tail(&events->waiting, event);
    if (events->waiting.length > WAITING_MAX)
        free_waiting(g_queue_pop_head(&events->waiting));
    if (events->is_coming)
        return;
    events->is_coming = TRUE;
    g_autoptr(GSource) source = g_idle_source_new();
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, hand_over, events_ref(events), events_unref);
    g_source_attach(source, events->context);
}

/* FALSE for known events: a stream begins with all events that the server still has. */
static gboolean
is_new(RemoteEvents *events, gint64 time_us, gint64 id)
{
    if (time_us < events->latest_us || (time_us == events->latest_us && id <= events->latest_id))
        return FALSE;
    events->latest_us = time_us;
    events->latest_id = id;
    return TRUE;
}

static gint64
time_of(const char *text)
{
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text, utc);
    return time != NULL ? g_date_time_to_unix(time) * G_USEC_PER_SEC + g_date_time_get_microsecond(time) : 0;
}

static void
on_event(const char *name, const char *data, gpointer user)
{
    enum { WORD = 128, PHRASE = 512 };
    RemoteEvents *events = user;
    char type[WORD], time[WORD], target[WORD], who[WORD], detail[PHRASE];
    json_t *document = document_parse(data, strlen(data), NULL);
    document_text(document, "type", type, sizeof(type));
    document_text(document, "time", time, sizeof(time));
    document_text(document, "unique", target, sizeof(target));
    document_text(document, "who", who, sizeof(who));
    document_text(document, "detail", detail, sizeof(detail));
    gint64 id = json_integer_value(json_object_get(document, "id"));
    gint64 subject = json_integer_value(json_object_get(document, "subject"));
    json_decref(document);
    gint64 time_us = time_of(time);
    if (type[0] == '\0' || target[0] == '\0' || !is_new(events, time_us, id))
        return;
    const EventFacts facts = {type, (guint64)MAX(subject, 0), detail, who};
    Waiting *event = g_new(Waiting, 1);
    *event = (Waiting){time_us, g_strdup(target), event_text(&facts)};
    add(events, event);
}

static gboolean
is_wanted(RemoteEvents *events)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&events->lock);
    return !events->is_over;
}

typedef struct {
    RemoteEvents *events;
    EventStream *stream;
} Reading;

static gboolean
take(const char *bytes, gsize length, gpointer data)
{
    return event_stream_feed(((const Reading *)data)->stream, bytes, length);
}

static gboolean
may_continue(gpointer data)
{
    return is_wanted(((const Reading *)data)->events);
}

static void
rest(RemoteEvents *events, guint seconds)
{
    gint64 until = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&events->lock);
    while (!events->is_over && g_cond_wait_until(&events->changed, &events->lock, until))
        continue;
}

static gpointer
run(gpointer data)
{
    RemoteEvents *events = data;
    while (is_wanted(events)) {
        g_autoptr(EventStream) stream = event_stream_new(on_event, events);
        Reading reading = {events, stream};
        const ExchangeStream wanted = {take, may_continue, &reading};
        long status = connection_follow(events->connection, "/api/v1/events?after=0", SILENCE_MS, &wanted);
        if (status == HTTP_NOT_FOUND)
            break;
        rest(events, status == 0 || status == HTTP_OK ? LOST_S : REFUSED_S);
    }
    events_unref(events);
    return NULL;
}

RemoteEvents *
remote_events_new(Connection *connection, const Feed *feed)
{
    RemoteEvents *events = g_new0(RemoteEvents, 1);
    g_atomic_ref_count_init(&events->references);
    events->connection = connection;
    events->context = g_main_context_ref_thread_default();
    events->feed = feed;
    g_mutex_init(&events->lock);
    g_cond_init(&events->changed);
    g_queue_init(&events->waiting);
    GThread *thread = g_thread_try_new("events", run, events_ref(events), NULL);
    if (thread != NULL)
        g_thread_unref(thread);
    else
        events_unref(events); /* there are no events */
    return events;
}

void
remote_events_free(RemoteEvents *events)
{
    if (events == NULL)
        return;
    g_mutex_lock(&events->lock);
    events->is_over = TRUE;
    g_cond_signal(&events->changed);
    g_mutex_unlock(&events->lock);
    events->feed = NULL;
    events_unref(events);
}
