/* SPDX-License-Identifier: Apache-2.0 */
#include "client/event-stream.h"

#include <string.h>

struct EventStream {
    EventStreamFunc func;
    gpointer user;
    GString *line; /* so far */
    GString *name;
    GString *data;      /* each of its lines with a newline */
    gboolean has_data;  /* distinguishes empty data from none */
    gboolean after_cr;  /* a following newline belongs to the same line end */
    gboolean is_failed; /* too long */
};

EventStream *
event_stream_new(EventStreamFunc func, gpointer user)
{
    EventStream *stream = g_new0(EventStream, 1);
    stream->func = func;
    stream->user = user;
    stream->line = g_string_new(NULL);
    stream->name = g_string_new(NULL);
    stream->data = g_string_new(NULL);
    return stream;
}

void
event_stream_free(EventStream *stream)
{
    if (stream == NULL)
        return;
    g_string_free(stream->line, TRUE);
    g_string_free(stream->name, TRUE);
    g_string_free(stream->data, TRUE);
    g_free(stream);
}

static void
dispatch(EventStream *stream)
{
    if (stream->has_data) {
        g_string_truncate(stream->data, stream->data->len - 1);
        stream->func(stream->name->len > 0 ? stream->name->str : "message", stream->data->str, stream->user);
    }
    g_string_truncate(stream->name, 0);
    g_string_truncate(stream->data, 0);
    stream->has_data = FALSE;
}

static gboolean
is_field(const GString *line, gsize length, const char *name)
{
    return length == strlen(name) && memcmp(line->str, name, length) == 0;
}

/* "field: value"; other fields than these, and comments, are skipped. */
static void
take_line(EventStream *stream)
{
    const GString *line = stream->line;
    const char *colon = memchr(line->str, ':', line->len);
    gsize length = colon != NULL ? (gsize)(colon - line->str) : line->len;
    gsize at = MIN(length + 1, line->len);
    at += at < line->len && line->str[at] == ' ';
    if (line->len == 0) {
        dispatch(stream);
    } else if (is_field(line, length, "event")) {
        g_string_truncate(stream->name, 0);
        g_string_append_len(stream->name, line->str + at, (gssize)(line->len - at));
    } else if (is_field(line, length, "data")) {
        g_string_append_len(stream->data, line->str + at, (gssize)(line->len - at));
        g_string_append_c(stream->data, '\n');
        stream->has_data = TRUE;
    }
}

static void
take_byte(EventStream *stream, char byte)
{
    gboolean ends = byte == '\n' || byte == '\r';
    gboolean same_end = byte == '\n' && stream->after_cr;
    stream->after_cr = byte == '\r';
    if (!ends)
        g_string_append_c(stream->line, byte);
    else if (!same_end) {
        take_line(stream);
        g_string_truncate(stream->line, 0);
    }
    stream->is_failed = stream->line->len > EVENT_STREAM_MAX || stream->data->len > EVENT_STREAM_MAX;
}

gboolean
event_stream_feed(EventStream *stream, const char *bytes, gsize length)
{
    for (gsize i = 0; i < length && !stream->is_failed; i++)
        take_byte(stream, bytes[i]);
    return !stream->is_failed;
}
