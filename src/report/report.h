/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports: a profile with its names, written in one of the formats of routes/formats.def: one row and one file each.
 * docs/formats.md describes their contents.
 *
 * Thread-safe as long as inputs and options are not changed during a call.
 */
#ifndef JESCOPE_REPORT_REPORT_H
#define JESCOPE_REPORT_REPORT_H

#include "report/options.h"
#include "routes/report-format.h"
#include "symbolize/symbolize.h"

/* A profile and its names. Borrowed, and must outlive the call. */
typedef struct {
    const Profile *profile;
    const Symbols *symbols;
    const char *name; /* of the source: a file name, "redis-server (4711)" */
    GBytes *text;     /* the dump itself, decompressed, or NULL; symbolized copies it if possible */
    gint64 time;      /* when the dump was taken, seconds since 1970; 0: unknown */
} ReportInput;

typedef enum {
    REPORT_ERROR_NO_THREAD,   /* options.thread names none of the profile's threads */
    REPORT_ERROR_UNSUPPORTED, /* the format cannot represent the requested report */
    REPORT_ERROR_LAYOUT,      /* the graph could not be laid out within its limits */
    REPORT_ERROR_EMPTY,       /* there is nothing to show, and REPORT_REFUSE_EMPTY is set; the message says why */
    REPORT_ERROR_NO_VALUE,    /* one side of a difference does not carry the value */
    REPORT_ERROR_SAME,        /* likewise, because both sides are equal */
} ReportError;
#define REPORT_ERROR (report_error_quark())
GQuark report_error_quark(void);

/* The format of a file name's suffix, NULL: none. `wanted` (or NULL) is the format named on the command line: it takes
 * precedence, except that callgraph becomes callgraph-svg for *.svg. */
const ReportFormat *report_format_by_path(const char *path, const ReportFormat *wanted);
char *report_format_suffixes(void); /* all of them, with commas; newly allocated */

/*
 * Starts the helper process of the format, before this process is confined (confine/confined.h), and returns the
 * descriptors that must stay open, or -1. report_unprepare_format() ends it, used or not.
 */
gboolean report_prepare_format(const ReportFormat *format, int descriptors[static 2], GError **error);
void report_unprepare_format(void);

/*
 * Writes now (against base, unless NULL) to out, which is neither flushed to disk nor closed. A failure may leave a
 * part of the report behind in out.
 */
gboolean report_write(const ReportFormat *format, const ReportInput *now, const ReportInput *base,
                      const ReportOptions *options, GOutputStream *out, GError **error);

#endif
