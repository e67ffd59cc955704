/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/analyses.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/via.h"

#include "stats/advice.h"
#include "stats/live.h"
#include "stats/openmetrics.h"
#include "stats/reader.h"
#include "stats/summary.h"
#include "target/target.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static gboolean as_json;
static gboolean raw;
static gboolean advise;
static gboolean every_arena;
static gboolean classes;
static char *letters;
static char *format;

static const GOptionEntry options[] = {
    {.long_name = "raw", .arg_data = &raw, .description = "print jemalloc's own text"},
    {.long_name = "json", .arg_data = &as_json, .description = "print jemalloc's own JSON"},
    {.long_name = "options",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &letters,
     .description = "leave out parts of jemalloc's own, by the letters of malloc_stats_print(3): g m d a b l x e h",
     .arg_description = "LETTERS"},
    {.long_name = "format",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &format,
     .description = "how to print it",
     .arg_description = "summary|openmetrics"},
    {.long_name = "arenas",
     .arg_data = &every_arena,
     .description = "openmetrics: every arena, not all of them merged"},
    {.long_name = "classes", .arg_data = &classes, .description = "openmetrics: size classes too"},
    {.long_name = "advise", .arg_data = &advise, .description = "print what looks wasteful, and what to change"},
    VIA_OPTION,
    {0},
};

static gboolean
check_letters(GError **error)
{
    const char *letter = letters;
    while (g_ascii_isalpha(*letter))
        letter++;
    if (*letter == '\0' && strlen(letters) < WIRE_LETTERS_MAX - 1)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "--options: '%s' is not a list of at most %d letters such as 'mdablx'", letters, WIRE_LETTERS_MAX - 2);
    return FALSE;
}

static int
print_own(Target *target, GError **error)
{
    g_autofree char *all = g_strconcat(letters != NULL ? letters : "", as_json ? "J" : "", NULL);
    int fd = target_stats(target, all, error);
    if (fd < 0)
        return STATUS_FAILED;
    g_autoptr(Output) output = output_open("-", error);
    gboolean copied = output_copy(output, fd, error);
    close(fd);
    return copied ? STATUS_DONE : STATUS_FAILED;
}

/* The samples a command works on: the last one, and the first one if there are several. */
typedef struct {
    StatsSample *first;
    StatsSample *last;
    char *name;
    gboolean partial; /* some of the file was left out */
} Samples;

static void
samples_clear(Samples *samples)
{
    g_clear_pointer(&samples->first, stats_sample_unref);
    g_clear_pointer(&samples->last, stats_sample_unref);
    g_free(samples->name);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Samples, samples_clear)

static gboolean
keep(StatsSample *sample, gpointer data, GError **error)
{
    Samples *samples = data;
    if (samples->first == NULL)
        samples->first = stats_sample_ref(sample);
    g_clear_pointer(&samples->last, stats_sample_unref);
    samples->last = stats_sample_ref(sample);
    return TRUE;
}

static gboolean
load_file(const char *path, Samples *samples, GError **error)
{
    StatsReport report;
    if (!stats_read_file(path, keep, samples, &report, error))
        return FALSE;
    samples->partial = analyses_warn(path, &report);
    samples->name = g_path_get_basename(path);
    if (samples->last == NULL)
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "%s holds no jemalloc statistics", path);
    return samples->last != NULL;
}

/* The cores a process may run on: jemalloc knows those of the machine. */
static void
note_cores(StatsSample *sample, pid_t pid)
{
    cpu_set_t set;
    if (pid != 0 && sched_getaffinity(pid, sizeof set, &set) == 0)
        stats_values_set(sample->totals, STATS_CPUS, (uint64_t)CPU_COUNT(&set));
}

static gboolean
load_live(Target *target, Samples *samples, GError **error)
{
    StatsLiveParts parts = STATS_LIVE_ARENAS | STATS_LIVE_CLASSES | STATS_LIVE_MUTEXES;
    if (classes && every_arena)
        parts |= STATS_LIVE_ARENA_CLASSES;
    g_autoptr(StatsLive) live = stats_live_new(target, parts, error);
    samples->last = live != NULL ? stats_live_sample(live, error) : NULL;
    if (samples->last == NULL)
        return FALSE;
    samples->first = stats_sample_ref(samples->last);
    samples->name = g_strdup(target_label(target));
    note_cores(samples->last, target_pid(target));
    return TRUE;
}

