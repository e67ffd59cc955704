/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of abs, del and eff: reading samples of a file of any kind, operands, output. */
#ifndef JESCOPE_CLI_ANALYSES_H
#define JESCOPE_CLI_ANALYSES_H

#include "cli/command.h"

#include "stats/analysis.h"
#include "stats/reader.h"

typedef struct {
    gboolean total;
    gboolean successive;
    gboolean json;
    char *target; /* in a history file; NULL: the only one in it */
} AnalysisOptions;

extern AnalysisOptions analysis_options;

#define ANALYSIS_ENTRIES                                                                                               \
    {.long_name = "total", .arg_data = &analysis_options.total, .description = "the process instead of its arenas"},   \
        {.long_name = "json", .arg_data = &analysis_options.json, .description = "print JSON"},                        \
    {                                                                                                                  \
        .long_name = "target", .arg = G_OPTION_ARG_STRING, .arg_data = &analysis_options.target,                       \
        .description = "whose samples, if a history file has several", .arg_description = "NAME"                       \
    }

#define ANALYSIS_SYNOPSIS "FILE [THRESHOLD [START [END]]]"

#define ANALYSIS_SOURCE_TEXT                                                                                           \
    "FILE holds the samples: a log with statistics in it (text or JSON, '-' is standard input), a history file of "    \
    "jescope, or a jemdata.py of Aerospike's tools. They are numbered from 0.\n\n"                                     \
    "THRESHOLD is in MiB (default 200; 0 shows everything). START is the first sample (default 0), END the first one " \
    "that is left out (default: none)."

/* Whether FILE, which may not exist, is a history file. */
gboolean analyses_is_history(const char *file);

/* Reports skipped parts of FILE on stderr; FALSE if there are none. */
gboolean analyses_warn(const char *file, const StatsReport *report);

/* Loads all samples of FILE (TARGET: as in AnalysisOptions; NULL: the only one) and prints the analysis of REQUEST, in
 * a confined child. An end of ANALYSES_END is the last sample. Returns the exit status; STATUS_PARTIAL if parts of a
 * damaged log or history were skipped, which are reported on stderr. */
#define ANALYSES_END G_MAXINT64
int analyses_print(const char *file, const char *target, const AnalysisRequest *request, GError **error);

/* Parses the numbers in OPERANDS after the file. DEL has a fourth one: THRESHOLD BASE START END. */
gboolean analyses_request(char **operands, AnalysisRequest *request, GError **error);

/* Runs such a command and returns its exit status. */
int analyses_run(AnalysisKind kind, char **operands, GError **error);

#endif
