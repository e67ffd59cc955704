/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/report-arguments.h"
#include "cli/via.h"
#include "doctor/culprit.h"
#include "report/trend.h"
#include "report/units.h"
#include "source/dumps.h"

enum { FEWEST_DUMPS = 3 };

static gboolean json;

static char **titles;

static ReportArguments arguments = REPORT_ARGUMENTS_NONE;

static const GOptionEntry options[] = {
    {"json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON", NULL},
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &arguments.output, "write to this new file", "FILE"},
    {"count", 'n', 0, G_OPTION_ARG_INT, &arguments.count, "maximum number of functions and of stacks; 0: no limit",
     "N"},
    {"by", 0, 0, G_OPTION_ARG_STRING, &arguments.by, "aggregate by", REPORT_GRANULARITIES},
    {"pid", 0, 0, G_OPTION_ARG_INT, &arguments.pid,
     "live process that the dumps were taken of; functions are named from its files, even if they were replaced",
     "PID"},
    {"title", 0, 0, G_OPTION_ARG_STRING_ARRAY, &titles, "name of a dump in the report, in order (may be repeated)",
     "TEXT"},
    REPORT_SELECT_ENTRIES REPORT_NAMES_ENTRIES VIA_OPTION,
    {0},
};

typedef struct {
    Dumps dumps;
    SourceOptions source;
    ReportPrepared prepared;
} Run;

static void
run_clear(Run *run)
{
    dumps_clear(&run->dumps);
    report_prepared_clear(&run->prepared);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Run, run_clear)

/* ---- culprits ---- */

/* Selects the significant ones of the found functions; they belong to EVIDENCE. */
static GArray *
culprits_of(const DoctorEvidence *evidence)
{
    static const gdouble SIGNIFICANT = 0.05;
    GArray *culprits = g_array_new(FALSE, FALSE, sizeof(TrendCulprit));

    for (guint i = 0; i < evidence->growing->len; i++) {
        const DoctorStack *stack = evidence->growing->pdata[i];
        const TrendCulprit culprit = {.functions = (const char *const *)(void *)stack->functions->pdata,
                                      .n_functions = stack->functions->len,
                                      .grown = stack->grown,
                                      .p = stack->p};
        if (stack->p < SIGNIFICANT && stack->functions->len > 0)
            g_array_append_val(culprits, culprit);
    }
    return culprits;
}

/* A profile that is still filling after it was switched on does not show who is responsible. */
static gboolean
find_culprits(const Run *run, const Growth *growth, const Symbols *symbols, DoctorEvidence *evidence, GError **error)
{
    const ReportOptions *report = &run->prepared.options;
    ReportInput input = {.profile = growth_profile(growth), .symbols = symbols, .name = run->dumps.names->pdata[0]};
    g_autofree char *unborn = dumps_why_unknown(&run->dumps, PROFILE_ALLOC_SPACE);

    if (report->value != PROFILE_INUSE_SPACE || report->by != REPORT_BY_FUNCTION ||
        growth_total(growth)->verdict == GROWTH_FILLING)
        return TRUE;
    g_autoptr(Growth) births = unborn == NULL ? dumps_growth(&run->dumps, PROFILE_ALLOC_SPACE, error) : NULL;
    g_autoptr(View) view = births != NULL || unborn != NULL ? view_new(&input, NULL, report, error) : NULL;
    if (view == NULL)
        return FALSE;
    const CulpritInput culprits = {.growth = growth, .births = births, .view = view, .names = symbols};
    culprit_find(&culprits, evidence);
    return TRUE;
}

static gboolean
write_growth(const Run *run, GOutputStream *out, GError **error)
{
    const Dumps *dumps = &run->dumps;
    const ReportOptions *report = &run->prepared.options;
    g_autoptr(Growth) growth = dumps_growth(dumps, report->value, error);
    g_autoptr(Symbols) symbols = growth ? symbolize(growth_profile(growth), &run->source.symbolize, error) : NULL;

    g_auto(DoctorEvidence) evidence = {0};
    doctor_evidence_init(&evidence);
    if (!symbols || !find_culprits(run, growth, symbols, &evidence, error))
        return FALSE;
    g_autoptr(GArray) culprits = culprits_of(&evidence);
    const TrendInput input = {
        .growth = growth,
        .symbols = symbols,
        .names = (const char *const *)(void *)dumps->names->pdata,
        .times = (const gdouble *)(const void *)dumps->times->data,
        .n_profiles = dumps->profiles->len,
        .has_times = dumps->has_times,
        .culprits = (const TrendCulprit *)(const void *)culprits->data,
        .n_culprits = culprits->len,
        .notes = (const char *const *)(void *)dumps->notes->pdata,
    };
    return trend_write(&input, report, json ? TREND_JSON : TREND_TEXT, out, error);
}

/* Uses the user's names of the dumps instead of the files'. */
static gboolean
rename_dumps(Dumps *dumps, GError **error)
{
    const guint n = titles ? g_strv_length(titles) : 0;

    if (n > dumps->names->len) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--title: '%s' is one name more than there are dumps (%u)",
                    titles[dumps->names->len], dumps->names->len);
        return FALSE;
    }
    for (guint i = 0; i < n; i++)
        dumps->names->pdata[i] = titles[i];
    return TRUE;
}

