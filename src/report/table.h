/* SPDX-License-Identifier: Apache-2.0 */
/* The flat table: what every node holds itself and with everything it calls. */
#ifndef JESCOPE_REPORT_TABLE_H
#define JESCOPE_REPORT_TABLE_H

#include "report/view.h"

typedef struct {
    guint32 node;
    ProfileWeight flat[VIEW_N_SIDES];
    ProfileWeight cumulative[VIEW_N_SIDES]; /* a stack counts once, however often the node recurs in it */
} TableRow;

/* Rows that hold anything at all, sorted as options say; ties by name. */
GArray *table_new(const View *view, const ReportOptions *options);

/* now - base, and the variance of that. */
gdouble table_change(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value);
gdouble table_variance(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value);

/* Is a change no larger than sampling alone explains (1.96 standard errors, i.e. 95 %)? */
gboolean table_is_noise(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value);

void weight_add(ProfileWeight *to, const ProfileWeight *weight);

#endif
