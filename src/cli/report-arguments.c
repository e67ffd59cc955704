/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report-arguments.h"

#include "cli/output.h"

#include <errno.h>
#include <gio/gunixoutputstream.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

ReportArguments report_arguments = {.count = -1};

void
report_prepared_clear(ReportPrepared *prepared)
{
    g_clear_pointer(&prepared->focus, g_regex_unref);
    g_clear_pointer(&prepared->ignore, g_regex_unref);
    g_clear_pointer(&prepared->exclude, g_regex_unref);
    g_clear_pointer(&prepared->retain, g_regex_unref);
}

static gboolean
refuse_word(const char *option, const char *word, const char *allowed, GError **error)
{
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: unknown '%s'; it is one of %s", option, word, allowed);
    return FALSE;
}

static gboolean
parse_words(ReportOptions *options, const ReportArguments *arguments, GError **error)
{
    if (arguments->value && !report_value_by_name(arguments->value, &options->value))
        return refuse_word("--value", arguments->value, "inuse_space, inuse_objects, alloc_space, alloc_objects",
                           error);
    if (arguments->sort && !report_sort_by_name(arguments->sort, &options->sort))
        return refuse_word("--sort", arguments->sort, "flat, cum, change, name", error);
    if (arguments->by && !report_granularity_by_name(arguments->by, &options->by))
        return refuse_word("--by", arguments->by, "function, line, file, object, address", error);
    return TRUE;
}

/* "0.005" or "0.5%"; *fraction stays as it is when there is nothing to read. */
static gboolean
parse_fraction(const char *text, const char *option, gdouble *fraction, GError **error)
{
    gdouble number;
    char *end;

    if (!text)
        return TRUE;
    number = g_ascii_strtod(text, &end);
    if (end != text && g_str_equal(end, "%")) {
        number /= 100;
        end++;
    }
    if (end == text || *end || !(number >= 0 && number <= 1)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: '%s' is no fraction; give a number from 0 to 1, or 0%% to 100%%", option, text);
        return FALSE;
    }
    *fraction = number;
    return TRUE;
}

/* RAW: names come from foreign files and need not be UTF-8. */
static gboolean
parse_regex(const char *text, const char *option, GRegex **regex, GError **error)
{
    g_autoptr(GError) cause = NULL;

    if (!text)
        return TRUE;
    *regex = g_regex_new(text, G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, &cause);
    if (!*regex)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: '%s' is no regular expression: %s", option, text,
                    cause->message);
    return *regex != NULL;
}

static gboolean
parse_count(ReportOptions *options, int count, GError **error)
{
    if (count < -1) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--count: %d is negative; 0 shows all", count);
        return FALSE;
    }
    options->limit = count < 0 ? 0 : count == 0 ? REPORT_ALL : (guint32)count;
    return TRUE;
}

static gboolean
check_pid(int pid, GError **error)
{
    if (pid < 0)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--pid: %d is the id of no process", pid);
    return pid >= 0;
}

static ReportFlags
collect_flags(const ReportArguments *arguments)
{
    return (arguments->error ? REPORT_SHOW_ERRORS : 0) | (arguments->jeprof ? REPORT_JEPROF_LAYOUT : 0) |
           (arguments->callers ? REPORT_CALLERS : 0) | (arguments->keep_allocator ? REPORT_KEEP_ALLOCATOR : 0) |
           (arguments->bytes ? REPORT_EXACT : 0);
}

gboolean
report_prepare(ReportPrepared *prepared, const ReportDefaults *defaults, GError **error)
{
    const ReportArguments *arguments = &report_arguments;
    ReportOptions *options = &prepared->options;

    report_options_init(options);
    options->sort = arguments->cumulative ? REPORT_SORT_CUMULATIVE : defaults->sort;
    options->thread = arguments->thread;
    options->sysroot = arguments->sysroot;
    options->flags = collect_flags(arguments);
    if (!parse_words(options, arguments, error) || !parse_count(options, arguments->count, error) ||
        !check_pid(arguments->pid, error) ||
        !parse_fraction(arguments->min_fraction, "--min-fraction", &options->min_fraction, error) ||
        !parse_fraction(arguments->edge_fraction, "--edge-fraction", &options->edge_fraction, error) ||
        !parse_regex(arguments->focus, "--focus", &prepared->focus, error) ||
        !parse_regex(arguments->ignore, "--ignore", &prepared->ignore, error) ||
        !parse_regex(arguments->exclude, "--exclude", &prepared->exclude, error) ||
        !parse_regex(arguments->retain, "--retain", &prepared->retain, error))
        return FALSE;
    options->focus = prepared->focus;
    options->ignore = prepared->ignore;
    options->exclude = prepared->exclude;
    options->retain = prepared->retain;
    return TRUE;
}

