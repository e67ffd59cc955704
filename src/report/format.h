/* SPDX-License-Identifier: Apache-2.0 */
/* An output format: one row of routes/formats.def and one function of this type in its own file. */
#ifndef JESCOPE_REPORT_FORMAT_H
#define JESCOPE_REPORT_FORMAT_H

#include "report/view.h"
#include "report/writer.h"

typedef struct {
    const View *view;
    const ReportOptions *options;
} Report;

/* The writer records write errors; FALSE with error is for failures of the format itself. */
typedef gboolean ReportWrite(const Report *report, Writer *writer, GError **error);

/* The beginning of every readable format: the sources, their totals and the notes. */
void text_write_header(const Report *report, Writer *writer);

ReportWrite text_write_jeprof; /* text in jeprof's layout */
#define FORMAT(writer, name, suffixes, type, suffix, flags, about) ReportWrite writer##_write;
#include "routes/formats.def"
#undef FORMAT

#endif
