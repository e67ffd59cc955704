/* SPDX-License-Identifier: Apache-2.0 */
/* What a request is answered from: the service, and the server itself. For the server's thread. */
#ifndef JESCOPE_HTTP_SITE_H
#define JESCOPE_HTTP_SITE_H

#include "http/guard.h"
#include "http/server.h"

#include "service/service.h"

typedef struct Flights Flights;

enum {
    SITE_SLEEPERS_MAX = 2, /* each keeps a thread of the service's four for dumps and reports */
};

typedef struct {
    Service *service;
    Server *server;
    GuardRules rules;  /* borrowed */
    unsigned dialects; /* RouteDialect */
    Flights *flights;  /* flights.h */
    guint streams;     /* that are open: events.h */
    guint sleepers;    /* requests under way whose answer takes as long as they say (ROUTE_WAITING) */
    /* What the operator should know: every change, who made it, and what came of it. */
    void (*say)(const char *text, gpointer data);
    gpointer data;
} Site;

/* The handler of a server whose requests are answered from SITE. */
ServerHandler site_handler(Site *site);

#endif
