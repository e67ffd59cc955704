/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that each stack of the dumps holds, and its part of the growth. If callers of a function take over memory
 * from each other, only the remainder counts; the exact counters of size classes are used if known. */
#ifndef JESCOPE_DOCTOR_STACK_SHARES_H
#define JESCOPE_DOCTOR_STACK_SHARES_H

#include "doctor/culprit.h"

/* Properties of a stack, from its frames. */
typedef enum {
    STACK_UNLOADED = 1 << 0,
    STACK_CONTAINER = 1 << 1,
    STACK_BUCKETS = 1 << 2,
} StackTraits;

/* One stack of the profile. */
typedef struct {
    gdouble grown; /* its part of the growth during the watch */
    gdouble held, variance;
    gdouble exact;            /* held, according to the exact counter of its size class */
    gdouble births, deaths;   /* approximate numbers of samples */
    gdouble moved;            /* bytes allocated or freed between dumps */
    gdouble fallen;           /* bytes freed between dumps */
    gdouble spread;           /* standard deviation of grown, from the unevenness of the growth */
    guint64 block;            /* the mean size of an object; 0: unknown */
    gdouble sized;            /* held * log(block) */
    const DoctorClass *class; /* of objects of that size; NULL: none, or unknown */
    StackTraits traits;
} StackShare;

/* Returns an array with one element for each stack of growth_profile(); free it with g_free(). */
StackShare *stack_shares_new(const CulpritInput *input);

/* The index of the first dump that counts for growth. */
gsize stack_shares_first_counted(const CulpritInput *input);

/* The file of the first location of STACK whose file was unmapped during the watch, or NULL. */
const char *stack_shares_vanished(const CulpritInput *input, guint32 stack);

#endif
