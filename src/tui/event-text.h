/* SPDX-License-Identifier: Apache-2.0 */
/* Describes events of targets. */
#ifndef JESCOPE_TUI_EVENT_TEXT_H
#define JESCOPE_TUI_EVENT_TEXT_H

#include <glib.h>

typedef struct {
    const char *type;   /* such as "profiling-on": service_event_name(), or a name from another jescope */
    guint64 subject;    /* number of the recording or dump; 0: none */
    const char *detail; /* a phrase; NULL or "": none */
    const char *who;    /* NULL or "": unknown */
} EventFacts;

/* "heap dump 3 was kept", "recording 2 ended: done (by alice)"... Newly allocated. */
char *event_text(const EventFacts *facts);

#endif
