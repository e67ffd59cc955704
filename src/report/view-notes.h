/* SPDX-License-Identifier: Apache-2.0 */
/* The notes of a report: those of the source, and those about the view. */
#ifndef JESCOPE_REPORT_VIEW_NOTES_H
#define JESCOPE_REPORT_VIEW_NOTES_H

#include "report/view.h"

/*
 * The notes of options, then which functions were folded into their callers, then which objects have no function names,
 * the reason, and the remedy. NULL-terminated, to be freed with g_strfreev().
 */
GStrv view_notes(const View *view, const ReportOptions *options);

#endif
