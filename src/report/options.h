/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a report, and their names. */
#ifndef JESCOPE_REPORT_OPTIONS_H
#define JESCOPE_REPORT_OPTIONS_H

#include "confine/target-files.h"
#include "profile/profile.h"

/* The unit of one row, frame or node of a report. */
typedef enum {
    REPORT_BY_FUNCTION,
    REPORT_BY_LINE,
    REPORT_BY_FILE,
    REPORT_BY_OBJECT,
    REPORT_BY_ADDRESS,
    REPORT_BY_SIZE,   /* rows are size classes; stacks are by function, below the class of their objects */
    REPORT_BY_THREAD, /* the same for threads; the profile must have been read with them */
} ReportGranularity;

typedef enum {
    REPORT_SORT_FLAT,
    REPORT_SORT_CUMULATIVE,
    REPORT_SORT_CHANGE, /* absolute change against the base; without a base like REPORT_SORT_FLAT */
    REPORT_SORT_NAME,
} ReportSort;

typedef enum {
    REPORT_DEFAULT = 0,
    REPORT_SHOW_ERRORS = 1 << 0,    /* text: the standard error beside every value */
    REPORT_JEPROF_LAYOUT = 1 << 1,  /* text: only jeprof's columns, units and short names */
    REPORT_CALLERS = 1 << 2,        /* tree, flamegraph: bottom-up, from the allocation to its callers */
    REPORT_KEEP_ALLOCATOR = 1 << 3, /* keep the allocator's own frames */
    REPORT_EXACT = 1 << 4,          /* text, tree: bytes instead of KiB, MiB... */
    REPORT_WRAPPERS = 1 << 5,       /* keep the frames between the program and its allocator */
    REPORT_REFUSE_EMPTY = 1 << 6,   /* fail with REPORT_ERROR_EMPTY or _SAME instead of writing nothing */
    REPORT_COLOR = 1 << 7,          /* text, tree, stacks: for a terminal with colours */
} ReportFlags;

/* What the format page contains. */
typedef enum {
    REPORT_PART_ALL, /* the graph and the table */
    REPORT_PART_GRAPH,
    REPORT_PART_TABLE,
    REPORT_PART_STACKS,
    REPORT_PART_WHOLE, /* graph, table and stacks */
} ReportPart;

enum {
    REPORT_WIDTH_MIN = 50,
    REPORT_WIDTH_MAX = 8192,
    REPORT_WIDTH_DEFAULT = 1200,
    REPORT_DEPTH_MAX = 4096,
    REPORT_DEPTH_DEFAULT = 256,
};

/* Options of the format page. */
typedef struct {
    guint32 width;        /* pixels of the graph: narrower frames are hidden */
    guint32 depth;        /* levels below its root */
    guint64 zoom;         /* page_graph_key() of the frame that is its root; 0: the outermost */
    const char *function; /* ViewNode.display of a function whose callers and callees are shown instead; NULL: none */
    ReportPart part;
} ReportPage;

#define REPORT_ALL G_MAXUINT32 /* no limit */

typedef struct {
    ProfileValue value;
    ReportGranularity by;
    ReportSort sort;
    ReportFlags flags;
    guint32 limit;         /* rows or graph nodes; 0: the format's default, REPORT_ALL: all */
    gdouble min_fraction;  /* fraction of the total below which nodes are folded; negative: the format's default */
    gdouble edge_fraction; /* callgraph: edges below this share of the total are not drawn; negative: the default */
    /*
     * jeprof's meaning: focus keeps and ignore drops whole stacks with a matching frame (name, file:line or address);
     * retain keeps and exclude drops single frames by name, and a stack that loses all of them. NULL: not used.
     */
    const GRegex *focus, *ignore, *retain, *exclude;
    /* Drops the frames above the outermost function that matches, and stacks without one; NULL: not used. */
    const GRegex *show_from;
    const GRegex *fold;       /* functions to charge to their callers, in addition to known wrappers, or NULL */
    const char *thread;       /* uid ("3" or "t3") or name; the profile must have been read with threads; NULL: all */
    const char *const *notes; /* notes on the source for every reader, NULL-terminated, or NULL */
    TargetFiles *files;       /* source: opens the files; NULL: no lines are shown */
    ReportPage page;
    const char *root; /* source: a prefix of their names, NULL: none */
} ReportOptions;

/* The defaults of every option: inuse_space by function, sorted flat. */
void report_options_init(ReportOptions *options);

const char *report_value_name(ProfileValue value);                    /* "inuse_space" */
gboolean report_value_by_name(const char *name, ProfileValue *value); /* FALSE: unknown, *value untouched */
const char *report_granularity_name(ReportGranularity by);            /* "function" */
gboolean report_granularity_by_name(const char *name, ReportGranularity *by);
gboolean report_sort_by_name(const char *name, ReportSort *sort);
gboolean report_part_by_name(const char *name, ReportPart *part);

#endif
