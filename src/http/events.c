/* SPDX-License-Identifier: Apache-2.0 */
#include "http/events.h"

#include <jansson.h>
#include <string.h>

typedef struct {
    Site *site;
    Exchange *exchange;
    guint subscription;
    guint heartbeat;
    GString *waiting;
    gboolean over; /* too much of it */
} Stream;

void
events_append_json(GString *out, const ServiceEvent *event)
{
    g_autofree char *time = NULL;
    g_autoptr(GDateTime) moment = g_date_time_new_from_unix_utc(event->time_us / G_USEC_PER_SEC);
    g_autofree char *second = g_date_time_format(moment, "%Y-%m-%dT%H:%M:%S");
    time = g_strdup_printf("%s.%03dZ", second, (int)(event->time_us % G_USEC_PER_SEC / 1000));
    json_t *object = json_pack("{s:I, s:s, s:s, s:s*, s:s*, s:s*, s:s*}", "id", (json_int_t)event->id, "time", time,
                               "type", service_event_name(event->type), "target", event->target, "label", event->label,
                               "who", event->who, "detail", event->detail);
    if (event->subject != 0)
        json_object_set_new(object, "subject", json_integer((json_int_t)event->subject));
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    g_string_append(out, text);
    g_string_append_c(out, '\n');
    free(text);
}

static void
flush(Stream *stream)
{
    if (stream->waiting->len > EVENTS_BACKLOG_MAX)
        stream->over = TRUE;
    exchange_wake(stream->exchange);
}

static void
on_event(const ServiceEvent *event, gpointer data)
{
    Stream *stream = data;
    g_string_append_printf(stream->waiting, "id: %" G_GUINT64_FORMAT "\nevent: %s\ndata: ", event->id,
                           service_event_name(event->type));
    events_append_json(stream->waiting, event);
    g_string_append_c(stream->waiting, '\n');
    flush(stream);
}

/* A comment: keeps proxies and ourselves sure that somebody listens. */
static gboolean
on_heartbeat(gpointer data)
{
    Stream *stream = data;
    g_string_append(stream->waiting, ":\n\n");
    flush(stream);
    return G_SOURCE_CONTINUE;
}

static gssize
read_stream(gpointer data, char *bytes, gsize size)
{
    Stream *stream = data;
    gsize length = MIN(size, stream->waiting->len);
    if (stream->over)
        return -1;
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
    service_unsubscribe(stream->site->service, stream->subscription);
    g_source_remove(stream->heartbeat);
    g_string_free(stream->waiting, TRUE);
    g_free(stream);
}

/* The id after which to begin; FALSE: the client's is none. */
static gboolean
find_beginning(const Site *site, const Exchange *exchange, guint64 *after)
{
    const char *last = exchange_header(exchange, "Last-Event-ID");
    *after = service_last_event(site->service);
    return last == NULL || g_ascii_string_to_unsigned(last, 10, 0, G_MAXUINT64, after, NULL);
}

void
events_answer(Site *site, Exchange *exchange)
{
    guint64 after;
    if (!find_beginning(site, exchange, &after)) {
        exchange_fail(exchange, &(AnswerFailure){.status = 400,
                                                 .code = "bad_event_id",
                                                 .message = "Last-Event-ID is no number",
                                                 .hint = "send the id of the last event as it came"});
        return;
    }
    if (site->streams >= EVENTS_STREAMS_MAX) {
        exchange_fail(exchange, &(AnswerFailure){.status = 503,
                                                 .code = "too_many_streams",
                                                 .message = "64 clients listen to events already",
                                                 .hint = "close one of them"});
        return;
    }
    Stream *stream = g_new0(Stream, 1);
    stream->site = site;
    stream->exchange = exchange;
    stream->waiting = g_string_new("retry: 2000\n\n");
    if (service_events_lost(site->service, after))
        g_string_append(stream->waiting, "event: lost\ndata: {}\n\n");
    stream->heartbeat = g_timeout_add_seconds(EVENTS_HEARTBEAT_SECONDS, on_heartbeat, stream);
    stream->subscription = service_subscribe(site->service, after, on_event, stream);
    site->streams++;
    AnswerStream source = {.read = read_stream, .free = free_stream, .data = stream};
    Answer *answer = answer_new_stream("text/event-stream", &source);
    answer_add_header(answer, "Cache-Control", "no-cache");
    exchange_answer(exchange, answer);
}
