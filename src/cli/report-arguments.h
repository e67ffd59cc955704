/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of report, diff and growth: options, reading sources and writing the result. */
#ifndef JESCOPE_CLI_REPORT_ARGUMENTS_H
#define JESCOPE_CLI_REPORT_ARGUMENTS_H

#include "cli/command.h"
#include "cli/confined-work.h"
#include "cli/terminal.h"
#include "routes/report-options.h"
#include "source/comparison.h"

/* The variables of the option tables: each command that uses the rows below has `static ReportArguments arguments =
 * REPORT_ARGUMENTS_NONE`. */
typedef struct {
    char *format, *output, *value, *sort, *by, *base, *thread;
    char *focus, *ignore, *exclude, *retain, *show_from, *fold;
    char *min_fraction, *edge_fraction;
    char **debug_paths;
    char *sysroot, *title;
    char *part, *zoom, *function;
    int count;        /* -1: not given */
    int width, depth; /* likewise */
    int pid;          /* 0: not given */
    uid_t
        owner; /* of the program that wrote the dumps, with whose rights files are opened; 0: the owner of the dumps */
    gboolean cumulative, no_inlines, error, partial, debuginfod, callers, jeprof, bytes, keep_allocator, wrappers;
    gboolean json;
    gboolean no_files, public_files;
} ReportArguments;

#define REPORT_ARGUMENTS_NONE                                                                                          \
    {                                                                                                                  \
        .count = -1, .width = -1, .depth = -1                                                                          \
    }

#define REPORT_ARG_TEXT     G_OPTION_ARG_STRING
#define REPORT_ARG_WORDS    G_OPTION_ARG_STRING
#define REPORT_ARG_REGEX    G_OPTION_ARG_STRING
#define REPORT_ARG_FRACTION G_OPTION_ARG_STRING
#define REPORT_ARG_FLAG     G_OPTION_ARG_NONE
#define REPORT_ARG_COUNT    G_OPTION_ARG_INT
#define REPORT_ENTRY(name, letter, kind, member, about, argument)                                                      \
    {name, letter, 0, REPORT_ARG_##kind, &arguments.member, about, argument},

/* Rows of option tables; each command's table includes the groups that apply to it. */
#define REPORT_SELECT_ENTRIES REPORT_SELECT_OPTIONS(REPORT_ENTRY)

/* Sources of names: files, which only a local user may choose. */
#define REPORT_FILES_ENTRIES                                                                                            \
    {"debug-path",                                                                                                      \
     0,                                                                                                                 \
     0,                                                                                                                 \
     G_OPTION_ARG_FILENAME_ARRAY,                                                                                       \
     &arguments.debug_paths,                                                                                            \
     "look for debug files here too (may be repeated)",                                                                 \
     "DIRECTORY"},                                                                                                      \
        {"sysroot", 0, 0, G_OPTION_ARG_FILENAME, &arguments.sysroot, "where the program's files are", "DIRECTORY"},     \
        {"debuginfod", 0, 0, G_OPTION_ARG_NONE, &arguments.debuginfod, "ask debuginfod servers for debug files", NULL}, \
        {"no-files",                                                                                                    \
         0,                                                                                                             \
         0,                                                                                                             \
         G_OPTION_ARG_NONE,                                                                                             \
         &arguments.no_files,                                                                                           \
         "use only the names that the dump itself has; open no other file",                                             \
         NULL},                                                                                                         \
        {"public-files",                                                                                                \
         0,                                                                                                             \
         0,                                                                                                             \
         G_OPTION_ARG_NONE,                                                                                             \
         &arguments.public_files,                                                                                       \
         "name functions only from files that every user may read, and from those that the process has mapped",         \
         NULL},

#define REPORT_NAMES_ENTRIES REPORT_READ_OPTIONS(REPORT_ENTRY) REPORT_FILES_ENTRIES

#define REPORT_SHAPE_ENTRIES                                                                                           \
    {"format", 'f', 0, G_OPTION_ARG_STRING, &arguments.format, "output format", REPORT_FORMAT_WORDS},                  \
        {"output",                                                                                                     \
         'o',                                                                                                          \
         0,                                                                                                            \
         G_OPTION_ARG_FILENAME,                                                                                        \
         &arguments.output,                                                                                            \
         "write to this new file; its suffix chooses the format",                                                      \
         "FILE"},                                                                                                      \
        {"json", 0, 0, G_OPTION_ARG_NONE, &arguments.json, "print JSON; the same as --format=json", NULL},             \
        TERMINAL_COLOR_OPTION, REPORT_SHAPE_OPTIONS(REPORT_ENTRY)

/* Writes the text before a report, in the confined child. */
typedef gboolean ReportPreface(const Comparison *compared, const ReportOptions *options, GOutputStream *out,
                               gconstpointer data, GError **error);

/* Defaults of a command. */
typedef struct {
    ReportSort sort;
    ReportPreface *preface; /* NULL: none */
    gconstpointer preface_data;
    guint seconds; /* of processor time; 0: report_seconds() of the sources */
} ReportDefaults;

/* Report options that own their data. */
typedef struct {
    ReportOptions options;
    GRegex *focus, *ignore, *exclude, *retain, *show_from, *fold;
} ReportPrepared;

void report_prepared_clear(ReportPrepared *prepared);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ReportPrepared, report_prepared_clear)

/* The report options for arguments. Errors are CLI_ERROR_USAGE. */
gboolean report_prepare(ReportPrepared *prepared, const ReportArguments *arguments, const ReportDefaults *defaults,
                        GError **error);
void report_fill_source_options(SourceOptions *options, const ReportArguments *arguments);

/* The processor time in seconds for a report of what AUTHOR, or an author in OPTIONS, chose in the files DESCRIPTORS
 * (of int): INPUT_FILE_FOREIGN_REPORT_SECONDS if one of them, or the owner of one of the files, is another user, or a
 * debuginfod server decides what is read; otherwise 0: as the sandbox allows. */
guint report_seconds(const GArray *descriptors, uid_t author, const SourceOptions *options);

/* A status that the work of report_confined() may return: there is nothing to write. */
enum { REPORT_NOT_WRITTEN = 64 };

typedef struct {
    ConfinedWork *work; /* reads and symbolizes sources */
    gpointer data;
    const GArray *descriptors; /* of int: that the child keeps, including those of the sources */
    const char *output;        /* NULL: stdout */
    guint seconds;             /* of processor time; 0: as the sandbox allows */
} ReportWork;

/* Runs REPORT in a confined child (confine/confined.h) and writes its result. Returns the exit status. */
int report_confined(const ReportWork *report, GError **error);

/* Opens the sources of a report, like comparison_begin(). COMPARISON must be cleared, also on error. */
typedef gboolean ReportBegin(Comparison *comparison, gpointer data, const SourceOptions *options, GError **error);

/* Writes the report on the sources that begin(data) opens. Returns the exit status. */
int report_run_begun(const ReportArguments *arguments, const ReportDefaults *defaults, ReportBegin *begin,
                     gpointer data, GError **error);

/* Writes the report on `now` (operands, merged, NULL-terminated) against `base` (or NULL). Returns the exit status. */
int report_run(const ReportArguments *arguments, char **now, char *base, const ReportDefaults *defaults,
               GError **error);

#endif
