/* SPDX-License-Identifier: Apache-2.0 */
/* Finds leaks that exact counters hide: samples of a function keep coming and almost none is freed, in a size class
 * whose counters do not rise, since others allocate and free so much in it. */
#ifndef JESCOPE_DOCTOR_UNFREED_H
#define JESCOPE_DOCTOR_UNFREED_H

#include "doctor/caller-tree.h"

typedef struct {
    guint32 node;  /* index into the tree */
    gdouble p;     /* probability of such samples by chance */
    gdouble grown; /* bytes, from its samples alone */
} Unfreed;

/*
 * Returns a new array of Unfreed: the functions of whose samples none is freed, although at least half of what is
 * allocated in their size class is. P is that of the sign test, which holds however many objects are allocated at once:
 * if nothing grows, the number of live samples falls from one dump to the next as often as it rises, and here it never
 * fell. The false discovery rate among all functions is bounded (Benjamini and Hochberg 1995). Functions whose samples
 * may have slowed down to half of their mean pace in the last third, by the binomial distribution, are left out: they
 * may fill a cache. The array is empty for fewer than 12 dumps, without classes, and if sampling began recently, since
 * frees are not seen then.
 */
GArray *unfreed_find(const CallerTree *tree);

#endif
