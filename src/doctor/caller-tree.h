/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of the dumps as a tree from the root, and the choice of the function to name on a path. A function that
 * only allocates for its callers is not named: it is known by name, or other callers hold other memory through it. */
#ifndef JESCOPE_DOCTOR_CALLER_TREE_H
#define JESCOPE_DOCTOR_CALLER_TREE_H

#include "doctor/stack-shares.h"

#define MOST_OF_GROWTH 0.8 /* share of its caller's growth with which a callee is named instead */
#define MOST_OF_HELD   0.5
#define LESS_SPECIFIC  0.8  /* of its caller's specificity: below it, a function has other users as well */
#define ALIKE          1.2  /* maximum factor between mean sizes of objects of one kind */
#define STANDS_STILL   0.25 /* below this share of the relative growth of all stacks, memory does not grow */

/* A path of functions from the root. */
typedef struct {
    guint32 parent; /* index into CallerTree.nodes; smaller than that of the node */
    guint32 view;   /* PROFILE_NONE for the root */
    guint32 first_child, next_sibling;
    guint32 next_of_view; /* another path that ends in the same function; PROFILE_NONE: none */
    gdouble grown, held, variance, exact, births, deaths, moved;
    gdouble sized; /* sum over its stacks of held * log(mean object size): a mean of logarithms is dominated neither by
                      many small objects nor by one large block */
    gdouble pure, mixed; /* parts of held: in stacks with objects of one size class, and of several */
    guint32 heaviest;    /* the stack below it with the most growth, or if none grows, the most memory */
    gdouble heaviest_weight;
    gboolean first; /* only startup code of a program or a thread calls it */
    gboolean inner; /* it is below another path of the same function, which includes its memory already */
} CallerNode;

typedef struct {
    const CulpritInput *input;
    GArray *nodes;     /* CallerNode; [0] is the root */
    GHashTable *index; /* parent << 32 | view -> node */
    gsize n_profiles;
    StackShare *shares;
    guint32 *leaves;      /* one per stack: the node of its innermost function; 0: filtered */
    gdouble *specific;    /* per view node: growth through it */
    gdouble growth_share; /* growth of all stacks, as a share of what they hold */
    gdouble all_still;    /* memory of stacks that do not grow */
    gdouble *still;       /* per view node: memory through it that does not grow */
    gdouble *fallen;      /* per view node: lower bound of memory through it that was freed between dumps */
    guint32 *of_view;     /* per view node: the first path that ends in it */
    guint32 *seen;        /* per view node: the last stack it was counted for, plus 1 */
    GArray *all_values;   /* gdouble: n_profiles for each node */
    guint8 *kinds;        /* per view node: what its name says, once it was looked at */
    guint64 *patience;    /* comparisons with other paths of a function that are left: see caller_tree_compares() */
} CallerTree;

typedef gdouble (*CallerWeight)(const CallerNode *node);

void caller_tree_init(CallerTree *tree, const CulpritInput *input);
void caller_tree_clear(CallerTree *tree);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CallerTree, caller_tree_clear)

CallerNode *caller_tree_node(const CallerTree *tree, guint32 index);
const gdouble *caller_tree_values(const CallerTree *tree, guint32 index); /* bytes held in each dump */

/* Functions for CallerWeight. */
gdouble caller_tree_grown(const CallerNode *node);
gdouble caller_tree_held(const CallerNode *node);

/* The child of INDEX with the largest WEIGHT, or PROFILE_NONE. */
guint32 caller_tree_heaviest(const CallerTree *tree, guint32 index, CallerWeight weight);

/* The share of growth in the memory through the function of INDEX, over all its callers: growth / (growth + memory that
 * does not grow). 0 for the root. */
gdouble caller_tree_specificity(const CallerTree *tree, guint32 index);

/* The bytes that one sample represents, at least 1. */
gdouble caller_tree_sample_bytes(const CallerTree *tree, const CallerNode *node);

/* The probability that the growth of a node is due to chance, or that of a SUM of nodes with VALUES, one for each
 * dump. */
gdouble caller_tree_p(const CallerTree *tree, guint32 index);
gdouble caller_tree_p_of_values(const CallerTree *tree, const CallerNode *sum, const gdouble *values);

/* Whether a further comparison may be made. In a profile of deep recursion, the paths of one function are as many as
 * all frames, and each frame has to be compared with them; only the first comparisons are made then. */
gboolean caller_tree_compares(const CallerTree *tree);

/* Whether INDEX is below another path of the same function, which includes its memory already. */
gboolean caller_tree_is_inner(const CallerTree *tree, guint32 index);

/* Whether only startup code of a program or a thread calls it. */
gboolean caller_tree_is_first(const CallerTree *tree, guint32 index);

/* Whether two nodes have objects of about the same size and similar turnover, so that one function may allocate the
 * same for both. The fewer samples there are, the larger is the tolerance. */
gboolean caller_tree_are_alike(const CallerTree *tree, const CallerNode *a, const CallerNode *b);

/* The function to name for INDEX: itself or the nearest caller that does not only allocate for others. */
guint32 caller_tree_without_wrappers(const CallerTree *tree, guint32 index, gboolean by_growth);

/* Finds a function below INDEX that has most of its WEIGHT over all callers, even if no single callee does. Returns the
 * heaviest path of the deepest such function that can be named, or INDEX. */
guint32 caller_tree_gather(const CallerTree *tree, guint32 index, CallerWeight weight, gboolean by_growth);

#endif
