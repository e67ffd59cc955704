/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/analyses.h"

static const GOptionEntry options[] = {
    ANALYSIS_ENTRIES,
    {0},
};

static int
run(char **operands, GError **error)
{
    return analyses_run(ANALYSIS_ABSOLUTE, operands, error);
}

const Command cmd_abs = {
    .name = "abs",
    .synopsis = ANALYSIS_SYNOPSIS,
    .summary = "show which arenas are large, sample by sample",
    .description = "Prints, for each sample, every arena of which allocated, active or mapped memory reaches "
                   "THRESHOLD.\n\n" ANALYSIS_SOURCE_TEXT,
    .options = options,
    .operand = OPERAND_FILE,
    .operands_min = 1,
    .operands_max = 4,
    .run = run,
};
