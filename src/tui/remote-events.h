/* SPDX-License-Identifier: Apache-2.0 */
/* The event stream of another jescope, read on a thread of its own and reconnected when it is lost. The server is not
 * trusted: if events arrive faster than they are shown, only the latest are kept. */
#ifndef JESCOPE_TUI_REMOTE_EVENTS_H
#define JESCOPE_TUI_REMOTE_EVENTS_H

#include "client/exchange.h"
#include "tui/feed.h"

typedef struct RemoteEvents RemoteEvents;

/* Takes ownership of CONNECTION. FEED's sink receives the events in the caller's main context, until
 * remote_events_free(). */
RemoteEvents *remote_events_new(Connection *connection, const Feed *feed);

/* Returns at once; the thread ends within about a second. NULL is ignored. */
void remote_events_free(RemoteEvents *events);

#endif
