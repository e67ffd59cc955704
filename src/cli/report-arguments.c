/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report-arguments.h"

#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/via.h"
#include "cli/words.h"
#include "confine/input-file.h"
#include "confine/rights.h"
#include "report/page-file.h"
#include "source/comparison.h"

#include <errno.h>
#include <gio/gunixoutputstream.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KEY_DIGITS = 16 };

void
report_prepared_clear(ReportPrepared *prepared)
{
    g_clear_pointer(&prepared->focus, g_regex_unref);
    g_clear_pointer(&prepared->ignore, g_regex_unref);
    g_clear_pointer(&prepared->exclude, g_regex_unref);
    g_clear_pointer(&prepared->retain, g_regex_unref);
    g_clear_pointer(&prepared->show_from, g_regex_unref);
    g_clear_pointer(&prepared->fold, g_regex_unref);
}

/* ALLOWED: as in a row of the option table, "text|tree". */
static gboolean
refuse_word(const char *option, const char *word, const char *allowed, GError **error)
{
    g_auto(GStrv) words = g_strsplit(allowed, "|", -1);

    return words_find((const char *const *)words, option, word, NULL, error);
}

static gboolean
parse_words(ReportOptions *options, const ReportArguments *arguments, GError **error)
{
    if (arguments->value && !report_value_by_name(arguments->value, &options->value))
        return refuse_word("--value", arguments->value, REPORT_VALUES, error);
    if (arguments->sort && !report_sort_by_name(arguments->sort, &options->sort))
        return refuse_word("--sort", arguments->sort, "flat|cum|change|name", error);
    if (arguments->by && !report_granularity_by_name(arguments->by, &options->by))
        return refuse_word("--by", arguments->by, REPORT_GRANULARITIES, error);
    if (arguments->part && !report_part_by_name(arguments->part, &options->page.part))
        return refuse_word("--part", arguments->part, "all|graph|table|stacks|whole", error);
    return TRUE;
}

/* "0.005" or "0.5%"; *fraction is unchanged without text. */
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
                    "%s: '%s' is not a fraction; give a number from 0 to 1, or 0%% to 100%%", option, text);
        return FALSE;
    }
    *fraction = number;
    return TRUE;
}

/* RAW: untrusted names may not be UTF-8. */
static gboolean
parse_regex(const char *text, const char *option, GRegex **regex, GError **error)
{
    g_autoptr(GError) cause = NULL;

    if (!text)
        return TRUE;
    *regex = g_regex_new(text, G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, &cause);
    if (!*regex)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: invalid regular expression '%s': %s", option, text,
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

/* *size is unchanged if VALUE was not given. */
static gboolean
parse_size_of_graph(const char *option, int value, int least, int most, guint32 *size, GError **error)
{
    if (value != -1 && (value < least || value > most)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: %d is not a number from %d to %d", option, value, least,
                    most);
        return FALSE;
    }
    *size = value == -1 ? *size : (guint32)value;
    return TRUE;
}

static gboolean
parse_key(const char *text, guint64 *key, GError **error)
{
    if (text && (strspn(text, "0123456789abcdef") != strlen(text) || strlen(text) != KEY_DIGITS)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--zoom: '%s' is not a key of %d hexadecimal digits", text,
                    KEY_DIGITS);
        return FALSE;
    }
    *key = text ? g_ascii_strtoull(text, NULL, 16) : 0;
    return TRUE;
}

static gboolean
parse_page(ReportPage *page, const ReportArguments *arguments, GError **error)
{
    page->function = arguments->function;
    return parse_size_of_graph("--width", arguments->width, REPORT_WIDTH_MIN, REPORT_WIDTH_MAX, &page->width, error) &&
           parse_size_of_graph("--depth", arguments->depth, 1, REPORT_DEPTH_MAX, &page->depth, error) &&
           parse_key(arguments->zoom, &page->zoom, error);
}

static gboolean
check_pid(int pid, GError **error)
{
    if (pid < 0)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "no process with pid %d", pid);
    return pid >= 0;
}

static ReportFlags
collect_flags(const ReportArguments *arguments)
{
    return (arguments->error ? REPORT_SHOW_ERRORS : 0) | (arguments->jeprof ? REPORT_JEPROF_LAYOUT : 0) |
           (arguments->callers ? REPORT_CALLERS : 0) | (arguments->keep_allocator ? REPORT_KEEP_ALLOCATOR : 0) |
           (arguments->bytes ? REPORT_EXACT : 0) | (arguments->wrappers ? REPORT_WRAPPERS : 0);
}

