/* SPDX-License-Identifier: Apache-2.0 */
/* Pages from files of the format page-tree. */
#ifndef JESCOPE_REPORT_PAGE_FILE_H
#define JESCOPE_REPORT_PAGE_FILE_H

#include "report/report.h"

/* Whether FD is such a file. */
gboolean page_file_is_in(int fd);

/* Writes the part of it that OPTIONS' page and limit ask for as Page JSON; everything else of OPTIONS was decided when
 * it was written. NAME is for messages. Errors are of REPORT_ERROR and G_FILE_ERROR. */
gboolean page_file_cut(int fd, const char *name, const ReportOptions *options, GOutputStream *out, GError **error);

#endif
