/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pprof-options.h"
#include "cli/report-arguments.h"
#include "cli/via.h"
#include "source/source.h"

static gboolean every;
static gboolean children;

static ReportArguments arguments = REPORT_ARGUMENTS_NONE;

static const GOptionEntry options[] = {
    REPORT_SHAPE_ENTRIES{"base", 0, 0, G_OPTION_ARG_STRING, &arguments.base, "report the change since this one",
                         "SOURCE"},
    {"pid", 0, 0, G_OPTION_ARG_INT, &arguments.pid,
     "live process of the dump; functions are named from its files, even if these were replaced", "PID"},
    {"title", 0, 0, G_OPTION_ARG_STRING, &arguments.title, "title of the report", "TEXT"},
    {"all", 0, 0, G_OPTION_ARG_NONE, &every, "add up all processes of that name", NULL},
    {"children", 0, 0, G_OPTION_ARG_NONE, &children, "add up a process and all its descendants", NULL},
    REPORT_SELECT_ENTRIES REPORT_NAMES_ENTRIES VIA_OPTION,
    MAX_OUTPUT_OPTION,
    FORCE_OPTION,
    {0},
};

static int
run(char **operands, GError **error)
{
    static const ReportDefaults defaults = {.sort = REPORT_SORT_FLAT};
    static const ReportDefaults base_defaults = {.sort = REPORT_SORT_CHANGE};

    g_auto(GStrv) family = NULL;
    g_autoptr(GPtrArray) left_out = g_ptr_array_new_with_free_func(g_free);
    int status;

    if (every || children) {
        family = source_expand(operands, children ? CANDIDATES_FAMILY : CANDIDATES_NAMED, left_out, error);
        for (guint i = 0; i < left_out->len; i++)
            command_say("left out: %s", (const char *)left_out->pdata[i]);
        if (!family)
            return STATUS_FAILED;
        operands = family;
    }
    status = report_run(&arguments, operands, arguments.base, arguments.base ? &base_defaults : &defaults, error);
    return status == STATUS_DONE && left_out->len > 0 ? STATUS_PARTIAL : status;
}

static const Example examples[] = {
    {"jescope report redis-server.4711.20261121T103000.heap", "show which functions hold the memory"},
    {"jescope report redis-server", "the same, from the live process"},
    {"jescope report busy.heap --format=tree", "show who called them"},
    {"jescope report busy.heap --focus=handle_login -o login.svg", "draw a flame graph of what handle_login() holds"},
    {"jescope report --all nginx", "add up all processes called nginx"},
    {0},
};

const Command cmd_report = {
    .name = "report",
    .synopsis = "SOURCE...",
    .summary = "show what holds the memory",
    .description =
        "SOURCE is a heap dump (jemalloc 3.x to head, gperftools; plain, gzip or zstd; '-' is standard input) or a "
        "live target, which is dumped. Several dumps are added up.\n"
        "\n"
        "Values are unbiased estimates of the program's memory; --error shows their standard errors. flat: memory that "
        "a "
        "function allocated itself; cum: including the functions that it called. Frames of the allocator are omitted, "
        "and "
        "allocations of wrappers (zmalloc, g_malloc, operator new...) and of std:: code are charged to their callers; "
        "--wrappers shows them, --fold adds further wrappers.\n"
        "\n"
        "--focus and --ignore select stacks, --retain and --exclude frames, --show-from the first frame of stacks. All "
        "are "
        "Perl regular expressions for function names; --focus and --ignore also match FILE:LINE and addresses.\n"
        "\n"
        "With --base, the report shows the change; changes within the sampling error are marked as noise.\n"
        "\n"
        "With -o, the suffix selects the format: .txt, .folded, .pb.gz, .svg, .dot, .json...; existing files are never "
        "overwritten.\n"
        "\n"
        "Formats:\n"
#define FORMAT(writer, name, suffixes, type, suffix, flags, about) " " name ": " about "\n"
#include "routes/formats.def"
#undef FORMAT
        "\n"
        "Options of pprof and jeprof that have an equivalent (-inuse_space, --lines, -nodecount, -base, --hide, "
        "-traces, "
        "-list...) are accepted.",
    .translate = pprof_options_translate,
    .examples = examples,
    .options = options,
    .operand = OPERAND_SOURCE,
    .operands_min = 1,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
