/* SPDX-License-Identifier: Apache-2.0 */
/* Notes that are needed to interpret a profile's numbers: sentences for ReportOptions.notes. */
#ifndef JESCOPE_REPORT_COVERAGE_H
#define JESCOPE_REPORT_COVERAGE_H

#include "profile/capture.h"
#include "report/report.h"
#include "report/view.h"

/* The share of the memory that PROFILE explains, since when it was sampled, and whether another heap is the main one,
 * as far as its capture says. NULL-terminated, to be freed. */
GStrv coverage_notes(const Profile *profile);

/* Whether both are known to come from one process: the same pid, started at the same time. Either may be NULL. */
gboolean coverage_same_process(const ProfileCapture *before, const ProfileCapture *after);

/* A note that sampling was off between two dumps of one process, with the duration if known, or NULL. Either may be
 * NULL. */
char *coverage_between(const ProfileCapture *before, const ProfileCapture *after);

/* The same for dumps ALL seconds apart with SAMPLED seconds of sampling in between; NULL if that is nearly all. */
char *coverage_gap(gdouble all, gdouble sampled);

/* How long sampling was on between two dumps, in seconds. FALSE: unknown, or they come from different processes. */
gboolean coverage_sampled_seconds(const ProfileCapture *before, const ProfileCapture *after, gdouble *seconds);

/* Why PROFILE does not carry VALUE, or NULL: it does, or nothing was sampled. */
char *coverage_why_unknown(const Profile *profile, ProfileValue value);

/* A note needed to interpret the value shown by VIEW, such as what a mean excludes. NULL: none. */
char *coverage_note_value(const View *view, const ReportOptions *options);

/* Why a report with these options on NOW (against BASE or NULL) is empty; NULL if it is not. Filters count as far as
 * VIEW has applied them. */
char *coverage_why_empty(const ReportInput *now, const ReportInput *base, const ReportOptions *options,
                         const View *view);

/* Whether both sides of VIEW are equal. */
gboolean coverage_same(const View *view, const ReportOptions *options);

#endif
