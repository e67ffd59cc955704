/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a call tree that a page can show: from one frame down, without frames narrower than a pixel. The omitted
 * frames are counted and summed up for each frame above them.
 */
#ifndef JESCOPE_REPORT_PAGE_GRAPH_H
#define JESCOPE_REPORT_PAGE_GRAPH_H

#include "report/page-frames.h"
#include "report/page-tree.h"

typedef struct {
    guint32 width, depth; /* ReportPage */
    guint64 zoom;         /* page_graph_key(); 0: from the root */
    guint32 rows_max;     /* with more rows, the minimum width increases */
} PageGraphOptions;

typedef struct PageGraph PageGraph;

/* Borrows both. */
PageGraph *page_graph_new(const PageTree *tree, const PageNames *names, const PageGraphOptions *options);
void page_graph_free(PageGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PageGraph, page_graph_free)

/* The key of a frame with the name HASH (PageName) called from the frame with the key CALLER (PAGE_GRAPH_ROOT: none).
 */
#define PAGE_GRAPH_ROOT G_GUINT64_CONSTANT(0xcbf29ce484222325)
guint64 page_graph_key(guint64 caller, guint64 hash);

/* "NAME": {...}: the rows as columns. */
void page_graph_write(const PageGraph *graph, const char *name, PageFrames *frames, Writer *writer);

#endif
