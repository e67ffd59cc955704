/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/analyses.h"

static const GOptionEntry options[] = {
    ANALYSIS_ENTRIES,
    {.long_name = "successive",
     .arg_data = &analysis_options.successive,
     .description = "compare each sample with the one before it"},
    {0},
};

static int
run(char **operands, GError **error)
{
    return analyses_run(ANALYSIS_DELTA, operands, error);
}

static const Example examples[] = {
    {"jescope del server.log 50 0 10", "show the arenas that changed by 50 MiB over the first ten samples"},
    {0},
};

const Command cmd_del = {
    .name = "del",
    .synopsis = "FILE [THRESHOLD [[BASE] START [END]]]",
    .summary = "show which arenas grow, against an earlier sample",
    .description = "For each sample after START, prints every arena whose allocated, active or mapped memory changed "
                   "by at least THRESHOLD since sample START or, with --successive, since the previous sample. Four "
                   "numbers are THRESHOLD, BASE, START and END, as Aerospike's jemdel takes them: the samples from "
                   "START on are compared with BASE.\n\n" ANALYSIS_SOURCE_TEXT,
    .examples = examples,
    .options = options,
    .operand = OPERAND_FILE,
    .operands_min = 1,
    .operands_max = 5,
    .run = run,
};
