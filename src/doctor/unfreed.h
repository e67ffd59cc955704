/* SPDX-License-Identifier: Apache-2.0 */
/* Leaks that exact counters hide: samples of a function keep coming and next to none is freed, in a size class in which
 * others allocate and free so much that its counters do not rise. */
#ifndef JESCOPE_DOCTOR_UNFREED_H
#define JESCOPE_DOCTOR_UNFREED_H

#include "doctor/caller-tree.h"

typedef struct {
    guint32 node;  /* of the tree */
    gdouble p;     /* probability of such samples by chance */
    gdouble grown; /* bytes, by its samples alone */
} Unfreed;

/*
 * The functions, as an array of Unfreed to be freed: none of their samples is freed, although at least half of what is
 * allocated in their size class is. P is that of the sign test, which holds however many objects come at once: where
 * nothing grows, the number of live samples goes down from one dump to the next as often as up, and it never went down.
 * The rate of false discoveries among all functions is bounded (Benjamini and Hochberg 1995). A function whose samples
 * may come at half of their mean pace in the last third, by the binomial distribution, is not among them: it may fill a
 * cache. None of fewer than 12 dumps, nor where
 * sampling is young: then frees are not seen.
 */
GArray *unfreed_find(const CallerTree *tree);

#endif
