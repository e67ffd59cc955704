/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of reports (formats.def), for the command line and for HTTP. report/ writes them. */
#ifndef JESCOPE_ROUTES_REPORT_FORMAT_H
#define JESCOPE_ROUTES_REPORT_FORMAT_H

#include <stddef.h>

typedef enum {
    REPORT_FORMAT_TEXT = 0,
    REPORT_FORMAT_BINARY = 1u << 0,       /* not for a terminal */
    REPORT_FORMAT_NO_BASE = 1u << 1,      /* cannot represent a difference */
    REPORT_FORMAT_COPIES = 1u << 2,       /* requires ReportInput.text */
    REPORT_FORMAT_WHOLE = 1u << 3,        /* for other tools: stacks keep their wrappers, names their parameters */
    REPORT_FORMAT_NO_NOTES = 1u << 4,     /* cannot represent ReportOptions.notes */
    REPORT_FORMAT_PICTURE = 1u << 5,      /* for display only: not written if there is nothing to show */
    REPORT_FORMAT_BY_LINE = 1u << 6,      /* always by line */
    REPORT_FORMAT_SOURCE_LINES = 1u << 7, /* contains lines of source files: requires ROUTE_GRANT_SOURCE */
    REPORT_FORMAT_DRAWN = 1u << 8,        /* drawn by Graphviz, in a process of its own */
} ReportFormatFlag;

typedef struct {
    const char *name;
    const char *suffixes;     /* file name suffixes that select it, separated by blanks; "" for none */
    const char *content_type; /* of an HTTP body */
    const char *suffix;       /* of the name under which a body is saved */
    unsigned flags;           /* ReportFormatFlag */
} ReportFormat;

/* The default first. */
extern const ReportFormat report_formats[];
extern const size_t report_n_formats;

/* Their names separated by '|', preceded by "raw" for the dump itself. */
extern const char report_raw_words[];
#define REPORT_FORMAT_WORDS (report_raw_words + sizeof("raw"))

/* NULL: no such format. */
const ReportFormat *report_format_find(const char *name);

#endif
