/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses Server-Sent Events (WHATWG HTML, section 9.2) from the bytes of a stream as they arrive. Their sender is not
 * trusted: lines and events are bounded, and a longer one ends the parsing.
 */
#ifndef JESCOPE_CLIENT_EVENT_STREAM_H
#define JESCOPE_CLIENT_EVENT_STREAM_H

#include <glib.h>

enum {
    EVENT_STREAM_MAX = 64 * 1024, /* bytes of a line, and of the data of an event */
};

typedef struct EventStream EventStream;

/* NAME is "message" if the event has none. DATA ends with a NUL and may contain any bytes. */
typedef void (*EventStreamFunc)(const char *name, const char *data, gpointer user);

EventStream *event_stream_new(EventStreamFunc func, gpointer user);
void event_stream_free(EventStream *stream);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EventStream, event_stream_free)

/* Calls FUNC for each complete event. FALSE: a line or event is too long; nothing more is read. */
gboolean event_stream_feed(EventStream *stream, const char *bytes, gsize length);

#endif
