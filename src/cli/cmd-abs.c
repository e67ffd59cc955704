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

static const Example examples[] = {
    {"jescope abs server.log 100", "show the arenas of at least 100 MiB in each sample"},
    {0},
};

const Command cmd_abs = {
    .name = "abs",
    .synopsis = ANALYSIS_SYNOPSIS,
    .summary = "show which arenas are large, sample by sample",
    .description = "For each sample, prints every arena whose allocated, active or mapped memory is at least "
                   "THRESHOLD.\n\n" ANALYSIS_SOURCE_TEXT,
    .examples = examples,
    .options = options,
    .operand = OPERAND_FILE,
    .operands_min = 1,
    .operands_max = 4,
    .run = run,
};
