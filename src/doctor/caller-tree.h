/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of the dumps as a tree from the root, and which function of a path is named: not one that only
 * allocates for its callers, known by its name or because others hold other memory through it. */
#ifndef JESCOPE_DOCTOR_CALLER_TREE_H
#define JESCOPE_DOCTOR_CALLER_TREE_H

#include "doctor/stack-shares.h"

#define MOST_OF_GROWTH 0.8 /* that one callee must have to be named instead of its caller */
#define MOST_OF_HELD   0.5
#define LESS_SPECIFIC  0.8  /* than its caller's: a function that others use as well */
#define ALIKE          1.2  /* factor between mean sizes of objects of one kind */
#define STANDS_STILL   0.25 /* its growth, relative to what it holds, of that of all stacks */

/* A path of functions from the root on. */
typedef struct {
    guint32 parent; /* into CallerTree.nodes */
    guint32 view;   /* PROFILE_NONE for the root */
    guint32 first_child, next_sibling;
    guint32 next_of_view; /* another path that ends in the same function; PROFILE_NONE: none */
    gdouble grown, held, variance, exact, births, deaths, moved;
    gdouble sized; /* of its stacks: with their logarithms the mean size is neither that of the many small objects nor
                      that of one large block */
    gdouble pure, mixed; /* of what it holds: of stacks with objects of one size class, and of several */
    guint32 heaviest;    /* the stack below it with most growth, or with most memory */
    gdouble heaviest_weight;
} CallerNode;

typedef struct {
    const CulpritInput *input;
    GArray *nodes;     /* CallerNode; [0] is the root */
    GHashTable *index; /* parent << 32 | view -> node */
    gsize n_profiles;
    StackShare *shares;
    guint32 *leaves;      /* one per stack: the node of its innermost function; 0: filtered */
    gdouble *specific;    /* per view node: growth through it */
    gdouble growth_share; /* of what all stacks hold, what has grown */
    gdouble all_still;    /* memory that does not grow */
    gdouble *still;       /* per view node: memory through it that does not grow */
    gdouble *fallen;      /* per view node: memory through it that was freed between the dumps, at least */
    guint32 *of_view;     /* per view node: the first path that ends in it */
    guint32 *seen;        /* per view node: the last stack it was counted for, plus 1 */
    GArray *all_values;   /* gdouble: n_profiles for each node */
} CallerTree;

typedef gdouble (*CallerWeight)(const CallerNode *node);

void caller_tree_init(CallerTree *tree, const CulpritInput *input);
void caller_tree_clear(CallerTree *tree);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CallerTree, caller_tree_clear)

CallerNode *caller_tree_node(const CallerTree *tree, guint32 index);
const gdouble *caller_tree_values(const CallerTree *tree, guint32 index); /* held, in each dump */

/* Weights. */
gdouble caller_tree_grown(const CallerNode *node);
gdouble caller_tree_held(const CallerNode *node);

/* The child with most of WEIGHT, or PROFILE_NONE. */
guint32 caller_tree_heaviest(const CallerTree *tree, guint32 index, CallerWeight weight);

/* Of a function, wherever it is called from: which part of the memory through it is of the growth. */
gdouble caller_tree_specificity(const CallerTree *tree, guint32 index);

/* The bytes that one sample stands for. */
gdouble caller_tree_sample_bytes(const CallerTree *tree, const CallerNode *node);

/* The probability that the growth of a node is by chance; that of a sum of nodes with its VALUES, one for each dump. */
gdouble caller_tree_p(const CallerTree *tree, guint32 index);
gdouble caller_tree_p_of_values(const CallerTree *tree, const CallerNode *sum, const gdouble *values);

/* Whether a path below another of the same function counts twice. */
gboolean caller_tree_is_inner(const CallerTree *tree, guint32 index);

/* Whether a program or a thread begins with it. */
gboolean caller_tree_is_first(const CallerTree *tree, guint32 index);

/* Whether two nodes have objects of about one size, which come and go or stay: a function allocates the same for both.
 * Of few samples, neither can be told. */
gboolean caller_tree_are_alike(const CallerTree *tree, const CallerNode *a, const CallerNode *b);

/* The caller of INDEX, or itself, that is named: the first one that does not only allocate for others. */
guint32 caller_tree_without_wrappers(const CallerTree *tree, guint32 index, gboolean by_growth);

/* Where no callee of a function has most of its weight, one that several of them call may have it: the deepest such
 * function that can be named, by its heaviest path. Otherwise INDEX. */
guint32 caller_tree_gather(const CallerTree *tree, guint32 index, CallerWeight weight, gboolean by_growth);

#endif
