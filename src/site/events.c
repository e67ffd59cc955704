/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/events: the service's events, as Server-Sent Events (WHATWG HTML, section 9.2). Each has the id of the
 * service's event; a client that reconnects with Last-Event-ID gets the missed events that are still kept, preceded by
 * an event "lost" if some are not. A client that does not read is disconnected.
 */
#include "site/site.h"
#include "site/table.h"

#include "routes/query.h"

#include <jansson.h>
#include <string.h>

enum {
    EVENTS_STREAMS_MAX = 256,
    EVENTS_STREAMS_FIRSTS = 64, /* more for peers that have none, one each */
    EVENTS_STREAMS_OF_PEER_MAX = 64,
    EVENTS_HEARTBEAT_SECONDS = 15,
    EVENTS_BACKLOG_MAX = 512 * 1024, /* maximum bytes queued for one client: more than all kept events */
};

typedef struct {
    Site *site;
    Exchange *exchange;
    Peer *peer;
    guint subscription;
    guint heartbeat;
    GString *waiting; /* NULL: there was too much, and the client is being disconnected */
} Stream;

/* Unused members are omitted. */
static char *
to_json(const ServiceEvent *event)
{
    g_autofree char *time = NULL;
    g_autoptr(GDateTime) moment = g_date_time_new_from_unix_utc(event->time_us / G_USEC_PER_SEC);
    g_autofree char *second = g_date_time_format(moment, "%Y-%m-%dT%H:%M:%S");
    time = g_strdup_printf("%s.%03dZ", second, (int)(event->time_us % G_USEC_PER_SEC / 1000));
    json_t *object = json_pack("{s:I, s:s, s:s, s:s*, s:s*, s:s*, s:s*, s:s*}", "id", (json_int_t)event->id, "time",
                               time, "type", service_event_name(event->type), "target", event->target, "unique",
                               event->unique, "label", event->label, "who", event->who, "detail", event->detail);
    if (event->subject != 0)
        json_object_set_new(object, "subject", json_integer((json_int_t)event->subject));
    char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(object);
    return text;
}

/* The text of EVENT, which is made once for all streams. */
static const GString *
text_of(Site *site, const ServiceEvent *event)
{
    if (site->event_text_id == event->id)
        return site->event_text;
    char *json = to_json(event);
    g_string_printf(site->event_text, "id: %" G_GUINT64_FORMAT "\nevent: %s\ndata: %s\n\n", event->id,
                    service_event_name(event->type), json);
    free(json);
    site->event_text_id = event->id;
    return site->event_text;
}

/* A client that does not read costs nothing more: its stream would end by itself only once it has read the rest. */
static void
add(Stream *stream, const char *text, gsize length)
{
    if (stream->waiting == NULL)
        return;
    if (stream->waiting->len + length <= EVENTS_BACKLOG_MAX) {
        g_string_append_len(stream->waiting, text, (gssize)length);
        exchange_wake(stream->exchange);
        return;
    }
    g_string_free(g_steal_pointer(&stream->waiting), TRUE);
    exchange_disconnect(stream->exchange);
}

static void
on_event(const ServiceEvent *event, gpointer data)
{
    Stream *stream = data;
    Viewer viewer = exchange_viewer(stream->exchange);
    if (viewer != VIEWER_ALL && viewer != (Viewer)event->user)
        return;
    const GString *text = text_of(stream->site, event);
    add(stream, text->str, text->len);
}

/* A comment: shows proxies and the server that the client still reads. */
static gboolean
on_heartbeat(gpointer data)
{
    Stream *stream = data;
    add(stream, ":\n\n", 3);
    return G_SOURCE_CONTINUE;
}

static gssize
read_stream(gpointer data, char *bytes, gsize size)
{
    Stream *stream = data;
    if (stream->waiting == NULL)
        return -1;
    gsize length = MIN(size, stream->waiting->len);
    if (length == 0) {
        exchange_pause(stream->exchange);
        return 0;
    }
    memcpy(bytes, stream->waiting->str, length);
    g_string_erase(stream->waiting, 0, (gssize)length);
    return (gssize)length;
}

static void
free_stream(gpointer data)
{
    Stream *stream = data;
    stream->site->streams--;
    --*peer_count(stream->peer, PEER_STREAMS);
    service_unsubscribe(stream->site->service, stream->subscription);
    g_source_remove(stream->heartbeat);
    if (stream->waiting != NULL)
        g_string_free(stream->waiting, TRUE);
    g_free(stream);
}

/* The id to continue after, from the header of a reconnecting client, or else from the parameter; FALSE: the client's
 * id is malformed. */
static gboolean
find_beginning(const Site *site, Exchange *exchange, guint64 *after)
{
    const char *last = exchange_header(exchange, "Last-Event-ID");
    QueryValue value;
    if (last == NULL && query_find(exchange_request(exchange)->query, "after", &value) != QUERY_ABSENT)
        last = value.text;
    *after = service_last_event(site->service);
    return last == NULL || g_ascii_string_to_unsigned(last, 10, 0, G_MAXUINT64, after, NULL);
}

static void
events_answer(Site *site, Exchange *exchange)
{
    guint64 after;
    if (!find_beginning(site, exchange, &after)) {
        exchange_fail(exchange, &(AnswerFailure){.status = 400,
                                                 .code = "bad_event_id",
                                                 .message = "invalid id of an event: not a number",
                                                 .hint = "send the id of the last event as it came"});
        return;
    }
    Peer *peer = exchange_peer(exchange);
    const guint open = *peer_count(peer, PEER_STREAMS);
    const gboolean own = open >= EVENTS_STREAMS_OF_PEER_MAX;
    const guint places = EVENTS_STREAMS_MAX + (open == 0 ? EVENTS_STREAMS_FIRSTS : 0);
    if (own || (site->streams >= places && !peer_is_ours(peer))) {
        exchange_fail(exchange, &(AnswerFailure){.status = 503,
                                                 .code = "too_many_streams",
                                                 .message = own ? "this peer has 64 event streams open already"
                                                                : "256 event streams are open already",
                                                 .hint = "close one of them"});
        return;
    }
    Stream *stream = g_new0(Stream, 1);
    stream->peer = peer;
    stream->site = site;
    stream->exchange = exchange;
    stream->waiting = g_string_new("retry: 2000\n\n");
    if (service_events_lost(site->service, after))
        g_string_append(stream->waiting, "event: lost\ndata: {}\n\n");
    stream->heartbeat = g_timeout_add_seconds(EVENTS_HEARTBEAT_SECONDS, on_heartbeat, stream);
    stream->subscription = service_subscribe(site->service, after, on_event, stream);
    site->streams++;
    ++*peer_count(stream->peer, PEER_STREAMS);
    AnswerStream source = {.read = read_stream, .free = free_stream, .data = stream};
    Answer *answer = answer_new_stream("text/event-stream", &source);
    exchange_answer(exchange, answer);
}

static const RouteParameter parameters[] = {
    {"after", "integer",
     "begin after the event of this id, with those that are still kept; 0: all (default: new ones only)"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/events", "event stream (SSE)", .parameters = parameters,
     .serve = events_answer},
};

const RouteTable events_routes = {rows, G_N_ELEMENTS(rows)};
