/* SPDX-License-Identifier: Apache-2.0 */
/* What every output format is: one row of the table in report.c and one function of this shape in a file of its own. */
#ifndef JESCOPE_REPORT_FORMAT_H
#define JESCOPE_REPORT_FORMAT_H

#include "report/view.h"
#include "report/writer.h"

typedef struct {
    const View *view;
    const ReportOptions *options;
} Report;

/* Write errors stick in the writer; FALSE with error is for what the format itself cannot do. */
typedef gboolean ReportWrite(const Report *report, Writer *writer, GError **error);

ReportWrite text_write;
ReportWrite text_write_jeprof; /* text in jeprof's layout */
ReportWrite tree_write;
ReportWrite folded_write;
ReportWrite pprof_write;
ReportWrite flamegraph_write;
ReportWrite dot_write;
ReportWrite callgraph_svg_write; /* dot, laid out */
ReportWrite speedscope_write;
ReportWrite symbolized_write;
ReportWrite source_write; /* wants a view by line */
ReportWrite json_write;

#endif
