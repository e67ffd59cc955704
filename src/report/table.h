/* SPDX-License-Identifier: Apache-2.0 */
/* The flat table: the memory of each node, by itself and including everything it calls. */
#ifndef JESCOPE_REPORT_TABLE_H
#define JESCOPE_REPORT_TABLE_H

#include "report/view.h"
#include "report/writer.h"

typedef struct {
    guint32 node;
    guint32 depth; /* minimum number of frames between it and the allocation: 0 if it allocates itself */
    ProfileWeight flat[VIEW_N_SIDES];
    ProfileWeight cumulative[VIEW_N_SIDES]; /* a stack counts once, however often the node recurs in it */
} TableRow;

/* All non-empty rows, sorted as options say; ties by weight including callees, then nearest to the allocation, then by
 * name (in jeprof's layout by name only). */
GArray *table_new(const View *view, const ReportOptions *options);

/* now - base */
gdouble table_change(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value);

/* Standard errors up to which sampling alone explains a change, at 95 %. */
#define TABLE_NOISE 1.96

/* The displayed number of VALUE: its estimate, or for age and lifetime the mean in seconds (0 if there is none). */
gdouble table_shown(const ProfileWeight *weight, ProfileValue value);
gdouble table_shown_error(const ProfileWeight *weight, ProfileValue value); /* standard error of that */
gdouble table_shown_change(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value);
gdouble table_shown_variance(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value);

/* Whether a displayed change is within sampling noise. */
gboolean table_is_noise(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value);

/* A CHANGE in standard errors, with three decimals; one without an error is TABLE_SIGNIFICANCE_MAX. */
#define TABLE_SIGNIFICANCE_MAX 1000
void table_write_significance(Writer *writer, gdouble change, gdouble variance);

#endif
