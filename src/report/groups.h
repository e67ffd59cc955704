/* SPDX-License-Identifier: Apache-2.0 */
/* What stacks are grouped by in a report by size class or by thread. Groups have numbers within their profile. */
#ifndef JESCOPE_REPORT_GROUPS_H
#define JESCOPE_REPORT_GROUPS_H

#include "report/options.h"

gboolean groups_are(ReportGranularity by);

/* Numbers are below it. */
guint32 groups_limit(const Profile *profile, ReportGranularity by);

/* The group of a stack. */
guint32 groups_of(const Profile *profile, guint32 stack, ReportGranularity by);

/* Newly allocated; the same for the same class, or the same thread, of another profile. */
char *groups_name(const Profile *profile, guint32 group, ReportGranularity by);

/* Whether the number is of a class or thread, and not of what is not known. */
gboolean groups_is_known(const Profile *profile, guint32 group, ReportGranularity by);

#endif
