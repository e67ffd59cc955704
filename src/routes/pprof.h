/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Go's and gperftools' pprof, and jeprof, ask of a server: /debug/pprof and /pprof. docs/dialects.md tells what
 * each answers with.
 */
#ifndef JESCOPE_ROUTES_PPROF_H
#define JESCOPE_ROUTES_PPROF_H

#include "routes/routes.h"

void pprof_index(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void pprof_heap(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void pprof_allocs(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void pprof_delta_heap(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void pprof_cmdline(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void pprof_symbol(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
bool pprof_names_nothing(const RouteRequest *request);
void pprof_raw(const RouteHost *host, const RouteRequest *request, RouteReply *reply);

/* A profile over some seconds may switch sampling on for them. */
RouteRole pprof_heap_role(const RouteRequest *request);

void pprof_unknown(const Route *route, const RouteRequest *request, RouteReply *reply);
void pprof_wrong_method(const Route *route, const RouteRequest *request, RouteReply *reply);

#endif
