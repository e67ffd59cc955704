/* SPDX-License-Identifier: Apache-2.0 */
/* What each stack of the dumps holds, and how much of the growth is its own: of callers that hand over to each other
 * only what remains, and by the exact counters of the size classes where they are known. */
#ifndef JESCOPE_DOCTOR_STACK_SHARES_H
#define JESCOPE_DOCTOR_STACK_SHARES_H

#include "doctor/culprit.h"

/* What the frames of a stack tell. */
typedef enum {
    STACK_UNLOADED = 1 << 0,
    STACK_CONTAINER = 1 << 1,
    STACK_BUCKETS = 1 << 2,
} StackTraits;

/* One stack of the profile. */
typedef struct {
    gdouble grown; /* of the growth during the watch, as far as it is this stack's */
    gdouble held, variance;
    gdouble exact;          /* held, by the exact counter of its size class */
    gdouble births, deaths; /* samples, about */
    gdouble moved;          /* bytes that came or went between the dumps */
    gdouble fallen;         /* those that went */
    gdouble spread;         /* standard deviation of grown, by how unevenly it has grown */
    guint64 block;          /* the mean size of an object; 0: unknown */
    gdouble sized;          /* held times the logarithm of it */
    StackTraits traits;
} StackShare;

/* One for each stack of growth_profile(), to be freed with g_free(). */
StackShare *stack_shares_new(const CulpritInput *input);

/* The dump from which on growth counts. */
gsize stack_shares_first_counted(const CulpritInput *input);

/* The file of the first location of STACK that was mapped during the watch and is not any more, or NULL. */
const char *stack_shares_vanished(const CulpritInput *input, guint32 stack);

#endif
