/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP request and the reply to it, as values: all that the transport (src/http/) and the routes share. */
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
    const char *body;   /* not NULL; of a native request a form ("for=10s&active=true") or a JSON object of scalars
                          that adds to the query */
    size_t body_size;
} RouteRequest;

typedef struct {
    unsigned status;
    const char *reason;              /* NULL: the usual phrase of the status */
    const char *content_type;        /* NULL: none is sent */
    char headers[ROUTE_HEADERS_MAX]; /* further lines "Name: value\r\n" */
    int descriptor;                  /* the body, from offset 0 on, the caller's to close; -1: it is in body */
    size_t body_size;                /* either way */
    char body[ROUTE_BODY_MAX];
} RouteReply;

typedef enum {
    ROUTE_ROLE_READ,    /* changes nothing */
    ROUTE_ROLE_CONTROL, /* changes the target's state; a dialect's GET may */
} RouteRole;

#endif
