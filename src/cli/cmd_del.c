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

const Command cmd_del = {
    .name = "del",
    .synopsis = "FILE [THRESHOLD [[BASE] START [END]]]",
    .summary = "show which arenas grow, against an earlier sample",
    .description = "Prints, for each sample behind START, every arena of which allocated, active or mapped memory has "
                   "changed by THRESHOLD since sample START, or with --successive since the sample before. With four "
                   "numbers they are THRESHOLD BASE START END, as Aerospike's jemdel takes them: samples from START on "
                   "are compared with BASE.\n\n" ANALYSIS_SOURCE_TEXT,
    .options = options,
    .operand = OPERAND_FILE,
    .operands_min = 1,
    .operands_max = 5,
    .run = run,
};
