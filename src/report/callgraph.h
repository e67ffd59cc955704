/* SPDX-License-Identifier: Apache-2.0 */
/* The call graph: the heaviest nodes and the calls between them. An edge between two nodes is indirect if nodes between
 * them were omitted. */
#ifndef JESCOPE_REPORT_CALLGRAPH_H
#define JESCOPE_REPORT_CALLGRAPH_H

#include "report/table.h"

typedef struct {
    guint32 caller, callee;             /* of the view */
    ProfileWeight weight[VIEW_N_SIDES]; /* a stack counts once per edge */
    gboolean indirect;                  /* in at least one stack, and direct in none */
} CallEdge;

typedef struct {
    GArray *rows;  /* TableRow, by cumulative weight; only kept nodes */
    GArray *edges; /* CallEdge, heaviest first */
} CallGraph;

/* Keeps options' limit of nodes (default 80) above min_fraction (0.005) and edges above edge_fraction (0.001), as
 * jeprof. */
CallGraph *callgraph_new(const View *view, const ReportOptions *options);
void callgraph_free(CallGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CallGraph, callgraph_free)

#endif
