/* SPDX-License-Identifier: Apache-2.0 */
/* The data for answering requests: the service, and the server itself. For the server's thread. */
#ifndef JESCOPE_SITE_SITE_H
#define JESCOPE_SITE_SITE_H

#include "http/audit.h"
#include "http/guard.h"
#include "http/server.h"

#include "routes/route.h"
#include "service/service.h"
#include "service/turns.h"

typedef struct PendingTable PendingTable;
typedef struct SentFiles SentFiles;
typedef struct WebPage WebPage;

enum {
    SITE_WAITING_OF_PEER_MAX = 2, /* requests whose duration is a parameter (ROUTE_WAITING) */
    SITE_KEPT_OF_PEER_MAX = 2,    /* requests for files and for the black box's data */
    SITE_SCRAPES_MAX = 4,         /* answers to scrapes that are written at a time */
    SITE_SCRAPES_OF_PEER_MAX = 2,
};

/* Kinds of requests that are not about a target and take long. */
typedef enum {
    OFFLOAD_READ,   /* files, states of rules and the black box's records */
    OFFLOAD_REPORT, /* reports that a child makes */
    OFFLOAD_FLEET,  /* questions to the store */
    OFFLOAD_KINDS,
} OffloadKind;

/* The destination of queries of /api/v1/fleet; all owned. */
typedef struct {
    char *url; /* NULL: none */
    char *token_file, *ca_file;
} SiteStore;

typedef struct Site {
    Service *service;
    Server *server;
    GuardRules rules;                /* borrowed */
    const RouteTable *const *tables; /* all served routes: site_tables */
    unsigned dialects;               /* RouteDialect */
    unsigned grants;                 /* RouteGrant */
    guint64 sampler_memory_max;      /* as RouteHost.sampler_memory_max */
    char *userver_path;              /* as ServeOptions, owned; NULL: none */
    PendingTable *pending;           /* pending.h */
    guint streams;                   /* open event streams: events.c */
    GString *event_text;             /* of the event that was sent last, for every stream */
    guint64 event_text_id;           /* its id */
    Turns offloads[OFFLOAD_KINDS];   /* among peers: offload.h */
    Turns scrapes;                   /* among peers, for writing the answers of scrapes */
    SentFiles *sent;                 /* sent-files.h */
    SiteStore store;
    Audit *audit;
    Sessions *sessions; /* http/sessions.h */
    guint expiry;       /* source id: removes what has expired */
    WebPage *page;      /* web-page.h; NULL: built without it */
} Site;

/* The handler of a server for SITE. */
ServerHandler site_handler(Site *site);

#endif
