/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/events: what happens, as Server-Sent Events (WHATWG HTML, section 9.2). Each has the id of the service's
 * event; a client that comes back with Last-Event-ID gets what it missed as far as it is kept, and an event "lost"
 * before it if that is not all. A client that does not read is disconnected.
 */
#ifndef JESCOPE_HTTP_EVENTS_H
#define JESCOPE_HTTP_EVENTS_H

#include "http/site.h"

enum {
    EVENTS_STREAMS_MAX = 64,
    EVENTS_HEARTBEAT_SECONDS = 15,
    EVENTS_BACKLOG_MAX = 512 * 1024, /* bytes that may wait for one client: more than all events that are kept */
};

void events_answer(Site *site, Exchange *exchange);

/* EVENT as an object, newline included; what it is not about is left out. */
void events_append_json(GString *out, const ServiceEvent *event);

#endif
