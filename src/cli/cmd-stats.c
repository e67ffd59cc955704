/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/analyses.h"
#include "cli/command.h"
#include "cli/confined-work.h"
#include "cli/document.h"
#include "cli/output.h"
#include "cli/stats-document.h"
#include "cli/terminal.h"
#include "cli/via.h"
#include "cli/words.h"
#include "confine/input-file.h"
#include "source/source.h"

#include "stats/advice.h"
#include "stats/live.h"
#include "stats/openmetrics.h"
#include "stats/process.h"
#include "stats/readable.h"
#include "stats/reader.h"
#include "stats/summary.h"
#include "target/target.h"
#include "text/printable.h"

#include <elf.h>
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
    {.long_name = "json", .arg_data = &as_json, .description = "print JSON; with --raw or --options jemalloc's own"},
    {.long_name = "options",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &letters,
     .description = "sections to omit (option letters of malloc_stats_print(3)): g m d a b l x e h",
     .arg_description = "LETTERS"},
    {.long_name = "format",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &format,
     .description = "output format",
     .arg_description = "summary|openmetrics|json"},
    {.long_name = "arenas",
     .arg_data = &every_arena,
     .description = "openmetrics, json: every arena, not all of them merged"},
    {.long_name = "classes", .arg_data = &classes, .description = "openmetrics, json: size classes too"},
    {.long_name = "advise", .arg_data = &advise, .description = "print findings of waste, and what to change"},
    VIA_OPTION,
    MAX_OUTPUT_OPTION,
    TERMINAL_COLOR_OPTION,
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
    g_autoptr(Output) output = output_open("-", OUTPUT_SHARED, error);
    gboolean copied = output_copy(output, fd, error);
    close(fd);
    return copied ? STATUS_DONE : STATUS_FAILED;
}

/* The samples of a command: the last one, and the first one if there are several. */
typedef struct {
    StatsSample *first;
    StatsSample *last;
    char *name;
    gboolean partial; /* parts were left out */
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
load_file(const StatsFile *file, Samples *samples, GError **error)
{
    StatsReport report;
    if (!stats_read_file(file, keep, samples, &report, error))
        return FALSE;
    samples->partial = analyses_warn(file->path, &report);
    g_autofree char *name = g_path_get_basename(file->path);
    samples->name = text_printable(name);
    if (samples->last == NULL)
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "%s holds no jemalloc statistics", file->path);
    return samples->last != NULL;
}

/* The cores a process may run on: jemalloc only knows those of the machine. */
static void
note_cores(StatsSample *sample, pid_t pid)
{
    cpu_set_t set;
    if (pid != 0 && sched_getaffinity(pid, sizeof(set), &set) == 0)
        stats_values_set(sample->totals, STATS_CPUS, (uint64_t)CPU_COUNT(&set));
}

static gboolean
load_live(Target *target, Samples *samples, GError **error)
{
    StatsLiveParts parts = STATS_LIVE_ARENAS | STATS_LIVE_CLASSES | STATS_LIVE_MUTEXES;
    /* The saving by fewer arenas is computed from the classes of each arena. */
    if ((classes && every_arena) || advise)
        parts |= STATS_LIVE_ARENA_CLASSES;
    g_autoptr(StatsLive) live = stats_live_new(target, parts, error);
    samples->last = live != NULL ? stats_live_sample(live, error) : NULL;
    if (samples->last == NULL)
        return FALSE;
    samples->first = stats_sample_ref(samples->last);
    samples->name = g_strdup(target_label(target));
    g_autofree char *unread = stats_unread_notice(samples->last);
    if (unread != NULL)
        command_say("%s: %s", samples->name, unread);
    samples->partial = unread != NULL;
    note_cores(samples->last, target_pid(target));
    if (target_pid(target) != 0)
        stats_read_process(samples->last->totals, target_process(target));
    return target_check_unchanged(target, error);
}