gboolean
report_prepare(ReportPrepared *prepared, const ReportArguments *arguments, const ReportDefaults *defaults,
               GError **error)
{
    ReportOptions *options = &prepared->options;

    report_options_init(options);
    options->sort = arguments->cumulative ? REPORT_SORT_CUMULATIVE : defaults->sort;
    options->thread = arguments->thread;
    options->flags = collect_flags(arguments);
    if (!arguments->output && terminal_colored(STDOUT_FILENO))
        options->flags |= REPORT_COLOR;
    if (!terminal_check_color(error) || !parse_words(options, arguments, error) ||
        !parse_count(options, arguments->count, error) || !check_pid(arguments->pid, error) ||
        !parse_page(&options->page, arguments, error) ||
        !parse_fraction(arguments->min_fraction, "--min-fraction", &options->min_fraction, error) ||
        !parse_fraction(arguments->edge_fraction, "--edge-fraction", &options->edge_fraction, error) ||
        !parse_regex(arguments->focus, "--focus", &prepared->focus, error) ||
        !parse_regex(arguments->ignore, "--ignore", &prepared->ignore, error) ||
        !parse_regex(arguments->exclude, "--exclude", &prepared->exclude, error) ||
        !parse_regex(arguments->retain, "--retain", &prepared->retain, error) ||
        !parse_regex(arguments->show_from, "--show-from", &prepared->show_from, error) ||
        !parse_regex(arguments->fold, "--fold", &prepared->fold, error))
        return FALSE;
    options->focus = prepared->focus;
    options->ignore = prepared->ignore;
    options->exclude = prepared->exclude;
    options->retain = prepared->retain;
    options->show_from = prepared->show_from;
    options->fold = prepared->fold;
    return TRUE;
}

/* A suffix without a format is more likely a mistake than a request for a table. */
static gboolean
refuse_suffix(const char *path, GError **error)
{
    g_autofree char *base = g_path_get_basename(path);
    const char *suffix = strrchr(base, '.');
    g_autofree char *known = NULL;

    if (!suffix || suffix == base || g_file_test(path, G_FILE_TEST_EXISTS))
        return FALSE;
    known = report_format_suffixes();
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "-o: unknown suffix '%s'; use --format, or one of %s", suffix,
                known);
    return TRUE;
}

static gboolean
name_format(const ReportArguments *arguments, const ReportFormat **named, GError **error)
{
    const char *name = arguments->format ? arguments->format : arguments->json ? "json" : NULL;

    if (!name)
        return TRUE;
    *named = report_format_find(name);
    return *named || refuse_word("--format", name, REPORT_FORMAT_WORDS, error);
}

static const ReportFormat *
choose_format(const ReportArguments *arguments, GError **error)
{
    const ReportFormat *named = NULL;
    const ReportFormat *format;

    if (!name_format(arguments, &named, error))
        return NULL;
    format = arguments->output ? report_format_by_path(arguments->output, named) : named;
    if (!format && arguments->output && refuse_suffix(arguments->output, error))
        return NULL;
    if (!format)
        format = &report_formats[0];
    if (!arguments->output && format->flags & REPORT_FORMAT_BINARY && isatty(STDOUT_FILENO)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--format=%s is not for a terminal; name a file with -o FILE",
                    format->name);
        return NULL;
    }
    return format;
}

static void
show_names(guint done, guint whole)
{
    progress_phase(PROGRESS_NAMES, done, whole);
}

static ProfileReadFlags
read_flags(const ReportArguments *arguments)
{
    gboolean by_thread = g_strcmp0(arguments->by, report_granularity_name(REPORT_BY_THREAD)) == 0;
    gboolean by_size = g_strcmp0(arguments->by, report_granularity_name(REPORT_BY_SIZE)) == 0;

    return (arguments->thread || by_thread ? PROFILE_READ_THREADS : 0) | (by_size ? PROFILE_READ_SIZES : 0) |
           (arguments->partial ? PROFILE_READ_PARTIAL : 0);
}

void
report_fill_source_options(SourceOptions *options, const ReportArguments *arguments)
{
    const char *urls = g_getenv("DEBUGINFOD_URLS");

    options->open = via_open;
    options->symbolize.advance = show_names;
    options->read = read_flags(arguments);
    options->symbolize.debug_paths = (const char *const *)arguments->debug_paths;
    options->symbolize.sysroot = arguments->sysroot;
    options->symbolize.pid = arguments->pid;
    options->symbolize.owner = arguments->owner;
    options->title = arguments->title;
    options->symbolize.debuginfod = arguments->debuginfod || (urls && *urls);
    options->symbolize.no_inlines = arguments->no_inlines;
    options->symbolize.no_files = arguments->no_files;
    options->symbolize.public_files = arguments->public_files;
}

