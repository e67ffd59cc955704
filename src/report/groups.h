/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of stacks in a report by size class or by thread, numbered within their profile. */
#ifndef JESCOPE_REPORT_GROUPS_H
#define JESCOPE_REPORT_GROUPS_H

#include "report/options.h"

gboolean groups_are(ReportGranularity by);

/* An upper bound of the numbers. */
guint32 groups_limit(const Profile *profile, ReportGranularity by);

/* The group of a stack. */
guint32 groups_of(const Profile *profile, guint32 stack, ReportGranularity by);

/* Newly allocated; equal for the same class or thread in different profiles. */
char *groups_name(const Profile *profile, guint32 group, ReportGranularity by);

/* Whether the number means a class or thread, not an unknown one. */
gboolean groups_is_known(const Profile *profile, guint32 group, ReportGranularity by);

#endif