/* The memory that the change would return, estimated from the process's own numbers. */
static char *
returned_bytes(const Advice *advice)
{
    if (advice->bytes == 0)
        return g_strdup("");
    g_autoptr(GString) text = g_string_new("  returns: up to ");
    readable_append_size(text, (double)advice->bytes, 0);
    g_string_append_c(text, '\n');
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
append_advice(GString *out, const Samples *samples)
{
    g_autoptr(GPtrArray) found = advice_find(samples->last, samples->first);
    if (found->len == 0)
        g_string_append(out, "No findings (" JESCOPE_DOC_DIR "/doctor.md lists the rules).\n");
    for (guint i = 0; i < found->len; i++) {
        const Advice *advice = found->pdata[i];
        g_autofree char *returns = returned_bytes(advice);
        g_string_append_printf(out, "%s%s  [%s]\n  seen:    %s\n  change:  %s\n%s", i > 0 ? "\n" : "",
                               causes[advice->cause].finding, causes[advice->cause].name, advice->evidence,
                               advice->change, returns);
    }
}

static void
append_openmetrics(GString *out, const Samples *samples)
{
    OpenMetricsParts parts = (every_arena ? OPENMETRICS_ARENAS : 0) | (classes ? OPENMETRICS_CLASSES : 0);
    const OpenMetricsSource source = {.sample = samples->last};
    openmetrics_append(out, &source, 1, parts);
    openmetrics_append_end(out);
}

typedef enum {
    FORMAT_SUMMARY,
    FORMAT_OPENMETRICS,
    FORMAT_JSON,
} Format;

static const char *const format_words[] = {
    [FORMAT_SUMMARY] = "summary", [FORMAT_OPENMETRICS] = "openmetrics", [FORMAT_JSON] = "json", NULL};

/* jemalloc's own text or JSON. */
static gboolean
wants_own(void)
{
    return raw || letters != NULL;
}

static gboolean
choose_format(Format *chosen, GError **error)
{
    guint index = as_json ? FORMAT_JSON : FORMAT_SUMMARY;
    if (format != NULL && !words_find(format_words, "--format", format, &index, error))
        return FALSE;
    *chosen = (Format)index;
    return TRUE;
}

/* Headings begin in the first column. */
static void
print_summary(const Samples *samples)
{
    g_autoptr(GString) out = g_string_new(NULL);
    g_string_append_printf(out, "%s, jemalloc %s\n\n", samples->name,
                           samples->last->version != NULL ? samples->last->version : "of unknown version");
    summary_append(out, samples->last);
    g_auto(GStrv) lines = g_strsplit(out->str, "\n", -1);
    gboolean color = terminal_colored(STDOUT_FILENO);
    for (char **line = lines; *line != NULL; line++) {
        gboolean heading = color && **line != ' ' && **line != '\0';
        printf("%s%s%s%s", heading ? text_style(STYLE_HEADING) : "", *line, heading ? text_style(STYLE_PLAIN) : "",
               line[1] != NULL ? "\n" : "");
    }
}

static void
print_appended(void (*append)(GString *out, const Samples *samples), const Samples *samples)
{
    g_autoptr(GString) out = g_string_new(NULL);
    append(out, samples);
    fputs(out->str, stdout);
}

static void
print_json(const Samples *samples)
{
    StatsDocumentParts parts =
        (every_arena ? STATS_DOCUMENT_ARENAS : 0) | (classes ? STATS_DOCUMENT_CLASSES : STATS_DOCUMENT_PLAIN);
    json_t *members = stats_document(samples->last, samples->first, parts);
    json_object_set_new(members, "source", json_string(samples->name));
    document_print("jescope-stats", members);
}

static int
print_samples(const Samples *samples, Format chosen)
{
    if (chosen == FORMAT_JSON)
        print_json(samples);
    else if (advise)
        print_appended(append_advice, samples);
    else if (chosen == FORMAT_OPENMETRICS)
        print_appended(append_openmetrics, samples);
    else
        print_summary(samples);
    return samples->partial ? STATUS_PARTIAL : STATUS_DONE;
}

static gboolean
check_options(GError **error)
{
    if (!terminal_check_color(error) || (letters != NULL && !check_letters(error)))
        return FALSE;
    if (!wants_own() || (!advise && format == NULL))
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "--raw and --options print jemalloc's own output; they cannot be combined with --format and --advise");
    return FALSE;
}

