/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call tree: equal stacks merged, callers above callees (or the other way round). Children of a node are sorted by
 * weight, heaviest first (in a difference by the larger side), ties by name.
 *
 * Nodes are numbered depth first, so descendants follow their node; only the ends of distinct stacks have weights of
 * all values, and a node has those of the ends at and below it, which are consecutive.
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
    guint32 first_end, ends_limit;     /* the ends at and below it: [first_end, ends_limit) */
} CallNode;

typedef struct {
    const View *view;
    CallNode *nodes; /* [0] is the root; parents precede their children */
    guint32 n_nodes;
    guint32 *ends; /* the nodes at which stacks end, ascending */
    guint32 n_ends;
    ProfileWeight *weights[VIEW_N_SIDES]; /* one per end: of the stacks that end there; base is NULL without a base */
    gdouble *totals[VIEW_N_SIDES];        /* one per node: the estimate of its value */
} CallTree;

/* VALUE is the one that children are sorted by and calltree_total() returns. */
CallTree *calltree_new(const View *view, CallTreeOrder order, ProfileValue value);

/* The same for the stacks that contain the frame PIVOT (of the view), each from its outermost PIVOT on: down to the
 * allocation, or up to the outermost caller. */
CallTree *calltree_new_around(const View *view, CallTreeOrder order, ProfileValue value, guint32 pivot);
void calltree_free(CallTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CallTree, calltree_free)

const CallNode *calltree_node(const CallTree *tree, guint32 index);

/* Depth first, children in their order; PROFILE_NONE after the last. */
guint32 calltree_next(const CallTree *tree, guint32 index);

/* The next node that is not below INDEX. */
guint32 calltree_after(const CallTree *tree, guint32 index);

/* The value of one side for the node and everything below it; zero if the side does not exist. */
gdouble calltree_total(const CallTree *tree, guint32 index, ViewSide side);

/* The larger of both sides' totals, which determines order and, in graphs of a difference, width. */
gdouble calltree_extent(const CallTree *tree, guint32 index);

/* The weight of the stacks that end at this node; zeros if none does, or the side does not exist. */
const ProfileWeight *calltree_self(const CallTree *tree, guint32 index, ViewSide side);

/* The weight of the node and everything below it: summed up on each call, so use it for displayed nodes only. */
ProfileWeight calltree_weight(const CallTree *tree, guint32 index, ViewSide side);

/* One number per node, newly allocated: the sum of MEASURE over the ends (indexes of CallTree.ends) at and below it. */
typedef gdouble (*CallTreeMeasure)(const CallTree *tree, guint32 end, gconstpointer user);
gdouble *calltree_sum(const CallTree *tree, CallTreeMeasure measure, gconstpointer user);

/* A measure: the larger side of a stack. Sums of it are additive, unlike calltree_extent(), and memory that was freed
 * remains visible. USER is a ProfileValue. */
gdouble calltree_larger_side(const CallTree *tree, guint32 end, gconstpointer user);

/* The nodes (guint32) at which stacks end that hold some of VALUE, in a difference those that changed; the largest
 * first. */
GArray *calltree_heaviest(const CallTree *tree, ProfileValue value);

#endif
