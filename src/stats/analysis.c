/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/analysis.h"

#include "stats/readable.h"

#include <math.h>

enum {
    FLUSH_AT = 64 * 1024,
};

static const char *const kind_titles[] = {
    [ANALYSIS_ABSOLUTE] = "Absolutes from iteration # ",
    [ANALYSIS_DELTA] = "Deltas from iteration # ",
    [ANALYSIS_EFFICIENCY] = "Efficiency from iteration # ",
};

typedef struct {
    const Iterations *iterations;
    const AnalysisRequest *request;
    GString *out;
    double threshold;
    gboolean stopped; /* the original stops here without an error */
} Run;

static gboolean
reaches(const Run *run, double bytes)
{
    return fabs(bytes) >= run->threshold;
}

static gboolean
no_iteration(const Run *run, gint64 index, GError **error)
{
    guint count = iterations_count(run->iterations);
    if (count == 0)
        g_set_error(error, STATS_ERROR, STATS_ERROR_RANGE, "it contains no iteration");
    else
        g_set_error(error, STATS_ERROR, STATS_ERROR_RANGE, "no iteration %" G_GINT64_FORMAT "; it contains %u, 0 to %u",
                    index, count, count - 1);
    return FALSE;
}

static gboolean
has_iteration(const Run *run, gint64 index)
{
    return index >= 0 && index < iterations_count(run->iterations);
}

/* The rows of an iteration to analyse: its arenas, or the whole process. */
static const ArenaSizes *
rows_of(const Run *run, gint64 index, guint *count)
{
    if ((run->request->flags & ANALYSIS_TOTAL) == 0)
        return iterations_arenas(run->iterations, (guint)index, count);
    *count = 1;
    return iterations_totals(run->iterations, (guint)index);
}

