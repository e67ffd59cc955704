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

static const Example examples[] = {
    {"jescope eff server.log", "show how much of their mapped memory large arenas use"},
    {0},
};

const Command cmd_eff = {
    .name = "eff",
    .synopsis = ANALYSIS_SYNOPSIS,
    .summary = "show how much of its mapped memory each arena uses",
    .description = "For each sample, prints what share of its mapped memory is allocated and active, for every arena "
                   "with at least THRESHOLD of one of the three.\n\n" ANALYSIS_SOURCE_TEXT,
    .examples = examples,
    .options = options,
    .operand = OPERAND_FILE,
    .operands_min = 1,
    .operands_max = 4,
    .run = run,
};