guint
report_seconds(const GArray *descriptors, uid_t author, const SourceOptions *options)
{
    const SymbolizeOptions *symbolize = &options->symbolize;
    const guint foreign = INPUT_FILE_FOREIGN_REPORT_SECONDS;

    if (symbolize->debuginfod && !symbolize->no_files)
        return foreign;
    author = rights_lesser(author, rights_lesser(symbolize->author, symbolize->owner));
    return MAX(input_seconds_of(author, foreign), input_files_seconds(descriptors, foreign));
}

/* The report is built in memory: a file appears complete, or not at all. */
static gboolean
emit_to(const char *path, int report, GError **error)
{
    g_autoptr(Output) output = output_open(path, OUTPUT_SHARED, error);

    return output && output_copy(output, report, error) && output_commit(output, error);
}

int
report_confined(const ReportWork *report, GError **error)
{
    const Confined confined = {
        .work = report->work,
        .data = report->data,
        .keep = (const int *)(gconstpointer)report->descriptors->data,
        .n_keep = report->descriptors->len,
        .seconds = report->seconds,
    };
    const char *path = report->output != NULL ? report->output : "-";
    int written = -1;
    int status = confined_work_run(&confined, "making the report", &written, error);

    if (status >= 0 && (status & REPORT_NOT_WRITTEN) == 0 && !emit_to(path, written, error))
        status = STATUS_FAILED;
    if (written >= 0)
        close(written);
    return status < 0 ? STATUS_FAILED : status & ~REPORT_NOT_WRITTEN;
}

/* Lists objects without (good) names, if they matter: the reader sees addresses and should know why. */
static void
print_symbol_notes(const Source *source)
{
    for (guint32 i = 0; i < profile_n_objects(source->profile); i++) {
        const SymbolObject *object = symbols_object(source->symbols, i);
        if (object->source == SYMBOLS_MISMATCH && object->note)
            command_say("%s: %s", profile_objects(source->profile)[i].path, object->note);
    }
}

typedef struct {
    const ReportArguments *arguments;
    const ReportFormat *format;
    const ReportDefaults *defaults;
    SourceOptions source;
    Comparison compared;
    ReportOptions *options;
} Run;

static gboolean
emit_report(const Run *run, GOutputStream *out, GError **error)
{
    const Source *base = run->compared.base;

    return report_write(run->format, &run->compared.now->input, base ? &base->input : NULL, run->options, out, error);
}

static void
print_notes(const Run *run)
{
    gboolean placeless = run->format->flags & REPORT_FORMAT_NO_NOTES || run->arguments->jeprof;

    for (char **note = run->compared.now->notes; placeless && note && *note; note++)
        command_say("%s", *note);
}

/* An empty document is still written for programs, with the reason; an empty picture is not. */
static int
write_reason(Run *run, GOutputStream *out, const GError *cause, GError **error)
{
    ReportOptions *options = run->options;
    gboolean same = cause->code == REPORT_ERROR_SAME;
    gboolean picture = run->format->flags & REPORT_FORMAT_PICTURE;

    if (picture && !same && run->arguments->output) {
        command_say("%s; %s is not written", cause->message, run->arguments->output);
        return STATUS_PARTIAL | REPORT_NOT_WRITTEN;
    }
    if (run->format != &report_formats[0] || run->arguments->output || run->arguments->jeprof)
        command_say("%s", cause->message);
    source_add_note(run->compared.now, g_strdup(cause->message));
    options->notes = (const char *const *)run->compared.now->notes;
    options->flags &= ~REPORT_REFUSE_EMPTY;
    if (!emit_report(run, out, error))
        return STATUS_FAILED;
    return same ? STATUS_DONE : STATUS_PARTIAL;
}

static int
write_report(Run *run, GOutputStream *out, GError **error)
{
    g_autoptr(GError) cause = NULL;

    run->options->flags |= REPORT_REFUSE_EMPTY;
    if (emit_report(run, out, &cause))
        return STATUS_DONE;
    if (g_error_matches(cause, REPORT_ERROR, REPORT_ERROR_EMPTY) ||
        g_error_matches(cause, REPORT_ERROR, REPORT_ERROR_SAME))
        return write_reason(run, out, cause, error);
    g_propagate_error(error, g_steal_pointer(&cause));
    return STATUS_FAILED;
}

/* The page tree from which the report is extracted; NULL: the sources are dumps. */
static const Source *
find_page_tree(const Run *run)
{
    const Source *only = run->compared.now_parts->pdata[0];

    return only->fd >= 0 && page_file_is_in(only->fd) ? only : NULL;
}

