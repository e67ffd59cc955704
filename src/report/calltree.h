/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call tree: equal stacks merged, callers above callees (or the other way round). Children of a node are sorted by
 * weight, heaviest first (a difference: by the larger side), ties by name.
 */
#ifndef JESCOPE_REPORT_CALLTREE_H
#define JESCOPE_REPORT_CALLTREE_H

#include "report/view.h"

typedef enum {
    CALLTREE_TOP_DOWN,  /* from the outermost caller to the allocation */
    CALLTREE_BOTTOM_UP, /* from the allocation to its callers */
} CallTreeOrder;

typedef struct {
    guint32 node;                      /* of the view; PROFILE_NONE for the root */
    guint32 parent;                    /* index into the tree, PROFILE_NONE for the root */
    guint32 first_child, next_sibling; /* PROFILE_NONE: none */
    guint32 depth;                     /* 0 for the root */
} CallNode;

typedef struct {
    const View *view;
    GArray *nodes;                      /* CallNode; [0] is the root; a parent comes before its children */
    ProfileWeight *self[VIEW_N_SIDES];  /* one per node: of stacks that end here; base is NULL without one */
    ProfileWeight *total[VIEW_N_SIDES]; /* with everything below */
} CallTree;

CallTree *calltree_new(const View *view, CallTreeOrder order, ProfileValue value);
void calltree_free(CallTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CallTree, calltree_free)

const CallNode *calltree_node(const CallTree *tree, guint32 index);

/* Depth first, children in their order; PROFILE_NONE after the last. */
guint32 calltree_next(const CallTree *tree, guint32 index);

/* A weight of one side; zero without that side. */
gdouble calltree_total(const CallTree *tree, guint32 index, ViewSide side, ProfileValue value);

/* The larger of both sides' totals: what decides order and, in pictures of a difference, width. */
gdouble calltree_extent(const CallTree *tree, guint32 index, ProfileValue value);

#endif
