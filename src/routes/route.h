/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes: its rows, and the lookup of the row for a request. */
#ifndef JESCOPE_ROUTES_ROUTE_H
#define JESCOPE_ROUTES_ROUTE_H

#include "routes/routes.h"

typedef enum {
    ROUTE_SLOW = 1u << 0,     /* takes a dump or renders: must not run on a thread that others wait for */
    ROUTE_PRINTING = 1u << 1, /* prints statistics: short, but grows with the number of arenas */
    ROUTE_WAITING = 1u << 2,  /* slow, and sleeps for its parameter "seconds", at most 5 minutes */
    ROUTE_OPEN = 1u << 3,     /* needs no token: shows nothing about a target; in src/site/ only */
    ROUTE_WATCHING = 1u << 4, /* takes as long as its parameter "for", and changes nothing */
} RouteFlag;

/* The index of each dialect. */
enum {
    ROUTE_NUMBER_NATIVE,
#define DIALECT(name, constant) ROUTE_NUMBER_##constant,
#include "routes/dialects.def"
#undef DIALECT
    ROUTE_N_DIALECTS,
};

/* A set of dialects. */
typedef enum {
    ROUTE_DIALECT_NATIVE = 1u << ROUTE_NUMBER_NATIVE,
#define DIALECT(name, constant) ROUTE_DIALECT_##constant = 1u << ROUTE_NUMBER_##constant,
#include "routes/dialects.def"
#undef DIALECT
    ROUTE_DIALECT_ALL = (1u << ROUTE_N_DIALECTS) - 1,
} RouteDialect;

/* A query parameter, for the documentation and the OpenAPI description. */
typedef struct {
    const char *name;
    const char *kind;  /* "duration", "size", "integer", "fraction", "boolean", "regex", "text", "id", "secret" (in a
                          body only), or words separated by '|' */
    const char *about; /* one phrase */
} RouteParameter;

struct Site;
struct Exchange;

/* One row of the route table. In a pattern "{name}" matches one non-empty component, and a final "/" followed by "*"
 * any rest, including none. Everything else is literal, including a trailing slash except in the native API. */
typedef struct {
    RouteDialect dialect;
    const char *methods; /* "GET|HEAD"; "*" for any */
    const char *pattern;
    const char *summary;                           /* one lower-case phrase; NULL: the documentation omits the row */
    const RouteParameter *parameters;              /* ends with a NULL name; NULL: none */
    unsigned flags;                                /* RouteFlag, unless is_quick() */
    bool (*is_quick)(const RouteRequest *request); /* whether this request has none of the flags; NULL: none has */
    RouteRole role;
    RouteRole (*role_of)(const RouteRequest *request); /* NULL: every request needs ROLE */
    /* One of these. About a target, on any thread; or about the service as a whole, in src/site/ only: answers now or
     * later (http/exchange.h), on the main loop, and must not block. */
    void (*answer)(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
    void (*serve)(struct Site *site, struct Exchange *exchange);
} Route;

typedef struct {
    const Route *rows;
    size_t n;
} RouteTable;

/* The rows about a target, NULL at the end. `jescope serve` has these and those about the service, site_tables, from
 * which docs/api.md and the OpenAPI description are made. */
extern const RouteTable *const routes_tables[];

typedef enum {
    ROUTE_MATCHED,
    ROUTE_UNKNOWN_PATH,
    ROUTE_WRONG_METHOD, /* rows have this path, but none has this method */
} RouteState;

/* The result of the look-up of a request. */
typedef struct {
    RouteState state;
    const Route *route; /* NULL: unknown path */
    const RouteTable *const *tables;
    unsigned dialects; /* RouteDialect: the searched ones */
    unsigned flags;    /* RouteFlag of this request */
    RouteRole role;    /* required by this request */
} RouteMatch;

/* The set of RouteDialect given by WORDS, "libmtev,mesos", "all" or "none"; it always includes the native API. False
 * leaves *dialects untouched: a word is unknown. */
bool routes_parse_dialects(const char *words, unsigned *dialects);

/* Copies the {target} of a native path ("/api/v1/targets/{target}" and below). False: it has none, or it does not fit.
 * Routes ignore it: the caller has chosen the host by it. */
bool routes_path_target(const char *path, char *target, size_t size);

/* The row of TABLE that answers REQUEST in one of DIALECTS (RouteDialect). */
RouteMatch routes_find(const RouteTable *const *tables, unsigned dialects, const RouteRequest *request);

/* Answers REQUEST, for which MATCH was found: by its row, which has answer(); or, if none matched, as the dialect of
 * the path does, without HOST. *reply is overwritten; the caller closes its descriptor. Never fails: an error is an
 * answer as well. Preserves errno. */
void routes_answer(const RouteHost *host, const RouteMatch *match, const RouteRequest *request, RouteReply *reply);

#endif
