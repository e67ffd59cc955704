/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth over three or more profiles of one program in time order: a robust slope (Theil 1950, Sen 1968: the median of
 * the slopes between all pairs) per stack, or per group of stacks, and its significance: by the samples that were
 * allocated and freed in between if the profiles carry them, else by the errors of the profiles.
 */
#ifndef JESCOPE_PROFILE_GROWTH_H
#define JESCOPE_PROFILE_GROWTH_H

#include "profile/profile.h"

typedef enum {
    GROWTH_WITHIN_ERROR, /* no change beyond what sampling alone explains */
    GROWTH_STILL_GROWING,
    GROWTH_PLATEAU, /* grew in several steps, but not lately */
    GROWTH_ONE_OFF, /* grew in a single step */
    GROWTH_SHRINKING,
    GROWTH_FILLING, /* rises like a profile whose sampling has just begun; see growth_set_filling() */
} GrowthVerdict;

typedef struct {
    guint32 group; /* the number given by the caller of growth_rows() */
    GrowthVerdict verdict;
    gdouble slope;        /* per second */
    gdouble slope_error;  /* standard error of slope: the larger of those from the errors of the profiles and from the
                             scatter around the line */
    gdouble recent_slope; /* of the last third of the profiles, at least two */
    gdouble biggest_step; /* share of the largest single rise in the sum of all rises, 0..1 */
    gdouble first, last;  /* estimates in the first and last profile */
    gboolean is_counted;  /* births and deaths are known */
    gdouble births;       /* samples that were allocated between the first and the last profile */
    gdouble deaths;       /* and of those that were freed */
    gdouble p; /* probability of at least as many births if births and deaths are equally likely: nothing grows */
} GrowthRow;

typedef struct Growth Growth;

/*
 * times are seconds, ascending (any origin), one per profile; n_profiles >= 3. Errors: G_IO_ERROR_INVALID_ARGUMENT;
 * those of profile_merge().
 */
Growth *growth_new(const Profile *const *profiles, const gdouble *times, gsize n_profiles, ProfileValue value,
                   GError **error);
void growth_free(Growth *growth);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Growth, growth_free)

/*
 * Sampling began shortly before the first profile: until memory is freed as fast as it is allocated, the profile of a
 * program of constant size rises too. LIMIT is the rate per second at which the program grew by its own counters (NAN:
 * unknown); apparent growth far above it is GROWTH_FILLING instead of GROWTH_STILL_GROWING. Call before growth_rows().
 */
void growth_set_filling(Growth *growth, gdouble limit);

/* The profiles are of successive processes, each of which counts births and deaths from 0. Call before
 * growth_rows(). */
void growth_ignore_counts(Growth *growth);

/* Every stack of any profile, weighted as in the last one; for names. */
const Profile *growth_profile(const Growth *growth);
/* The estimates for one stack of growth_profile(), one for each profile, and their variances. */
const gdouble *growth_stack_values(const Growth *growth, guint32 stack);
const gdouble *growth_stack_variances(const Growth *growth, guint32 stack);
gsize growth_n_profiles(const Growth *growth);
const gdouble *growth_times(const Growth *growth); /* of each profile */
/* The analysis of the sum over all stacks; group is PROFILE_NONE. */
const GrowthRow *growth_total(const Growth *growth);

typedef struct {
    GrowthRow *rows; /* one per group, steepest first; ties by group */
    guint32 n_rows;
    gdouble *values; /* the sums of group i in each of the profiles begin at i * n_profiles */
    gsize n_profiles;
} GrowthRows;

/*
 * Analyses groups of stacks: those that share a path of functions, or the allocating function. groups has one number
 * below n_groups for each stack of growth_profile(), or PROFILE_NONE for those to leave out.
 */
GrowthRows *growth_rows(const Growth *growth, const guint32 *groups, guint32 n_groups);
void growth_rows_free(GrowthRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GrowthRows, growth_rows_free)
/* One value per profile. */
const gdouble *growth_rows_series(const GrowthRows *rows, guint32 group);

/* Analyses n values with their variances at the times, without counts. Fills everything but group. */
void growth_analyse(const gdouble *times, const gdouble *values, const gdouble *variances, gsize n, GrowthRow *result);

#endif
