/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP request and its reply as values: the interface between the transport (src/http/) and the routes. */
#ifndef JESCOPE_ROUTES_MESSAGE_H
#define JESCOPE_ROUTES_MESSAGE_H

#include <stddef.h>

enum {
    ROUTE_BODY_MAX = 8192, /* a body held in the reply itself; longer ones are in a memfd */
    ROUTE_HEADERS_MAX = 1024,
};

typedef struct {
    const char *method; /* "GET" */
    const char *path;   /* decoded, without the query; begins with '/' */
    const char *query;  /* undecoded, without '?'; "" for none */
    const char *body;   /* not NULL; for a native request a form ("for=10s&active=true") or a JSON object of scalars, in
                           addition to the query */
    size_t body_size;
} RouteRequest;

typedef struct {
    unsigned status;
    const char *reason;              /* NULL: the standard phrase of the status */
    const char *content_type;        /* NULL: none is sent */
    char headers[ROUTE_HEADERS_MAX]; /* further lines "Name: value\r\n" */
    int descriptor;                  /* the body from offset 0 on, to be closed by the caller; -1: it is in body */
    size_t body_size;                /* in both cases */
    char body[ROUTE_BODY_MAX];
} RouteReply;

typedef enum {
    ROUTE_ROLE_READ,    /* changes nothing */
    ROUTE_ROLE_CONTROL, /* changes the target's state; also by GET in some dialects */
} RouteRole;

#endif
