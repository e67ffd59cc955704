/* SPDX-License-Identifier: Apache-2.0 */
/* The notes of a report: those of the source, and those about the view. */
#ifndef JESCOPE_REPORT_VIEW_NOTES_H
#define JESCOPE_REPORT_VIEW_NOTES_H

#include "report/view.h"

/*
 * The notes of options, then the functions folded into their callers, then the objects without function names, the
 * reason, and the remedy. NULL-terminated, to be freed with g_strfreev().
 */
GStrv view_notes(const View *view, const ReportOptions *options);

#endif
