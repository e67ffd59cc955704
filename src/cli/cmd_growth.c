/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report-arguments.h"
#include "report/trend.h"

enum { FEWEST_DUMPS = 3 };

static gboolean json;

static const GOptionEntry options[] = {
    {"json", 0, 0, G_OPTION_ARG_NONE, &json, "JSON for programs", NULL},
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &report_arguments.output, "write to this new file", "FILE"},
    {"count", 'n', 0, G_OPTION_ARG_INT, &report_arguments.count, "stacks shown at most; 0: all", "N"},
    REPORT_SELECT_ENTRIES REPORT_NAMES_ENTRIES{0},
};

typedef struct {
    GPtrArray *sources;
    GPtrArray *profiles; /* of sources */
    GPtrArray *names;    /* of sources, then NULL */
    GArray *times;       /* gdouble */
    gboolean has_times;
    gboolean partial;
    gint64 taken; /* as Source.taken, of the oldest */
} Dumps;

static void
dumps_clear(Dumps *dumps)
{
    g_ptr_array_unref(dumps->sources);
    g_ptr_array_unref(dumps->profiles);
    g_ptr_array_unref(dumps->names);
    g_array_unref(dumps->times);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Dumps, dumps_clear)

static void
dumps_init(Dumps *dumps)
{
    *dumps = (Dumps){
        .sources = g_ptr_array_new_with_free_func((GDestroyNotify)source_free),
        .profiles = g_ptr_array_new(),
        .names = g_ptr_array_new(),
        .times = g_array_new(FALSE, FALSE, sizeof(gdouble)),
        .has_times = TRUE,
    };
}

static gboolean
read_dumps(Dumps *dumps, char **names, const SourceOptions *source_options, GError **error)
{
    for (; *names; names++) {
        Source *source = source_read(*names, source_options, error);
        gdouble time;
        if (!source)
            return FALSE;
        g_ptr_array_add(dumps->sources, source);
        g_ptr_array_add(dumps->profiles, source->profile);
        g_ptr_array_add(dumps->names, source->name);
        dumps->partial = dumps->partial || source->partial;
        dumps->taken = source_older(dumps->taken, source->taken);
        time = (gdouble)source->input.time;
        if (dumps->times->len && time <= g_array_index(dumps->times, gdouble, dumps->times->len - 1))
            dumps->has_times = FALSE;
        g_array_append_val(dumps->times, time);
    }
    return TRUE;
}

/* Files that were copied lost their times, or all have one: then the dumps themselves are the clock. */
static void
settle_times(Dumps *dumps)
{
    for (guint i = 0; i < dumps->times->len && !dumps->has_times; i++)
        g_array_index(dumps->times, gdouble, i) = i;
}

typedef struct {
    TrendInput input;
    const ReportOptions *options;
} Emission;

static gboolean
emit(GOutputStream *out, gpointer user, GError **error)
{
    const Emission *emission = user;

    return trend_write(&emission->input, emission->options, json ? TREND_JSON : TREND_TEXT, out, error);
}

static gboolean
report_growth(const Dumps *dumps, const ReportOptions *report_options, const SourceOptions *source_options,
              GError **error)
{
    const gdouble *times = (const gdouble *)(const void *)dumps->times->data;
    SymbolizeOptions symbolize_options = source_options->symbolize;
    symbolize_options.taken = dumps->taken;
    g_autoptr(Growth) growth = growth_new((const Profile *const *)(void *)dumps->profiles->pdata, times,
                                          dumps->profiles->len, report_options->value, error);
    g_autoptr(Symbols) symbols = growth ? symbolize(growth_profile(growth), &symbolize_options, error) : NULL;
    Emission emission = {.options = report_options};

    if (!symbols)
        return FALSE;
    emission.input = (TrendInput){
        .growth = growth,
        .symbols = symbols,
        .names = (const char *const *)(void *)dumps->names->pdata,
        .times = times,
        .n_profiles = dumps->profiles->len,
        .has_times = dumps->has_times,
    };
    return report_emit(emit, &emission, error);
}

static int
run(char **operands, GError **error)
{
    static const ReportDefaults defaults = {.sort = REPORT_SORT_FLAT};
    g_auto(ReportPrepared) prepared = {0};
    SourceOptions source_options = {0};
    g_auto(Dumps) dumps;

    dumps_init(&dumps);
    if (!report_prepare(&prepared, &defaults, error))
        return STATUS_USAGE;
    report_fill_source_options(&source_options);
    if (!read_dumps(&dumps, operands, &source_options, error))
        return STATUS_FAILED;
    settle_times(&dumps);
    if (!report_growth(&dumps, &prepared.options, &source_options, error))
        return STATUS_FAILED;
    return dumps.partial ? STATUS_PARTIAL : STATUS_DONE;
}

const Command cmd_growth = {
    .name = "growth",
    .synopsis = "DUMP DUMP DUMP...",
    .summary = "tell which stacks grow over three or more dumps",
    .description = "Takes dumps of one program in the order they were taken and ranks stacks by how steadily they grow "
                   "(the median of "
                   "the slopes between all pairs of dumps, which one odd dump does not move). Each gets a verdict with "
                   "its evidence: "
                   "still growing, plateau (grew, but not lately), one-off (grew in a single step), shrinking. Changes "
                   "that sampling "
                   "alone explains are counted, not shown.\n"
                   "\n"
                   "The times of the dumps are those of the files; where these do not ascend, slopes are per dump.",
    .options = options,
    .operand = OPERAND_FILE,
    .operands_min = FEWEST_DUMPS,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
