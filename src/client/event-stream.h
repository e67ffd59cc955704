/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-Sent Events (WHATWG HTML, section 9.2) out of the bytes of a stream, as they come. Their sender is not
 * trusted: lines and events are bounded, and a longer one ends the reading.
 */
#ifndef JESCOPE_CLIENT_EVENT_STREAM_H
#define JESCOPE_CLIENT_EVENT_STREAM_H

#include <glib.h>

enum {
    EVENT_STREAM_MAX = 64 * 1024, /* bytes of a line, and of the data of an event */
};

typedef struct EventStream EventStream;

/* NAME is "message" if the event has none. DATA ends with a NUL and may be any bytes otherwise. */
typedef void (*EventStreamFunc)(const char *name, const char *data, gpointer user);

EventStream *event_stream_new(EventStreamFunc func, gpointer user);
void event_stream_free(EventStream *stream);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EventStream, event_stream_free)

/* FUNC is called for each event that is complete. FALSE: it is too long; nothing more is read. */
gboolean event_stream_feed(EventStream *stream, const char *bytes, gsize length);

#endif
