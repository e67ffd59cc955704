/* SPDX-License-Identifier: Apache-2.0 */
/* What report, diff and growth share: their options, reading the sources and writing the result. */
#ifndef JESCOPE_CLI_REPORT_ARGUMENTS_H
#define JESCOPE_CLI_REPORT_ARGUMENTS_H

#include "cli/command.h"
#include "cli/source.h"
#include "routes/report-options.h"

/* Where the option tables put what they find; one command runs per process. */
typedef struct {
    char *format, *output, *value, *sort, *by, *base, *thread;
    char *focus, *ignore, *exclude, *retain;
    char *min_fraction, *edge_fraction;
    char **debug_paths;
    char *sysroot, *title;
    int count; /* -1: not given */
    int pid;   /* 0: not given */
    gboolean cumulative, no_inlines, error, partial, debuginfod, callers, jeprof, bytes, keep_allocator;
} ReportArguments;

extern ReportArguments report_arguments;

#define REPORT_ARG_TEXT     G_OPTION_ARG_STRING
#define REPORT_ARG_WORDS    G_OPTION_ARG_STRING
#define REPORT_ARG_REGEX    G_OPTION_ARG_STRING
#define REPORT_ARG_FRACTION G_OPTION_ARG_STRING
#define REPORT_ARG_FLAG     G_OPTION_ARG_NONE
#define REPORT_ARG_COUNT    G_OPTION_ARG_INT
#define REPORT_ENTRY(name, letter, kind, member, about, argument)                                                      \
    {name, letter, 0, REPORT_ARG_##kind, &report_arguments.member, about, argument},

/* Rows of option tables; each table takes the groups that make sense for its command. */
#define REPORT_SELECT_ENTRIES REPORT_SELECT_OPTIONS(REPORT_ENTRY)

/* Where names come from: files, which only a local user may choose. */
#define REPORT_FILES_ENTRIES                                                                                            \
    {"debug-path",                                                                                                      \
     0,                                                                                                                 \
     0,                                                                                                                 \
     G_OPTION_ARG_FILENAME_ARRAY,                                                                                       \
     &report_arguments.debug_paths,                                                                                     \
     "look for debug files here too (may be repeated)",                                                                 \
     "DIRECTORY"},                                                                                                      \
        {"sysroot",  0, 0, G_OPTION_ARG_FILENAME, &report_arguments.sysroot, "where the program's files are",           \
         "DIRECTORY"},                                                                                                  \
        {"debuginfod", 0, 0, G_OPTION_ARG_NONE, &report_arguments.debuginfod, "ask debuginfod servers for debug files", \
         NULL},

#define REPORT_NAMES_ENTRIES REPORT_READ_OPTIONS(REPORT_ENTRY) REPORT_FILES_ENTRIES

#define REPORT_SHAPE_ENTRIES                                                                                           \
    {"format", 'f', 0, G_OPTION_ARG_STRING, &report_arguments.format, "output format", REPORT_FORMAT_WORDS},           \
        {"output",                                                                                                     \
         'o',                                                                                                          \
         0,                                                                                                            \
         G_OPTION_ARG_FILENAME,                                                                                        \
         &report_arguments.output,                                                                                     \
         "write to this new file; its suffix chooses the format",                                                      \
         "FILE"},                                                                                                      \
        REPORT_SHAPE_OPTIONS(REPORT_ENTRY)

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
