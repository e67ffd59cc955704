/* SPDX-License-Identifier: Apache-2.0 */
/* Page JSON: docs/formats.md. */
#ifndef JESCOPE_REPORT_PAGE_H
#define JESCOPE_REPORT_PAGE_H

#include "report/page-material.h"

enum { PAGE_ROWS_MAX = 65536 }; /* of a graph */

/* The selected part of a material. */
typedef struct {
    const ReportPage *asked; /* without its function */
    guint32 limit;           /* ReportOptions.limit */
    guint32 rows_max;        /* of a graph */
} PageCut;

void page_write_cut(const PageMaterial *material, const PageCut *cut, Writer *writer);

/* Writes the Page JSON of REPORT with at most ROWS_MAX rows of a graph. */
void page_write_rows(const Report *report, guint32 rows_max, Writer *writer);

#endif
