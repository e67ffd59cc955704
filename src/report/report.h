/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports: a profile with its names, written in one of the formats of report_formats(). One file per format; a format
 * is one row of the table in report.c. docs/formats.md describes what each holds.
 *
 * Everything here is thread-safe as long as inputs and options are not changed during a call.
 */
#ifndef JESCOPE_REPORT_REPORT_H
#define JESCOPE_REPORT_REPORT_H

#include "profile/profile.h"
#include "symbolize/symbolize.h"

/* What one row, frame or node of a report stands for. */
typedef enum {
    REPORT_BY_FUNCTION,
    REPORT_BY_LINE,
    REPORT_BY_FILE,
    REPORT_BY_OBJECT,
    REPORT_BY_ADDRESS,
} ReportGranularity;

typedef enum {
    REPORT_SORT_FLAT,
    REPORT_SORT_CUMULATIVE,
    REPORT_SORT_CHANGE, /* absolute change against the base, without one as REPORT_SORT_FLAT */
    REPORT_SORT_NAME,
} ReportSort;

typedef enum {
    REPORT_DEFAULT = 0,
    REPORT_SHOW_ERRORS = 1 << 0,    /* text: the standard error beside every value */
    REPORT_JEPROF_LAYOUT = 1 << 1,  /* text: jeprof's columns, units and short names, nothing else */
    REPORT_CALLERS = 1 << 2,        /* tree, flamegraph: bottom-up, from the allocation to its callers */
    REPORT_KEEP_ALLOCATOR = 1 << 3, /* leave the allocator's own frames in */
    REPORT_EXACT = 1 << 4,          /* text, tree: bytes instead of KiB, MiB... */
} ReportFlags;

#define REPORT_ALL G_MAXUINT32 /* no limit */

typedef struct {
    ProfileValue value;
    ReportGranularity by;
    ReportSort sort;
    ReportFlags flags;
    guint32 limit;         /* rows or graph nodes; 0: the format's default, REPORT_ALL: all */
    gdouble min_fraction;  /* of the total: what is smaller is folded away; negative: the format's default */
    gdouble edge_fraction; /* callgraph: edges below this share of the total are not drawn; negative: the default */
    /*
     * jeprof's meaning: focus keeps and ignore drops whole stacks with a matching frame (name, file:line or address);
     * retain keeps and exclude drops single frames by name, and a stack that loses all of them. NULL: not used.
     */
    const GRegex *focus, *ignore, *retain, *exclude;
    const char *thread;       /* uid ("3" or "t3") or name; the profile must have been read with threads; NULL: all */
    const char *const *notes; /* lines about the source that every reader should see, NULL-terminated, or NULL */
    const char *sysroot;      /* source: prefix of source files, or NULL */
} ReportOptions;

/* The defaults of every option: inuse_space by function, sorted flat. */
void report_options_init(ReportOptions *options);

/* A profile and its names. Borrowed, and must outlive the call. */
typedef struct {
    const Profile *profile;
    const Symbols *symbols;
    const char *name; /* of the source: a file name, "redis-server (4711)" */
    GBytes *text;     /* the dump itself, decompressed, or NULL; symbolized copies it where it can */
    gint64 time;      /* when the dump was taken, seconds since 1970; 0: unknown */
} ReportInput;

typedef struct ReportFormat ReportFormat;

typedef enum {
    REPORT_FORMAT_TEXT = 0,
    REPORT_FORMAT_BINARY = 1 << 0,  /* not for a terminal */
    REPORT_FORMAT_NO_BASE = 1 << 1, /* cannot hold a difference */
    REPORT_FORMAT_COPIES = 1 << 2,  /* wants ReportInput.text */
} ReportFormatFlags;

typedef enum {
    REPORT_ERROR_NO_THREAD,   /* options.thread names none of the profile's threads */
    REPORT_ERROR_UNSUPPORTED, /* this format cannot hold what was asked for */
    REPORT_ERROR_LAYOUT,      /* the graph could not be laid out within its limits */
} ReportError;
#define REPORT_ERROR (report_error_quark())
GQuark report_error_quark(void);

/* All formats, the default first; *n receives their number. */
const ReportFormat *report_formats(guint *n);
const ReportFormat *report_format_by_name(const char *name); /* NULL: no such format */
/* The format that a file name's suffix asks for, NULL: none. `wanted` (or NULL) is the format named on the command
   line: it wins, except that callgraph turns into its drawn form for *.svg. */
const ReportFormat *report_format_by_path(const char *path, const ReportFormat *wanted);
const ReportFormat *report_format_at(guint index);
const char *report_format_name(const ReportFormat *format);
const char *report_format_description(const ReportFormat *format); /* one line, no full stop */
ReportFormatFlags report_format_flags(const ReportFormat *format);

/*
 * Writes now (against base, unless NULL) to out, which is neither flushed to disk nor closed. A failure may leave a
 * part of the report behind in out.
 */
gboolean report_write(const ReportFormat *format, const ReportInput *now, const ReportInput *base,
                      const ReportOptions *options, GOutputStream *out, GError **error);

const char *report_value_name(ProfileValue value);                    /* "inuse_space" */
gboolean report_value_by_name(const char *name, ProfileValue *value); /* FALSE: unknown, *value untouched */
const char *report_granularity_name(ReportGranularity by);            /* "function" */
gboolean report_granularity_by_name(const char *name, ReportGranularity *by);
gboolean report_sort_by_name(const char *name, ReportSort *sort);

#endif