static void
append_advice(GString *out, const Samples *samples)
{
    g_autoptr(GPtrArray) found = advice_find(samples->last, samples->first);
    if (found->len == 0)
        g_string_append(out, "Nothing stands out (docs/advice.md lists what is looked for).\n");
    for (guint i = 0; i < found->len; i++) {
        const Advice *advice = found->pdata[i];
        g_string_append_printf(out, "%s%s  [%s]\n  seen:    %s\n  change:  %s\n", i > 0 ? "\n" : "",
                               advice->rule->finding, advice->rule->id, advice->evidence, advice->rule->change);
    }
}

static void
append_summary(GString *out, const Samples *samples)
{
    g_string_append_printf(out, "%s, jemalloc %s\n\n", samples->name,
                           samples->last->version != NULL ? samples->last->version : "of unknown version");
    summary_append(out, samples->last);
}

static void
append_openmetrics(GString *out, const Samples *samples)
{
    OpenMetricsParts parts = (every_arena ? OPENMETRICS_ARENAS : 0) | (classes ? OPENMETRICS_CLASSES : 0);
    const OpenMetricsSource source = {.sample = samples->last};
    openmetrics_append(out, &source, 1, parts);
    openmetrics_append_end(out);
}

static const struct {
    const char *name;
    void (*append)(GString *out, const Samples *samples);
} formats[] = {{"summary", append_summary}, {"openmetrics", append_openmetrics}};

/* What --format or --advise stand for; NULL: there is no such format. */
static void (*printer(void))(GString *out, const Samples *samples)
{
    if (advise)
        return append_advice;
    for (gsize i = 0; i < G_N_ELEMENTS(formats); i++)
        if (format == NULL || strcmp(format, formats[i].name) == 0)
            return formats[i].append;
    return NULL;
}

static int
print_samples(const Samples *samples)
{
    g_autoptr(GString) out = g_string_new(NULL);
    printer()(out, samples);
    fwrite(out->str, 1, out->len, stdout);
    return samples->partial ? STATUS_PARTIAL : STATUS_DONE;
}

static gboolean
check_options(GError **error)
{
    if (letters != NULL && !check_letters(error))
        return FALSE;
    if (printer() == NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--format: '%s' is not one of summary, openmetrics", format);
        return FALSE;
    }
    gboolean own = raw || as_json || letters != NULL;
    if (own && (advise || format != NULL)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--raw, --json and --options print what jemalloc does; "
                    "they do not go with --format and --advise");
        return FALSE;
    }
    return TRUE;
}

static int
run(char **operands, GError **error)
{
    g_auto(Samples) samples = {0};
    if (!check_options(error))
        return STATUS_USAGE;
    gboolean own = raw || as_json || letters != NULL;
    if (!own && (strcmp(operands[0], "-") == 0 || g_file_test(operands[0], G_FILE_TEST_IS_REGULAR)))
        return load_file(operands[0], &samples, error) ? print_samples(&samples) : STATUS_FAILED;
    g_autoptr(Target) target = via_open(operands[0], error);
    if (target == NULL)
        return STATUS_FAILED;
    if (own)
        return print_own(target, error);
    return load_live(target, &samples, error) ? print_samples(&samples) : STATUS_FAILED;
}

const Command cmd_stats = {
    .name = "stats",
    .synopsis = "SOURCE",
    .summary = "show where memory is between the program and the kernel",
    .description =
        "Prints one screen about SOURCE, a target or a file with jemalloc's statistics (of several snapshots the last "
        "one): what the program holds, what is active, resident and mapped and what the gaps between them are, the "
        "emptiest size classes, the arenas.\n"
        "\n"
        "With --raw, --options or --json it prints exactly what malloc_stats_print() gives inside the target, as text "
        "or JSON: --raw the whole text, --options without the parts its letters stand for.\n"
        "\n"
        "--format=openmetrics is for Prometheus. --advise prints what looks wasteful, the numbers that show it and the "
        "setting to change; of a file with several snapshots it also compares the last one with the first.",
    .options = options,
    .operand = OPERAND_SOURCE,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
