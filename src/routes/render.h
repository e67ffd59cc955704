/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports made by a child, so that no symbolizer and no layout engine ever runs in a host: `jescope report` with the
 * dump handed over as a descriptor and its output in a memfd.
 *
 * Safe in a program that has threads, handlers and children of its own. Nothing is allocated from its heap. The child
 * gets the five descriptors it needs and a short environment, no handlers, no blocked signals, limits on its time,
 * memory and output, and the least claim to the processor; it dies with the thread that waits for it. How it ended is
 * told by itself, through a pipe, since the host may ignore SIGCHLD or wait for whatever child comes along; a host with
 * a handler of SIGCHLD will see one.
 */
#ifndef JESCOPE_ROUTES_RENDER_H
#define JESCOPE_ROUTES_RENDER_H

#include "routes/routes.h"

#include <sys/types.h>

/* For a host that is the program `jescope` itself, even if that file has been replaced meanwhile. */
#define RENDER_SELF "/proc/self/exe"

/* The variable that names the descriptor at which the child leaves its exit status, one byte. */
#define RENDER_STATUS_VARIABLE "JESCOPE_STATUS_FD"

typedef struct {
    const char *program; /* the `jescope` to run; NULL: the one on PATH */
    const char *title;   /* what reports call the source, "redis-server (4711)"; NULL: nothing */
    pid_t pid;           /* of the process the dump is of, whose files have the names; 0: it is gone */
    unsigned seconds;    /* that it may take; 0: 120 */
    uint64_t bytes;      /* of address space it may have; 0: 4 GiB */
} RenderSetup;

/* As RouteHostOps.render. ROUTE_INVALID: an option's value is none; ROUTE_SYSTEM: all else. Thread safe. */
RouteResult render_report(const RenderSetup *setup, const RouteRendering *rendering, int *descriptor,
                          RouteFailure *failure);

#endif