/* Runs in the confined child. */
static int
make_growth(gpointer data, GOutputStream *out, GError **error)
{
    Run *run = data;
    ProfileValue value = run->prepared.options.value;
    g_autoptr(GError) failure = NULL;

    progress_phase(PROGRESS_READS, 0, 0);
    if (!dumps_finish(&run->dumps, &run->source, error))
        return STATUS_FAILED;
    progress_phase(PROGRESS_NAMES, 0, 0);
    g_autofree char *unknown = dumps_why_unknown(&run->dumps, value);
    if (unknown) {
        g_set_error(error, REPORT_ERROR, REPORT_ERROR_NO_VALUE, "growth: %s", unknown);
        return STATUS_FAILED;
    }
    if (!json && dumps_are_empty(&run->dumps, value)) {
        command_say("growth: nothing was sampled in any of the dumps (%s)", report_value_name(value));
        return STATUS_PARTIAL | REPORT_NOT_WRITTEN;
    }
    if (!write_growth(run, out, &failure)) {
        if (!g_error_matches(failure, REPORT_ERROR, REPORT_ERROR_EMPTY)) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return STATUS_FAILED;
        }
        command_say("growth: %s", failure->message);
        return json ? STATUS_PARTIAL : STATUS_PARTIAL | REPORT_NOT_WRITTEN;
    }
    return run->dumps.partial ? STATUS_PARTIAL : STATUS_DONE;
}

static int
run(char **operands, GError **error)
{
    static const ReportDefaults defaults = {.sort = REPORT_SORT_FLAT};
    g_auto(Run) growth = {0};

    if (!report_prepare(&growth.prepared, &arguments, &defaults, error))
        return STATUS_USAGE;
    if (value_is_mean(growth.prepared.options.value)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "growth: %s is a mean, whose growth says nothing about memory; 'jescope diff' compares it",
                    report_value_name(growth.prepared.options.value));
        return STATUS_USAGE;
    }
    if (value_is_of_holes(growth.prepared.options.value)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "growth: %s is not summed up over stacks; 'jescope diff --value=%s' compares two dumps",
                    report_value_name(growth.prepared.options.value), report_value_name(growth.prepared.options.value));
        return STATUS_USAGE;
    }
    if (g_strv_length(operands) < FEWEST_DUMPS) {
        g_set_error(
            error, CLI_ERROR, CLI_ERROR_USAGE,
            "growth: at least three dumps are needed, in the order they were taken; 'jescope diff' compares two");
        return STATUS_USAGE;
    }
    report_fill_source_options(&growth.source, &arguments);
    if (!dumps_begin(&growth.dumps, operands, &growth.source, error))
        return STATUS_FAILED;
    if (!rename_dumps(&growth.dumps, error))
        return STATUS_USAGE;
    g_autoptr(GArray) descriptors = source_descriptors(growth.dumps.sources);
    const ReportWork work = {.work = make_growth,
                             .data = &growth,
                             .descriptors = descriptors,
                             .output = arguments.output,
                             .seconds =
                                 report_seconds(descriptors, source_author(growth.dumps.sources), &growth.source)};
    return report_confined(&work, error);
}

static const Example examples[] = {
    {"jescope growth 10h.heap 11h.heap 12h.heap", "show which call stacks still grow"},
    {0},
};

const Command cmd_growth = {
    .name = "growth",
    .synopsis = "SOURCE SOURCE SOURCE...",
    .summary = "show which functions and stacks grow over three or more dumps",
    .description =
        "Compares dumps of one program, given in the order they were taken (the last may be a live target), and "
        "ranks functions, then stacks of functions, by how steadily their memory grows: by the median of the "
        "slopes between all pairs of dumps, which is robust against a single outlier. Each gets a verdict with its "
        "evidence: still growing, plateau (grew, but not lately), one-off (grew in a single step), shrinking. The "
        "functions to blame come first: the deepest ones with most of the growth, if chance does not explain it. "
        "Changes that sampling alone explains are counted, not shown. Dumps with births and deaths (of "
        "MALLOC_CONF=prof_accum:true, and of jescope's own sampler) are judged by these, which shows a leak "
        "earlier.\n\n"
        "Functions are compared by name, as in a report: wherever they were inlined, after a restart of the "
        "program, and in another build. Memory allocated by wrappers is charged to their callers (--wrappers shows "
        "them).\n\n"
        "Sampling must stay on between the dumps: take them with 'jescope record --every', or with 'jescope dump' "
        "after 'jescope enable' or 'record --keep-on'. Dumps taken by jescope record whether it did; if it was off "
        "in between, rates are per hour of sampling, and the report says so. The growth of the allocator's own "
        "counters is printed as well.\n\n"
        "The times of the dumps are those that jescope recorded in them, else those of the files; if these do not "
        "increase, slopes are per dump.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_SOURCE,
    .operands_min = 1,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
