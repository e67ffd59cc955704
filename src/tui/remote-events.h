/* SPDX-License-Identifier: Apache-2.0 */
/* The events of another jescope's targets: its event stream, read on a thread of its own as long as it lasts and begun
 * again when it is lost. The server is not trusted: of what comes faster than it is shown, the latest is kept. */
#ifndef JESCOPE_TUI_REMOTE_EVENTS_H
#define JESCOPE_TUI_REMOTE_EVENTS_H

#include "client/exchange.h"
#include "tui/feed.h"

typedef struct RemoteEvents RemoteEvents;

/* Takes CONNECTION. FEED's sink gets the events in the main context of the caller, until remote_events_free(). */
RemoteEvents *remote_events_new(Connection *connection, const Feed *feed);

/* The thread ends later, within a second or so. NULL: does nothing. */
void remote_events_free(RemoteEvents *events);

#endif
