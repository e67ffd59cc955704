/* SPDX-License-Identifier: Apache-2.0 */
/* The flat table: what every node holds itself and with everything it calls. */
#ifndef JESCOPE_REPORT_TABLE_H
#define JESCOPE_REPORT_TABLE_H

#include "report/view.h"
#include "report/writer.h"

typedef struct {
    guint32 node;
    guint32 depth; /* frames between it and the allocation, at the least: 0 where it allocates itself */
    ProfileWeight flat[VIEW_N_SIDES];
    ProfileWeight cumulative[VIEW_N_SIDES]; /* a stack counts once, however often the node recurs in it */
} TableRow;

/* Rows that hold anything at all, sorted as options say; ties by weight with callees, then nearest to the
 * allocation, then by name (in jeprof's layout by name alone). */
GArray *table_new(const View *view, const ReportOptions *options);

/* now - base, and the variance of that. */
gdouble table_change(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value);
gdouble table_variance(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value);

/* Standard errors of a change that sampling alone explains, with 95 %. */
#define TABLE_NOISE 1.96

/* What is shown of VALUE: its estimate, or for age and lifetime the mean in seconds (0 where there is none). */
gdouble table_shown(const ProfileWeight *weight, ProfileValue value);
gdouble table_shown_error(const ProfileWeight *weight, ProfileValue value); /* standard error of that */
gdouble table_shown_change(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value);
gdouble table_shown_variance(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value);

/* Is a change of what is shown no larger than that? */
gboolean table_is_noise(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value);

/* A CHANGE in standard errors, with three decimals; one that has no error is the largest number written. */
#define TABLE_SIGNIFICANCE_MAX 1000
void table_write_significance(Writer *writer, gdouble change, gdouble variance);

#endif