static const ReportFormat *
choose_format(const ReportArguments *arguments, GError **error)
{
    const ReportFormat *named = NULL;
    const ReportFormat *format;

    if (arguments->format) {
        named = report_format_by_name(arguments->format);
        if (!named) {
            g_autofree char *words = g_strdelimit(g_strdup(REPORT_FORMAT_WORDS), "|", ' ');
            refuse_word("--format", arguments->format, words, error);
            return NULL;
        }
    }
    format = arguments->output ? report_format_by_path(arguments->output, named) : named;
    if (!format)
        format = report_format_at(0);
    if (!arguments->output && report_format_flags(format) & REPORT_FORMAT_BINARY && isatty(STDOUT_FILENO)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--format=%s is not for a terminal; name a file with -o FILE",
                    report_format_name(format));
        return NULL;
    }
    return format;
}

void
report_fill_source_options(SourceOptions *options)
{
    const ReportArguments *arguments = &report_arguments;
    const char *urls = g_getenv("DEBUGINFOD_URLS");

    options->read = (arguments->thread ? PROFILE_READ_THREADS : 0) | (arguments->partial ? PROFILE_READ_PARTIAL : 0);
    options->symbolize.debug_paths = (const char *const *)arguments->debug_paths;
    options->symbolize.sysroot = arguments->sysroot;
    options->symbolize.pid = arguments->pid;
    options->title = arguments->title;
    options->symbolize.debuginfod = arguments->debuginfod || (urls && *urls);
    options->symbolize.no_inlines = arguments->no_inlines;
}

/* The report is made in memory first: a file appears whole, or not at all. */
static gboolean
emit_to_file(Output *output, ReportEmit *emit, gpointer user, GError **error)
{
    int fd = memfd_create("jescope-report", MFD_CLOEXEC);
    g_autoptr(GOutputStream) out = fd < 0 ? NULL : g_unix_output_stream_new(fd, TRUE);

    if (!out) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "cannot make the report in memory: %s", g_strerror(errno));
        return FALSE;
    }
    return emit(out, user, error) && lseek(fd, 0, SEEK_SET) == 0 && output_copy(output, fd, error) &&
           output_commit(output, error);
}

static gboolean
emit_to(Output *output, ReportEmit *emit, gpointer user, GError **error)
{
    g_autoptr(GOutputStream) out = NULL;

    if (output)
        return emit_to_file(output, emit, user, error);
    out = g_unix_output_stream_new(STDOUT_FILENO, FALSE);
    return emit(out, user, error);
}

gboolean
report_emit(ReportEmit *emit, gpointer user, GError **error)
{
    g_autoptr(Output) output = NULL;

    if (report_arguments.output) {
        output = output_open(report_arguments.output, error);
        if (!output)
            return FALSE;
    }
    return emit_to(output, emit, user, error);
}

/* Objects without (good) names, for the few that matter: the reader sees addresses and should know why. */
static void
print_symbol_notes(const Source *source)
{
    for (guint32 i = 0; i < profile_n_objects(source->profile); i++) {
        const SymbolObject *object = symbols_object(source->symbols, i);
        if (object->source == SYMBOLS_MISMATCH && object->note)
            fprintf(stderr, "jescope: %s: %s\n", profile_objects(source->profile)[i].path, object->note);
    }
}

typedef struct {
    const ReportFormat *format;
    Source *now, *base;
    const ReportOptions *options;
} Run;

static gboolean
emit_report(GOutputStream *out, gpointer user, GError **error)
{
    const Run *run = user;

    return report_write(run->format, &run->now->input, run->base ? &run->base->input : NULL, run->options, out, error);
}

static gboolean
open_sources(Run *run, char *const *now, guint n_now, char *base, GError **error)
{
    SourceOptions options = {.keeps_text = report_format_flags(run->format) & REPORT_FORMAT_COPIES};

    report_fill_source_options(&options);
    run->now = source_open(now, n_now, &options, error);
    if (!run->now)
        return FALSE;
    if (base)
        run->base = source_open(&base, 1, &options, error);
    return !base || run->base;
}

static void
run_clear(Run *run)
{
    g_clear_pointer(&run->now, source_free);
    g_clear_pointer(&run->base, source_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Run, run_clear)

int
report_run(char *const *now, guint n_now, char *base, const ReportDefaults *defaults, GError **error)
{
    g_auto(ReportPrepared) prepared = {0};
    g_auto(Run) run = {.format = choose_format(&report_arguments, error), .options = &prepared.options};

    if (!run.format || !report_prepare(&prepared, defaults, error))
        return STATUS_USAGE;
    if (!open_sources(&run, now, n_now, base, error))
        return STATUS_FAILED;
    prepared.options.notes = (const char *const *)run.now->notes;
    print_symbol_notes(run.now);
    if (!report_emit(emit_report, &run, error))
        return STATUS_FAILED;
    return run.now->partial || (run.base && run.base->partial) ? STATUS_PARTIAL : STATUS_DONE;
}