/* A file in the confined child. */
typedef struct {
    StatsFile file;
    Format format;
} FileRun;

static int
show_file(gpointer data, GOutputStream *out, GError **error)
{
    const FileRun *run = data;
    g_auto(Samples) samples = {0};
    return load_file(&run->file, &samples, error) ? print_samples(&samples, run->format) : STATUS_FAILED;
}

/* Closes FD. */
static int
print_file(const char *path, int fd, Format chosen, GError **error)
{
    FileRun run = {.file = {.path = path, .fd = fd}, .format = chosen};
    if (run.file.fd < 0)
        return STATUS_FAILED;
    const Confined confined = {.work = show_file,
                               .data = &run,
                               .keep = &run.file.fd,
                               .n_keep = 1,
                               .memory = CONFINED_WORK_STATISTICS,
                               .seconds = input_file_seconds(fd)};
    g_autofree char *doing = g_strdup_printf("reading %s", path);
    int status = confined_work_print(&confined, doing, error);
    close(run.file.fd);
    return status;
}

/* A log may contain statistics anywhere; a program or a directory contains none. */
static gboolean
may_be_statistics(const char *path)
{
    char begin[SELFMAG] = "";
    gboolean program = input_file_peek(path, begin, SELFMAG) == SELFMAG && memcmp(begin, ELFMAG, SELFMAG) == 0;
    return !program && !g_file_test(path, G_FILE_TEST_IS_DIR);
}

static int
run(char **operands, GError **error)
{
    g_auto(Samples) samples = {0};
    Format chosen;
    if (!check_options(error) || !choose_format(&chosen, error))
        return STATUS_USAGE;
    const SourceKind kind = wants_own() ? SOURCE_IS_TARGET : source_kind(operands[0], may_be_statistics, error);
    if (kind == SOURCE_IS_NEITHER)
        return STATUS_USAGE;
    if (kind == SOURCE_IS_FILE)
        return print_file(operands[0], stats_open_file(operands[0], error), chosen, error);
    g_autoptr(Target) target = via_open(operands[0], error);
    if (target == NULL)
        return STATUS_FAILED;
    if (wants_own())
        return print_own(target, error);
    /* One document instead of a request for each number. */
    if (target_via(target) == TARGET_VIA_SERVER)
        return print_file(target_label(target), target_stats(target, "J", error), chosen, error);
    return load_live(target, &samples, error) ? print_samples(&samples, chosen) : STATUS_FAILED;
}

static const Example examples[] = {
    {"jescope stats redis-server", "show where its memory is: allocated, active, resident, mapped"},
    {"jescope stats redis-server --advise", "list what is wasteful and what to change"},
    {"jescope stats server.log", "the same for the last statistics in a log"},
    {0},
};

const Command cmd_stats = {
    .name = "stats",
    .synopsis = "SOURCE",
    .summary = "show allocated, active, resident and mapped memory",
    .description =
        "Prints one screen about SOURCE, a target or a file with jemalloc's statistics (of several snapshots the last "
        "one): what the program holds (allocated less thread caches, jemalloc's own allocations and what sampling "
        "adds), what is active, resident and mapped and what the gaps between them are, the resident memory of the "
        "process, the emptiest size classes, the arenas. It warns if this jemalloc does not serve the main heap.\n"
        "\n"
        "--json prints the metrics of docs/metrics.md, the merged arena and the advice as one object. --raw and "
        "--options print the output of malloc_stats_print() in the target unchanged, as text, or with --json as "
        "jemalloc's own JSON: --raw all of it, --options without the sections that its letters omit.\n"
        "\n"
        "--format=openmetrics is for Prometheus. --advise prints what looks wasteful, the numbers that show it and the "
        "setting to change; of a file with several snapshots it also compares the last one with the first.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_SOURCE,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