/* The contents of a page tree were selected when it was written. */
static const char *
find_late_option(const Run *run)
{
    const ReportArguments *arguments = run->arguments;
    const struct {
        const char *name;
        gboolean given;
    } late[] = {
        {"--base", run->compared.base_parts != NULL},
        {"--value", arguments->value != NULL},
        {"--by", arguments->by != NULL},
        {"--sort", arguments->sort != NULL},
        {"--cum", arguments->cumulative},
        {"--callers", arguments->callers},
        {"--focus", arguments->focus != NULL},
        {"--ignore", arguments->ignore != NULL},
        {"--exclude", arguments->exclude != NULL},
        {"--retain", arguments->retain != NULL},
        {"--show-from", arguments->show_from != NULL},
        {"--fold", arguments->fold != NULL},
        {"--wrappers", arguments->wrappers},
        {"--thread", arguments->thread != NULL},
        {"--keep-allocator", arguments->keep_allocator},
        {"--no-inlines", arguments->no_inlines},
        {"--partial", arguments->partial},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(late); i++)
        if (late[i].given)
            return late[i].name;
    return run->compared.now_parts->len > 1 ? "further files" : NULL;
}

static int
cut_page(const Run *run, const Source *tree, GOutputStream *out, GError **error)
{
    const char *late = find_late_option(run);

    if (!g_str_equal(run->format->name, "page"))
        g_set_error(error, REPORT_ERROR, REPORT_ERROR_UNSUPPORTED,
                    "%s: a page tree has what --format=page shows alone; use the dump for --format=%s", tree->name,
                    run->format->name);
    else if (late)
        g_set_error(error, REPORT_ERROR, REPORT_ERROR_UNSUPPORTED,
                    "%s: a page tree is of one report; omit %s here, or write another one from the dump", tree->name,
                    late);
    else if (page_file_cut(tree->fd, tree->name, run->options, out, error))
        return STATUS_DONE;
    return STATUS_FAILED;
}

/* Runs in the confined child, which ends after it. */
static int
make_report(gpointer data, GOutputStream *out, GError **error)
{
    Run *run = data;
    const Source *tree = find_page_tree(run);

    if (tree)
        return cut_page(run, tree, out, error);
    progress_phase(PROGRESS_READS, 0, 0);
    if (!comparison_finish(&run->compared, &run->source, error))
        return STATUS_FAILED;
    progress_phase(PROGRESS_WRITES, 0, 0);
    const Source *now = run->compared.now;
    run->options->notes = (const char *const *)now->notes;
    run->options->files = now->files;
    run->options->root = now->root;
    print_symbol_notes(now);
    print_notes(run);
    const ReportDefaults *defaults = run->defaults;
    if (defaults->preface && !defaults->preface(&run->compared, run->options, out, defaults->preface_data, error))
        return STATUS_FAILED;
    int status = write_report(run, out, error);
    gboolean partial = now->partial || (run->compared.base && run->compared.base->partial);
    return status == STATUS_DONE && partial ? STATUS_PARTIAL : status;
}

int
report_run_begun(const ReportArguments *arguments, const ReportDefaults *defaults, ReportBegin *begin, gpointer data,
                 GError **error)
{
    g_auto(ReportPrepared) prepared = {0};
    Run run = {.arguments = arguments,
               .format = choose_format(arguments, error),
               .defaults = defaults,
               .options = &prepared.options};
    int helpers[2];

    if (!run.format || !report_prepare(&prepared, arguments, defaults, error))
        return STATUS_USAGE;
    run.source.keeps_text = (run.format->flags & REPORT_FORMAT_COPIES) != 0;
    report_fill_source_options(&run.source, arguments);
    int status = STATUS_FAILED;
    if (begin(&run.compared, data, &run.source, error) && report_prepare_format(run.format, helpers, error)) {
        g_autoptr(GArray) descriptors = comparison_descriptors(&run.compared);
        g_array_append_vals(descriptors, helpers, G_N_ELEMENTS(helpers));
        const guint seconds = defaults->seconds != 0
                                  ? defaults->seconds
                                  : report_seconds(descriptors, comparison_author(&run.compared), &run.source);
        const ReportWork work = {make_report, &run, descriptors, arguments->output, seconds};
        status = report_confined(&work, error);
        report_unprepare_format();
    }
    comparison_clear(&run.compared);
    return status;
}

/* The sources named on the command line. */
typedef struct {
    char **now;
    char *base;
} Operands;

static gboolean
begin_operands(Comparison *comparison, gpointer data, const SourceOptions *options, GError **error)
{
    const Operands *operands = data;

    return comparison_begin(comparison, operands->now, g_strv_length(operands->now), operands->base, options, error);
}

int
report_run(const ReportArguments *arguments, char **now, char *base, const ReportDefaults *defaults, GError **error)
{
    Operands operands = {now, base};

    return report_run_begun(arguments, defaults, begin_operands, &operands, error);
}
