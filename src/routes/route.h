/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes: its rows, and which of them answers a request. */
#ifndef JESCOPE_ROUTES_ROUTE_H
#define JESCOPE_ROUTES_ROUTE_H

#include "routes/routes.h"

typedef enum {
    ROUTE_SLOW = 1u << 0,     /* takes a dump or renders: not on a thread that others wait for */
    ROUTE_PRINTING = 1u << 1, /* prints statistics: a moment, grows with the number of arenas */
    ROUTE_WAITING = 1u << 2,  /* slow, and sleeps as long as its parameter "seconds" asks for, at most 5 minutes */
    ROUTE_OPEN = 1u << 3,     /* needs no token: shows nothing of a target; in src/site/ only */
    ROUTE_WATCHING = 1u << 4, /* takes as long as its parameter "for" asks for, and changes nothing */
} RouteFlag;

/* Their numbers. */
enum {
    ROUTE_NUMBER_NATIVE,
#define DIALECT(name, constant) ROUTE_NUMBER_##constant,
#include "routes/dialects.def"
#undef DIALECT
    ROUTE_N_DIALECTS,
};

/* A set of them. */
typedef enum {
    ROUTE_DIALECT_NATIVE = 1u << ROUTE_NUMBER_NATIVE,
#define DIALECT(name, constant) ROUTE_DIALECT_##constant = 1u << ROUTE_NUMBER_##constant,
#include "routes/dialects.def"
#undef DIALECT
    ROUTE_DIALECT_ALL = (1u << ROUTE_N_DIALECTS) - 1,
} RouteDialect;

/* A parameter of the query, for documentation and for the OpenAPI description. */
typedef struct {
    const char *name;
    const char *kind;  /* "duration", "size", "integer", "fraction", "boolean", "regex", "text", "id", "secret" (in a
                          body  alone), or words with '|' between them */
    const char *about; /* one phrase */
} RouteParameter;

struct Site;
struct Exchange;

/* One row of the route table. In a pattern "{name}" matches one non-empty component, and a "/" followed by "*" at its
 * end any rest, including none. Everything else is literal, including a slash at the end except in the native API. */
typedef struct {
    RouteDialect dialect;
    const char *methods; /* "GET|HEAD"; "*" for any */
    const char *pattern;
    const char *summary;                           /* one lower-case phrase; NULL: documentation leaves the row out */
    const RouteParameter *parameters;              /* ends with a NULL name; NULL: none */
    unsigned flags;                                /* RouteFlag, unless is_quick() */
    bool (*is_quick)(const RouteRequest *request); /* this request has none of the flags; NULL: none does */
    RouteRole role;
    RouteRole (*role_of)(const RouteRequest *request); /* NULL: every request needs ROLE */
    /* One of them: about a target, on any thread; or about the service as a whole, in src/site/ and there alone:
     * answers now or later (http/exchange.h), on the main loop, and must not block. */
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
    ROUTE_WRONG_METHOD, /* rows have this path, none of them this method */
} RouteState;

/* The result of the look-up of a request. */
typedef struct {
    RouteState state;
    const Route *route; /* NULL: unknown path */
    const RouteTable *const *tables;
    unsigned dialects; /* RouteDialect: in which it was looked for */
    unsigned flags;    /* RouteFlag of this request */
    RouteRole role;    /* that this request needs */
} RouteMatch;

/* The set of RouteDialect that WORDS, "libmtev,mesos", "all" or "none", name; the native API is always among them.
 * False leaves *dialects untouched: a word is unknown. */
bool routes_parse_dialects(const char *words, unsigned *dialects);

/* Copies the {target} of a native path ("/api/v1/targets/{target}" and what is below). False: it has none, or it does
 * not fit. Routes themselves do not look at it: their caller has chosen the host by it. */
bool routes_path_target(const char *path, char *target, size_t size);

/* Which row of TABLE answers REQUEST in one of DIALECTS (RouteDialect). */
RouteMatch routes_find(const RouteTable *const *tables, unsigned dialects, const RouteRequest *request);

/* Answers REQUEST, for which MATCH was found: by its row, which has answer(); or, where none matched, as the dialect of
 * the path does, without HOST. *reply is overwritten in whole; its descriptor is the caller's to close. Never fails: an
 * error is an answer as well. Preserves errno. */
void routes_answer(const RouteHost *host, const RouteMatch *match, const RouteRequest *request, RouteReply *reply);

#endif