static const ArenaSizes *
row_of(const Run *run, gint64 index, guint arena)
{
    guint low = 0;
    guint high;
    const ArenaSizes *rows = rows_of(run, index, &high);
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (rows[middle].arena == arena)
            return &rows[middle];
        if (rows[middle].arena < arena)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* The first absent value, or SIZE_COUNT. */
static SizeKind
missing_size(const ArenaSizes *row)
{
    SizeKind kind = SIZE_TOTAL;
    while (kind < SIZE_COUNT && (row->present & (1u << kind)) != 0)
        kind++;
    return kind;
}

static void
append_name(GString *out, guint arena)
{
    char text[16];
    g_string_append(out, "arena:  ");
    g_string_append_len(out, text, g_snprintf(text, sizeof(text), "%u  ", arena));
}

static void
append_caught(GString *out, SizeKind missing, gint64 iteration)
{
    g_string_append_printf(out,
                           "caught exception '%s' <type 'exceptions.KeyError'> at iteration = %" G_GINT64_FORMAT "\n",
                           size_kind_name(missing), iteration);
}

static void
original_absolute(Run *run, const ArenaSizes *row)
{
    for (SizeKind kind = SIZE_TOTAL; kind < SIZE_COUNT; kind++) {
        if (!reaches(run, (double)row->sizes[kind]))
            continue;
        append_name(run->out, row->arena);
        g_string_append(run->out, size_kind_name(kind));
        g_string_append(run->out, ":  ");
        readable_append_float(run->out, (double)row->sizes[kind]);
        g_string_append_c(run->out, '\n');
    }
}

static gboolean
original_efficiency(Run *run, const ArenaSizes *row, GError **error)
{
    double total = (double)row->sizes[SIZE_TOTAL];
    double active = (double)row->sizes[SIZE_ACTIVE];
    double mapped = (double)row->sizes[SIZE_MAPPED];
    if (!reaches(run, total) && !reaches(run, active) && !reaches(run, mapped))
        return TRUE;
    if (row->sizes[SIZE_MAPPED] == 0) {
        g_set_error(error, STATS_ERROR, STATS_ERROR_FORMAT,
                    "arena %u has nothing mapped, so no efficiency; a threshold above 0 leaves it out", row->arena);
        return FALSE;
    }
    append_name(run->out, row->arena);
    g_string_append(run->out, "total:  ");
    readable_append_float(run->out, total);
    g_string_append(run->out, " (");
    readable_append_percent(run->out, total, mapped);
    g_string_append(run->out, ") active:  ");
    readable_append_float(run->out, active);
    g_string_append(run->out, "  (");
    readable_append_percent(run->out, active, mapped);
    g_string_append(run->out, ") mapped:  ");
    readable_append_float(run->out, mapped);
    g_string_append_c(run->out, '\n');
    return TRUE;
}

static void
original_title(Run *run, gint64 iteration)
{
    const AnalysisRequest *request = run->request;
    g_string_append(run->out, kind_titles[request->kind]);
    if (request->kind == ANALYSIS_DELTA)
        g_string_append_printf(run->out, "%" G_GINT64_FORMAT " to ", request->base);
    g_string_append_printf(run->out, "%" G_GINT64_FORMAT " above ", iteration);
    readable_append_integer(run->out, (gint64)run->threshold);
    g_string_append(run->out, ":\n");
}

static void
original_change(Run *run, SizeKind kind, const ArenaSizes *before, const ArenaSizes *after)
{
    double change = (double)(gint64)(after->sizes[kind] - before->sizes[kind]);
    if (!reaches(run, change))
        return;
    append_name(run->out, before->arena);
    g_string_append(run->out, "delta ");
    g_string_append(run->out, size_kind_name(kind));
    g_string_append(run->out, ":  ");
    readable_append_float(run->out, change);
    g_string_append_c(run->out, '\n');
}

static gboolean
original_delta_row(Run *run, const ArenaSizes *before, gint64 iteration, GError **error)
{
    /* The original prints iteration -1 here in any case, and fails at the next line. */
    if (missing_size(before) != SIZE_COUNT) {
        append_caught(run->out, missing_size(before), -1);
        return TRUE;
    }
    const ArenaSizes *after = row_of(run, iteration, before->arena);
    if (after == NULL || missing_size(after) != SIZE_COUNT) {
        g_set_error(error, STATS_ERROR, STATS_ERROR_RANGE,
                    "iteration %" G_GINT64_FORMAT " has no %s of arena %u, which iteration %" G_GINT64_FORMAT " has",
                    iteration, after == NULL ? "values" : size_kind_name(missing_size(after)), before->arena,
                    run->request->base);
        return FALSE;
    }
    original_change(run, SIZE_TOTAL, before, after);
    original_change(run, SIZE_MAPPED, before, after);
    return TRUE;
}

static gboolean
original_delta(Run *run, gint64 iteration, GError **error)
{
    guint count;
    if (!has_iteration(run, run->request->base))
        return no_iteration(run, run->request->base, error);
    const ArenaSizes *rows = rows_of(run, run->request->base, &count);
    if (!has_iteration(run, iteration))
        return count == 0 || no_iteration(run, iteration, error);
    for (guint i = 0; i < count; i++)
        if (!original_delta_row(run, &rows[i], iteration, error))
            return FALSE;
    return TRUE;
}

static gboolean
original_rows(Run *run, gint64 iteration, GError **error)
{
    guint count;
    if (!has_iteration(run, iteration))
        return no_iteration(run, iteration, error);
    const ArenaSizes *rows = rows_of(run, iteration, &count);
    for (guint i = 0; i < count; i++) {
        if (missing_size(&rows[i]) != SIZE_COUNT) {
            append_caught(run->out, missing_size(&rows[i]), iteration);
            run->stopped = TRUE;
            return TRUE;
        }
        if (run->request->kind == ANALYSIS_ABSOLUTE)
            original_absolute(run, &rows[i]);
        else if (!original_efficiency(run, &rows[i], error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
original_iteration(Run *run, gint64 iteration, GError **error)
{
    original_title(run, iteration);
    return run->request->kind == ANALYSIS_DELTA ? original_delta(run, iteration, error)
                                                : original_rows(run, iteration, error);
}

static const char *const size_names[SIZE_COUNT] = {"allocated", "active", "mapped"};

enum {
    ALL_SIZES = (1u << SIZE_COUNT) - 1,
};

/* A line of the output. */
typedef struct {
    guint arena;
    guint known; /* bit i: sizes[i] is known */
    double sizes[SIZE_COUNT];
    const char *state; /* for an arena that only one of the iterations has; NULL: both have it */
} Row;

/* An output format. */
typedef struct {
    void (*begin)(Run *run);
    void (*begin_iteration)(Run *run, gint64 base, gint64 iteration);
    void (*row)(Run *run, const Row *row);
    void (*end_iteration)(Run *run);
    void (*end)(Run *run);
} Form;

static gboolean
is_known(const Row *row, SizeKind size)
{
    return (row->known & (1u << size)) != 0;
}

static gboolean
row_reaches(const Run *run, const Row *row)
{
    for (guint i = 0; i < SIZE_COUNT; i++)
        if (is_known(row, i) && reaches(run, row->sizes[i]))
            return TRUE;
    return FALSE;
}

/* FALSE if the share is undefined or not requested. */
static gboolean
share_of_mapped(const Run *run, const Row *row, SizeKind size, double *share)
{
    if (run->request->kind != ANALYSIS_EFFICIENCY || size == SIZE_MAPPED || !is_known(row, size) ||
        !is_known(row, SIZE_MAPPED) || row->sizes[SIZE_MAPPED] == 0)
        return FALSE;
    *share = row->sizes[size] / row->sizes[SIZE_MAPPED];
    return TRUE;
}

static void
text_time(GString *out, gint64 time_us)
{
    if (time_us == STATS_TIME_UNKNOWN)
        return;
    g_autoptr(GDateTime) date = g_date_time_new_from_unix_local(time_us / G_USEC_PER_SEC);
    g_autofree char *text = date != NULL ? g_date_time_format(date, "%Y-%m-%d %H:%M:%S") : NULL;
    if (text != NULL)
        g_string_append_printf(out, "  %s", text);
}

static void
text_begin_iteration(Run *run, gint64 base, gint64 iteration)
{
    if (run->request->kind == ANALYSIS_DELTA)
        g_string_append_printf(run->out, "iteration %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, base, iteration);
    else
        g_string_append_printf(run->out, "iteration %" G_GINT64_FORMAT, iteration);
    text_time(run->out, iterations_time(run->iterations, (guint)iteration));
    if (run->request->threshold_mib != 0) {
        g_string_append(run->out, "  above ");
        readable_append_size(run->out, run->threshold, 0);
    }
    g_string_append_c(run->out, '\n');
}

static void
text_row(Run *run, const Row *row)
{
    if (run->request->flags & ANALYSIS_TOTAL)
        g_string_append(run->out, "  process ");
    else
        g_string_append_printf(run->out, "  arena %-4u", row->arena);
    for (guint i = 0; i < SIZE_COUNT; i++) {
        double share;
        g_string_append_printf(run->out, "  %s ", size_names[i]);
        if (is_known(row, i))
            readable_append_size(run->out, row->sizes[i], 11);
        else
            g_string_append_printf(run->out, "%11s", "?");
        if (share_of_mapped(run, row, i, &share))
            g_string_append_printf(run->out, " %5.1f%%", 100.0 * share);
        else if (run->request->kind == ANALYSIS_EFFICIENCY && i != SIZE_MAPPED)
            g_string_append(run->out, "      -");
    }
    if (row->state != NULL)
        g_string_append_printf(run->out, "  (%s)", row->state);
    g_string_append_c(run->out, '\n');
}

static void
text_nothing(Run *run G_GNUC_UNUSED)
{
}

static const Form text_form = {text_nothing, text_begin_iteration, text_row, text_nothing, text_nothing};

/* Appends a comma if the list begun last has an element already. */
static void
json_next(GString *out)
{
    if (out->len == 0 || out->str[out->len - 1] != '[')
        g_string_append_c(out, ',');
    g_string_append_c(out, '\n');
}

static void
json_begin(Run *run)
{
    static const char *const formats[] = {
        [ANALYSIS_ABSOLUTE] = "jescope-abs", [ANALYSIS_DELTA] = "jescope-del", [ANALYSIS_EFFICIENCY] = "jescope-eff"};
    g_string_append_printf(run->out, "{\"format\": \"%s\", \"version\": 1, \"threshold\": %.0f, \"iterations\": [",
                           formats[run->request->kind], run->threshold);
}

static void
json_begin_iteration(Run *run, gint64 base, gint64 iteration)
{
    gint64 time_us = iterations_time(run->iterations, (guint)iteration);
    g_autoptr(GDateTime) date =
        time_us != STATS_TIME_UNKNOWN ? g_date_time_new_from_unix_utc(time_us / G_USEC_PER_SEC) : NULL;
    g_autofree char *time = date != NULL ? g_date_time_format(date, "\"%Y-%m-%dT%H:%M:%SZ\"") : NULL;
    json_next(run->out);
    g_string_append_printf(run->out, "{\"iteration\": %" G_GINT64_FORMAT, iteration);
    if (run->request->kind == ANALYSIS_DELTA)
        g_string_append_printf(run->out, ", \"base\": %" G_GINT64_FORMAT, base);
    g_string_append_printf(run->out, ", \"time\": %s, \"rows\": [", time != NULL ? time : "null");
}

static void
json_row(Run *run, const Row *row)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    double share;
    json_next(run->out);
    if (run->request->flags & ANALYSIS_TOTAL)
        g_string_append(run->out, "  {\"arena\": null");
    else
        g_string_append_printf(run->out, "  {\"arena\": %u", row->arena);
    for (guint i = 0; i < SIZE_COUNT; i++) {
        g_ascii_formatd(number, sizeof(number), "%.0f", row->sizes[i]);
        g_string_append_printf(run->out, ", \"%s\": %s", size_names[i], is_known(row, i) ? number : "null");
        if (run->request->kind != ANALYSIS_EFFICIENCY || i == SIZE_MAPPED)
            continue;
        gboolean known = share_of_mapped(run, row, i, &share);
        g_string_append_printf(run->out, ", \"%s_share\": %s", size_names[i],
                               known ? g_ascii_formatd(number, sizeof(number), "%.6f", share) : "null");
    }
    if (row->state != NULL)
        g_string_append_printf(run->out, ", \"state\": \"%s\"", row->state);
    g_string_append_c(run->out, '}');
}

static void
json_end_iteration(Run *run)
{
    g_string_append(run->out, "]}");
}

static void
json_end(Run *run)
{
    g_string_append(run->out, "\n]}\n");
}

static const Form json_form = {json_begin, json_begin_iteration, json_row, json_end_iteration, json_end};

static const Form *
form_of(const Run *run)
{
    return (run->request->flags & ANALYSIS_JSON) != 0 ? &json_form : &text_form;
}

static void
own_row(Run *run, const ArenaSizes *sizes)
{
    Row row = {.arena = sizes->arena, .known = sizes->present & ALL_SIZES};
    for (guint i = 0; i < SIZE_COUNT; i++)
        row.sizes[i] = (double)sizes->sizes[i];
    if (row_reaches(run, &row))
        form_of(run)->row(run, &row);
}

/* An arena in only one of the two is new or gone; its values in the other are 0. */
static void
own_change(Run *run, guint arena, const ArenaSizes *before, const ArenaSizes *after)
{
    Row row = {.arena = arena,
               .known = (before != NULL ? before->present : ALL_SIZES) & (after != NULL ? after->present : ALL_SIZES),
               .state = before == NULL  ? "new"
                        : after == NULL ? "gone"
                                        : NULL};
    for (guint i = 0; i < SIZE_COUNT; i++) {
        uint64_t from = before != NULL ? before->sizes[i] : 0;
        uint64_t to = after != NULL ? after->sizes[i] : 0;
        row.sizes[i] = (double)(gint64)(to - from);
    }
    if (row_reaches(run, &row))
        form_of(run)->row(run, &row);
}

static void
own_changes(Run *run, gint64 base, gint64 iteration)
{
    guint before_count, after_count;
    const ArenaSizes *before = rows_of(run, base, &before_count);
    const ArenaSizes *after = rows_of(run, iteration, &after_count);
    guint i = 0, j = 0;
    while (i < before_count || j < after_count) {
        gboolean take_before = j == after_count || (i < before_count && before[i].arena <= after[j].arena);
        gboolean take_after = i == before_count || (j < after_count && after[j].arena <= before[i].arena);
        guint arena = take_before ? before[i].arena : after[j].arena;
        own_change(run, arena, take_before ? &before[i++] : NULL, take_after ? &after[j++] : NULL);
    }
}

static void
own_rows(Run *run, gint64 iteration)
{
    guint count;
    const ArenaSizes *rows = rows_of(run, iteration, &count);
    for (guint i = 0; i < count; i++)
        own_row(run, &rows[i]);
}

static void
own_iteration(Run *run, gint64 iteration)
{
    gint64 base = run->request->flags & ANALYSIS_SUCCESSIVE ? iteration - 1 : run->request->base;
    form_of(run)->begin_iteration(run, base, iteration);
    if (run->request->kind == ANALYSIS_DELTA)
        own_changes(run, base, iteration);
    else
        own_rows(run, iteration);
    form_of(run)->end_iteration(run);
}

static gboolean
check_range(const Run *run, GError **error)
{
    const AnalysisRequest *request = run->request;
    gint64 first = request->kind == ANALYSIS_DELTA ? MIN(request->base, request->start) : request->start;
    if (!has_iteration(run, first))
        return no_iteration(run, first, error);
    if (request->start < request->end && !has_iteration(run, request->end - 1))
        return no_iteration(run, request->end - 1, error);
    if (request->start < request->end)
        return TRUE;
    g_set_error(error, STATS_ERROR, STATS_ERROR_RANGE,
                "the range %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " is empty: the end is exclusive", first,
                request->end);
    return FALSE;
}

static gboolean
flush(Run *run, gsize at, AnalysisSink sink, gpointer data, GError **error)
{
    if (run->out->len < at)
        return TRUE;
    gboolean fine = sink(run->out->str, run->out->len, data, error);
    g_string_truncate(run->out, 0);
    return fine;
}

static gboolean
run_original(Run *run, AnalysisSink sink, gpointer data, GError **error)
{
    for (gint64 i = run->request->start; i < run->request->end && !run->stopped; i++) {
        g_autoptr(GError) failed = NULL;
        gboolean fine = original_iteration(run, i, &failed);
        if (!flush(run, fine ? FLUSH_AT : 1, sink, data, error))
            return FALSE;
        if (!fine) {
            g_propagate_error(error, g_steal_pointer(&failed));
            return FALSE;
        }
    }
    return flush(run, 1, sink, data, error);
}

static gboolean
run_own(Run *run, AnalysisSink sink, gpointer data, GError **error)
{
    if (!check_range(run, error))
        return FALSE;
    form_of(run)->begin(run);
    for (gint64 i = run->request->start; i < run->request->end; i++) {
        own_iteration(run, i);
        if (!flush(run, FLUSH_AT, sink, data, error))
            return FALSE;
    }
    form_of(run)->end(run);
    return flush(run, 1, sink, data, error);
}

gboolean
analysis_run(const Iterations *iterations, const AnalysisRequest *request, AnalysisSink sink, gpointer data,
             GError **error)
{
    g_autoptr(GString) out = g_string_sized_new(FLUSH_AT + 4096);
    Run run = {iterations, request, out, (double)request->threshold_mib * (1 << 20), FALSE};
    return (request->flags & ANALYSIS_ORIGINAL) != 0 ? run_original(&run, sink, data, error)
                                                     : run_own(&run, sink, data, error);
}
