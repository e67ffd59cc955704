/* SPDX-License-Identifier: Apache-2.0 */
/* What abs, del and eff have in common: the samples of a file of any kind, their operands, their output. */
#ifndef JESCOPE_CLI_ANALYSES_H
#define JESCOPE_CLI_ANALYSES_H

#include "cli/command.h"

#include "stats/analysis.h"
#include "stats/reader.h"

typedef struct {
    gboolean total;
    gboolean successive;
    char *target; /* in a history file; NULL: the only one */
} AnalysisOptions;

extern AnalysisOptions analysis_options;

#define ANALYSIS_ENTRIES                                                                                               \
    {.long_name = "total", .arg_data = &analysis_options.total, .description = "the process instead of its arenas"},   \
    {                                                                                                                  \
        .long_name = "target", .arg = G_OPTION_ARG_STRING, .arg_data = &analysis_options.target,                       \
        .description = "whose samples, if a history file has several", .arg_description = "NAME"                       \
    }

#define ANALYSIS_SYNOPSIS "FILE [THRESHOLD [START [END]]]"

#define ANALYSIS_SOURCE_TEXT                                                                                           \
    "FILE holds the samples: a log with statistics in it (text or JSON, '-' is standard input), a history file of "    \
    "jescope, or a jemdata.py of Aerospike's tools. They are numbered from 0.\n\n"                                     \
    "THRESHOLD is in MiB (200 if it is not given; 0 shows everything), START the first sample (0), END the one "       \
    "behind "                                                                                                          \
    "the last (all of them)."

/* Says on stderr what was left out of FILE; FALSE if it was nothing. */
gboolean analyses_warn(const char *file, const StatsReport *report);

/* All samples of FILE. What was left out of a damaged log is said on stderr, and PARTIAL set. */
Iterations *analyses_load(const char *file, const char *target, gboolean *partial, GError **error);

/* The numbers in OPERANDS, behind the file. DEL takes a fourth one: THRESHOLD BASE START END. */
gboolean analyses_request(char **operands, AnalysisRequest *request, GError **error);

/* An AnalysisSink for stdout. */
gboolean analyses_print(const char *text, gsize length, gpointer data, GError **error);

/* A command from its operands to its exit status. */
int analyses_run(AnalysisKind kind, char **operands, GError **error);

#endif
