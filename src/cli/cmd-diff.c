/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pprof-options.h"
#include "cli/report-arguments.h"
#include "cli/via.h"

static ReportArguments arguments = REPORT_ARGUMENTS_NONE;

static const GOptionEntry options[] = {
    REPORT_SHAPE_ENTRIES REPORT_SELECT_ENTRIES REPORT_NAMES_ENTRIES VIA_OPTION,
    MAX_OUTPUT_OPTION,
    FORCE_OPTION,
    {0},
};

static int
run(char **operands, GError **error)
{
    static const ReportDefaults defaults = {.sort = REPORT_SORT_CHANGE};

    return report_run(&arguments, operands + 1, operands[0], &defaults, error);
}

static const Example examples[] = {
    {"jescope diff before.heap after.heap", "show what changed; changes within sampling noise are marked"},
    {0},
};

const Command cmd_diff = {
    .name = "diff",
    .synopsis = "BEFORE AFTER",
    .summary = "show what changed between two dumps",
    .description =
        "The same as 'report AFTER --base BEFORE': functions by absolute change. Both may be dump files or live "
        "targets, of the same run, of another run, or of another build: functions are compared by name.\n"
        "\n"
        "A change that sampling alone explains (less than 1.96 standard errors) is marked as noise.",
    .translate = pprof_options_translate,
    .examples = examples,
    .options = options,
    .operand = OPERAND_SOURCE,
    .operands_min = 2,
    .operands_max = 2,
    .run = run,
};
