/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report-arguments.h"
#include "cli/via.h"

static const GOptionEntry options[] = {
    REPORT_SHAPE_ENTRIES{"base", 0, 0, G_OPTION_ARG_STRING, &report_arguments.base,
                         "report what changed since this one", "SOURCE"},
    {"pid", 0, 0, G_OPTION_ARG_INT, &report_arguments.pid,
     "the live process that a dump file is of: its own files are read, even if they have been replaced", "PID"},
    {"title", 0, 0, G_OPTION_ARG_STRING, &report_arguments.title, "what to call the source in the report", "TEXT"},
    REPORT_SELECT_ENTRIES REPORT_NAMES_ENTRIES VIA_OPTION,
    {0},
};

static int
run(char **operands, GError **error)
{
    static const ReportDefaults defaults = {.sort = REPORT_SORT_FLAT};
    static const ReportDefaults base_defaults = {.sort = REPORT_SORT_CHANGE};

    return report_run(operands, g_strv_length(operands), report_arguments.base,
                      report_arguments.base ? &base_defaults : &defaults, error);
}

const Command cmd_report = {
    .name = "report",
    .synopsis = "SOURCE...",
    .summary = "show what holds the memory",
    .description =
        "SOURCE is a heap dump (jemalloc 3.x to head, gperftools; plain, gzip or zstd; '-' is standard input), several "
        "of "
        "them, which are added up, or a live target, of which a dump is taken.\n"
        "\n"
        "Values are unbiased estimates of what the samples stand for; --error shows their standard error. flat is what "
        "a "
        "function allocated itself, cum includes all it called. Frames of the allocator itself are left out.\n"
        "\n"
        "--focus and --ignore choose stacks, --retain and --exclude frames; all take Perl regular expressions and look "
        "at "
        "names, focus and ignore at FILE:LINE and addresses too.\n"
        "\n"
        "With --base the report shows the change; a change that sampling alone explains is marked as noise.\n"
        "\n"
        "With -o the suffix chooses the format: .txt, .folded, .pb.gz, .svg, .dot, .json...; an existing file is never "
        "overwritten.",
    .options = options,
    .operand = OPERAND_SOURCE,
    .operands_min = 1,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
