/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call tree of one value, compact enough to be stored: consecutive frames without a branch, and without a stack that
 * ends between them, are one run. All arrays are plain numbers, so that a file can contain them.
 */
#ifndef JESCOPE_REPORT_PAGE_TREE_H
#define JESCOPE_REPORT_PAGE_TREE_H

#include "report/calltree.h"

/* Runs are numbered depth first, the heaviest child first. Run 0 is the root, which has no frame. */
typedef struct {
    guint32 first, n; /* its frames, into PageTree.labels, outermost first */
    guint32 parent;   /* run; PROFILE_NONE for the root */
    guint32 after;    /* the first run that is not below it */
    guint32 depth;    /* of its last frame; 0 for the root */
    guint32 below;    /* frames below its last one that hold some of the value */
    guint32 end;      /* of the stacks that end at its last frame; PROFILE_NONE: none does */
    guint32 reserved;
} PageRun;

typedef struct {
    gdouble total, variance;
} PageWeight;

/* Per run including everything below, or per end for the stacks that end there. */
typedef struct {
    guint n_sides;
    guint32 n_labels, n_runs, n_ends;
    const guint32 *labels; /* nodes of the view */
    const PageRun *runs;
    const PageWeight *sides[VIEW_N_SIDES], *ends[VIEW_N_SIDES];
    const gdouble *others, *end_others; /* of value_other(), now */
    const gdouble *extents;             /* the larger side of each stack, summed up; NULL without a base */
} PageTree;

PageTree *page_tree_new(const CallTree *tree, ProfileValue value);
void page_tree_free(PageTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PageTree, page_tree_free)

/* Whether its arrays, for N_NAMES nodes, are consistent; for untrusted bytes. */
gboolean page_tree_is_sound(const PageTree *tree, guint32 n_names);

/* The width of a run. */
gdouble page_tree_extent(const PageTree *tree, guint32 run);

/* The weight of the stacks that end at the last frame of RUN; zeros if none does, or the side does not exist. */
PageWeight page_tree_self(const PageTree *tree, guint32 run, ViewSide side);

/* The runs (guint32) at which non-empty stacks end, in a difference those that changed; the largest first. */
GArray *page_tree_heaviest(const PageTree *tree);

#endif
