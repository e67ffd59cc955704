/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest report: how much a profile explains, and what stands out, as a part of a sentence. */
#ifndef JESCOPE_REPORT_HEADLINE_H
#define JESCOPE_REPORT_HEADLINE_H

#include "report/report.h"

/* "96.4% explained, grew most: server_cache +1.2 GiB"; without BASE, or where sampling explains every change, "held
 * most: server_cache 1.5 GiB". What is not known is left out; NULL: nothing is. BY and filters are those of OPTIONS. To
 * be freed.
 */
char *report_headline(const ReportInput *now, const ReportInput *base, const ReportOptions *options);

#endif
