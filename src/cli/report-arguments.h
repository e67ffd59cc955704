/* SPDX-License-Identifier: Apache-2.0 */
/* What report, diff and growth share: their options, reading the sources and writing the result. */
#ifndef JESCOPE_CLI_REPORT_ARGUMENTS_H
#define JESCOPE_CLI_REPORT_ARGUMENTS_H

#include "cli/command.h"
#include "cli/source.h"

/* Where the option tables put what they find; one command runs per process. */
typedef struct {
    char *format, *output, *value, *sort, *by, *base, *thread;
    char *focus, *ignore, *exclude, *retain;
    char *min_fraction, *edge_fraction;
    char **debug_paths;
    char *sysroot;
    int count; /* -1: not given */
    gboolean cumulative, no_inlines, error, partial, debuginfod, callers, jeprof, bytes, keep_allocator;
} ReportArguments;

extern ReportArguments report_arguments;

/* Rows of option tables; each table takes the groups that make sense for its command. */
#define REPORT_SELECT_ENTRIES                                                                                            \
    {"value",                                                                                                            \
     0,                                                                                                                  \
     0,                                                                                                                  \
     G_OPTION_ARG_STRING,                                                                                                \
     &report_arguments.value,                                                                                            \
     "what to count",                                                                                                    \
     "inuse_space|inuse_objects|alloc_space|alloc_objects"},                                                             \
        {"focus", 0, 0, G_OPTION_ARG_STRING, &report_arguments.focus, "only stacks with a frame that matches", "REGEX"}, \
        {"ignore", 0, 0, G_OPTION_ARG_STRING, &report_arguments.ignore, "no stacks with a frame that matches", "REGEX"}, \
        {"exclude", 0, 0, G_OPTION_ARG_STRING, &report_arguments.exclude, "drop frames that match", "REGEX"},            \
        {"retain", 0, 0, G_OPTION_ARG_STRING, &report_arguments.retain, "drop frames that do not match", "REGEX"},       \
        {"keep-allocator",                                                                                               \
         0,                                                                                                              \
         0,                                                                                                              \
         G_OPTION_ARG_NONE,                                                                                              \
         &report_arguments.keep_allocator,                                                                               \
         "keep the allocator's own frames",                                                                              \
         NULL},                                                                                                          \
    {                                                                                                                    \
        "thread", 0, 0, G_OPTION_ARG_STRING, &report_arguments.thread, "only what this thread allocated",                \
            "NUMBER|NAME"                                                                                                \
    }

#define REPORT_NAMES_ENTRIES                                                                                           \
    {"no-inlines", 0, 0, G_OPTION_ARG_NONE, &report_arguments.no_inlines, "physical functions only", NULL},            \
        {"partial", 0, 0, G_OPTION_ARG_NONE, &report_arguments.partial, "use what is whole of a damaged dump", NULL},  \
        {"debug-path",                                                                                                 \
         0,                                                                                                            \
         0,                                                                                                            \
         G_OPTION_ARG_FILENAME_ARRAY,                                                                                  \
         &report_arguments.debug_paths,                                                                                \
         "look for debug files here too (may be repeated)",                                                            \
         "DIRECTORY"},                                                                                                 \
        {"sysroot",  0, 0, G_OPTION_ARG_FILENAME, &report_arguments.sysroot, "where the program's files are",          \
         "DIRECTORY"},                                                                                                 \
    {                                                                                                                  \
        "debuginfod", 0, 0, G_OPTION_ARG_NONE, &report_arguments.debuginfod, "ask debuginfod servers for debug files", \
            NULL                                                                                                       \
    }

#define REPORT_SHAPE_ENTRIES                                                                                            \
    {"format", 'f', 0, G_OPTION_ARG_STRING, &report_arguments.format, "output format", REPORT_FORMAT_WORDS},            \
        {"output",                                                                                                      \
         'o',                                                                                                           \
         0,                                                                                                             \
         G_OPTION_ARG_FILENAME,                                                                                         \
         &report_arguments.output,                                                                                      \
         "write to this new file; its suffix chooses the format",                                                       \
         "FILE"},                                                                                                       \
        {"sort", 0, 0, G_OPTION_ARG_STRING, &report_arguments.sort, "order of rows", "flat|cum|change|name"},           \
        {"cum", 0, 0, G_OPTION_ARG_NONE, &report_arguments.cumulative, "same as --sort=cum", NULL},                     \
        {"count", 'n', 0, G_OPTION_ARG_INT, &report_arguments.count, "rows or graph nodes shown at most; 0: all", "N"}, \
        {"by",                                                                                                          \
         0,                                                                                                             \
         0,                                                                                                             \
         G_OPTION_ARG_STRING,                                                                                           \
         &report_arguments.by,                                                                                          \
         "what one row stands for",                                                                                     \
         "function|line|file|object|address"},                                                                          \
        {"min-fraction",                                                                                                \
         0,                                                                                                             \
         0,                                                                                                             \
         G_OPTION_ARG_STRING,                                                                                           \
         &report_arguments.min_fraction,                                                                                \
         "fold away what holds less of the total",                                                                      \
         "FRACTION"},                                                                                                   \
        {"edge-fraction",                                                                                               \
         0,                                                                                                             \
         0,                                                                                                             \
         G_OPTION_ARG_STRING,                                                                                           \
         &report_arguments.edge_fraction,                                                                               \
         "callgraph: leave out edges that hold less of the total",                                                      \
         "FRACTION"},                                                                                                   \
        {"callers",                                                                                                     \
         0,                                                                                                             \
         0,                                                                                                             \
         G_OPTION_ARG_NONE,                                                                                             \
         &report_arguments.callers,                                                                                     \
         "tree, flamegraph: from allocations up to callers",                                                            \
         NULL},                                                                                                         \
        {"error", 0, 0, G_OPTION_ARG_NONE, &report_arguments.error, "text: show the standard error of every value",     \
         NULL},                                                                                                         \
        {"bytes", 0, 0, G_OPTION_ARG_NONE, &report_arguments.bytes, "text, tree: exact bytes", NULL},                   \
    {                                                                                                                   \
        "jeprof", 0, 0, G_OPTION_ARG_NONE, &report_arguments.jeprof, "text: jeprof's layout", NULL                      \
    }

#define REPORT_FORMAT_WORDS                                                                                            \
    "text|tree|folded|flamegraph|callgraph|callgraph-svg|speedscope|pprof|symbolized|source|json"

/* Defaults of a command, for what its user leaves open. */
typedef struct {
    ReportSort sort;
} ReportDefaults;

/* Report options that own what they point to. */
typedef struct {
    ReportOptions options;
    GRegex *focus, *ignore, *exclude, *retain;
} ReportPrepared;

void report_prepared_clear(ReportPrepared *prepared);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ReportPrepared, report_prepared_clear)

/* What report_arguments ask for. The errors are CLI_ERROR_USAGE. */
gboolean report_prepare(ReportPrepared *prepared, const ReportDefaults *defaults, GError **error);
void report_fill_source_options(SourceOptions *options);

/* Writes to report_arguments.output or stdout. */
typedef gboolean ReportEmit(GOutputStream *out, gpointer user, GError **error);
gboolean report_emit(ReportEmit *emit, gpointer user, GError **error);

/* Reports `now` (n_now operands, merged) against `base` (or NULL). Returns the exit status. */
int report_run(char *const *now, guint n_now, char *base, const ReportDefaults *defaults, GError **error);

#endif
