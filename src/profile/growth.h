/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stacks grow, over three or more profiles of one program in time order: a robust slope (Theil 1950, Sen 1968:
 * the median of the slopes between all pairs) per stack, and what the errors of the profiles allow to say about it.
 */
#ifndef JESCOPE_PROFILE_GROWTH_H
#define JESCOPE_PROFILE_GROWTH_H

#include "profile/profile.h"

typedef enum {
    GROWTH_WITHIN_ERROR, /* no change that sampling alone would not explain */
    GROWTH_STILL_GROWING,
    GROWTH_PLATEAU, /* grew in several steps, but not lately */
    GROWTH_ONE_OFF, /* grew in a single step */
    GROWTH_SHRINKING,
} GrowthVerdict;

typedef struct {
    guint32 stack; /* of growth_profile() */
    GrowthVerdict verdict;
    gdouble slope;        /* per second */
    gdouble slope_error;  /* standard error of it, from the errors of the profiles */
    gdouble recent_slope; /* of the last third of the profiles, at least two */
    gdouble biggest_step; /* share of all rises that the biggest single one has, 0..1 */
    gdouble first, last;  /* estimates in the first and last profile */
} GrowthStack;

typedef struct Growth Growth;

/*
 * times are seconds, ascending (any origin), one per profile; n_profiles >= 3. Errors: G_IO_ERROR_INVALID_ARGUMENT;
 * those of profile_merge().
 */
Growth *growth_new(const Profile *const *profiles, const gdouble *times, gsize n_profiles, ProfileValue value,
                   GError **error);
void growth_free(Growth *growth);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Growth, growth_free)

/* Every stack of any profile, weighted as in the last one; for names. */
const Profile *growth_profile(const Growth *growth);
/* Steepest first; ties by stack. */
const GrowthStack *growth_stacks(const Growth *growth, guint32 *n_stacks);
/* The estimates of one stack, one per profile. */
const gdouble *growth_series(const Growth *growth, guint32 stack);
/* The same analysis for the sum over all stacks; stack is PROFILE_NONE. */
const GrowthStack *growth_total(const Growth *growth);

/*
 * The analysis alone: of n values with their variances at the times. For callers that sum stacks first (by function).
 * Fills everything but stack.
 */
void growth_analyse(const gdouble *times, const gdouble *values, const gdouble *variances, gsize n,
                    GrowthStack *result);

#endif
