/* SPDX-License-Identifier: Apache-2.0 */
/* A question to the native API about one target, answered in this program: by the routes, over whatever host there is.
 */
#ifndef JESCOPE_TUI_ROUTE_ASK_H
#define JESCOPE_TUI_ROUTE_ASK_H

#include "routes/route.h"

#include <glib.h>

typedef struct RouteAsk RouteAsk;

/* METHOD on PATH, with its query, below "/api/v1/targets/TARGET". */
RouteAsk *route_ask_new(const char *target, const char *method, const char *path);
void route_ask_free(gpointer ask);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RouteAsk, route_ask_free)

/* Whether its answer takes long. */
gboolean route_ask_is_slow(const RouteAsk *ask);

/* The body of the answer, a document also where it is an error. NULL with ERROR: it cannot be read. */
char *route_ask_answer(const RouteAsk *ask, const RouteHost *host, GError **error);

#endif
