/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest report: the share that a profile explains, and the largest item, as part of a sentence. */
#ifndef JESCOPE_REPORT_HEADLINE_H
#define JESCOPE_REPORT_HEADLINE_H

#include "report/report.h"

/* "96.4% explained, grew most: server_cache +1.2 GiB"; without BASE, or if sampling explains every change, "held most:
 * server_cache 1.5 GiB". Unknown parts are omitted; NULL: all are. BY and filters are those of OPTIONS. To be freed. */
char *report_headline(const ReportInput *now, const ReportInput *base, const ReportOptions *options);

#endif
