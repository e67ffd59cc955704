/* SPDX-License-Identifier: Apache-2.0 */
/* Extracts pages from files of the format page-tree. */
#ifndef JESCOPE_REPORT_PAGE_FILE_H
#define JESCOPE_REPORT_PAGE_FILE_H

#include "report/report.h"

/* Whether FD is such a file. */
gboolean page_file_is_in(int fd);

/* Writes the part of it selected by OPTIONS' page and limit as Page JSON; all other options were fixed when the file
 * was written. NAME is for messages. Errors are of REPORT_ERROR and G_FILE_ERROR. */
gboolean page_file_cut(int fd, const char *name, const ReportOptions *options, GOutputStream *out, GError **error);

#endif
