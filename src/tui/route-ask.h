/* SPDX-License-Identifier: Apache-2.0 */
/* A native API request about one target, answered in this process by the routes, for any RouteHost. */
#ifndef JESCOPE_TUI_ROUTE_ASK_H
#define JESCOPE_TUI_ROUTE_ASK_H

#include "routes/route.h"

#include <glib.h>

typedef struct RouteAsk RouteAsk;

/* METHOD on PATH, including the query, below "/api/v1/targets/TARGET". */
RouteAsk *route_ask_new(const char *target, const char *method, const char *path);
void route_ask_free(gpointer ask);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RouteAsk, route_ask_free)

/* Whether the answer may take long. */
gboolean route_ask_is_slow(const RouteAsk *ask);

/* Returns the body of the answer; an error is a document, too. NULL with ERROR if it cannot be read. */
char *route_ask_answer(const RouteAsk *ask, const RouteHost *host, GError **error);

#endif
