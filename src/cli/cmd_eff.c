/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/analyses.h"

static const GOptionEntry options[] = {
    ANALYSIS_ENTRIES,
    {0},
};

static int
run(char **operands, GError **error)
{
    return analyses_run(ANALYSIS_EFFICIENCY, operands, error);
}

const Command cmd_eff = {
    .name = "eff",
    .synopsis = ANALYSIS_SYNOPSIS,
    .summary = "show how much of what arenas map they use",
    .description = "Prints, for each sample, the allocated and active share of mapped memory of every arena of which "
                   "one of the three reaches THRESHOLD.\n\n" ANALYSIS_SOURCE_TEXT,
    .options = options,
    .operand = OPERAND_FILE,
    .operands_min = 1,
    .operands_max = 4,
    .run = run,
};
