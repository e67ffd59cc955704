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
    gboolean stopped; /* the original gives up without an error */
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
        g_set_error(error, STATS_ERROR, STATS_ERROR_RANGE, "there is no iteration in it");
    else
        g_set_error(error, STATS_ERROR, STATS_ERROR_RANGE,
                    "there is no iteration %" G_GINT64_FORMAT "; it holds %u, 0 to %u", index, count, count - 1);
    return FALSE;
}

static gboolean
has_iteration(const Run *run, gint64 index)
{
    return index >= 0 && index < iterations_count(run->iterations);
}

/* The rows of one iteration that are looked at: its arenas, or the process as a whole. */
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

/* The first value that is not there, or SIZE_COUNT. */
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
    g_string_append_len(out, text, g_snprintf(text, sizeof text, "%u  ", arena));
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
    /* The original names iteration -1 here, whatever it is, and stumbles over the next line. */
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

static void
append_time(GString *out, gint64 time_us)
{
    if (time_us == STATS_TIME_UNKNOWN)
        return;
    g_autoptr(GDateTime) date = g_date_time_new_from_unix_local(time_us / G_USEC_PER_SEC);
    g_autofree char *text = date != NULL ? g_date_time_format(date, "%Y-%m-%d %H:%M:%S") : NULL;
    if (text != NULL)
        g_string_append_printf(out, "  %s", text);
}

static void
append_row_name(const Run *run, guint arena)
{
    if (run->request->flags & ANALYSIS_TOTAL)
        g_string_append(run->out, "  process ");
    else
        g_string_append_printf(run->out, "  arena %-4u", arena);
}

static void
append_column(GString *out, const char *name, gboolean known, double bytes)
{
    g_string_append_printf(out, "  %s ", name);
    if (known)
        readable_append_size(out, bytes, 11);
    else
        g_string_append_printf(out, "%11s", "?");
}

static gboolean
row_reaches(const Run *run, const ArenaSizes *row)
{
    for (guint i = 0; i < SIZE_COUNT; i++)
        if ((row->present & (1u << i)) != 0 && reaches(run, (double)row->sizes[i]))
            return TRUE;
    return FALSE;
}

static void
own_row(Run *run, const ArenaSizes *row)
{
    static const char *const names[SIZE_COUNT] = {"allocated", "active", "mapped"};
    if (!row_reaches(run, row))
        return;
    append_row_name(run, row->arena);
    for (guint i = 0; i < SIZE_COUNT; i++) {
        append_column(run->out, names[i], (row->present & (1u << i)) != 0, (double)row->sizes[i]);
        if (run->request->kind != ANALYSIS_EFFICIENCY || i == SIZE_MAPPED)
            continue;
        gboolean known = (row->present & (1u << i | 1u << SIZE_MAPPED)) == (1u << i | 1u << SIZE_MAPPED);
        if (known && row->sizes[SIZE_MAPPED] != 0)
            g_string_append_printf(run->out, " %5.1f%%",
                                   100.0 * (double)row->sizes[i] / (double)row->sizes[SIZE_MAPPED]);
        else
            g_string_append(run->out, "      -");
    }
    g_string_append_c(run->out, '\n');
}

/* An arena that one of the two does not have is new or gone: the other counts as nothing. */
static void
own_change(Run *run, guint arena, const ArenaSizes *before, const ArenaSizes *after)
{
    static const char *const names[SIZE_COUNT] = {"allocated", "active", "mapped"};
    gboolean shown = FALSE;
    double changes[SIZE_COUNT];
    guint known = (before != NULL ? before->present : 7) & (after != NULL ? after->present : 7);
    for (guint i = 0; i < SIZE_COUNT; i++) {
        uint64_t from = before != NULL ? before->sizes[i] : 0;
        uint64_t to = after != NULL ? after->sizes[i] : 0;
        changes[i] = (double)(gint64)(to - from);
        shown |= (known & (1u << i)) != 0 && reaches(run, changes[i]);
    }
    if (!shown)
        return;
    append_row_name(run, arena);
    for (guint i = 0; i < SIZE_COUNT; i++)
        append_column(run->out, names[i], (known & (1u << i)) != 0, changes[i]);
    g_string_append(run->out, before == NULL ? "  (new)\n" : after == NULL ? "  (gone)\n" : "\n");
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
own_title(Run *run, gint64 base, gint64 iteration)
{
    if (run->request->kind == ANALYSIS_DELTA)
        g_string_append_printf(run->out, "iteration %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, base, iteration);
    else
        g_string_append_printf(run->out, "iteration %" G_GINT64_FORMAT, iteration);
    append_time(run->out, iterations_time(run->iterations, (guint)iteration));
    if (run->request->threshold_mib != 0) {
        g_string_append(run->out, "  above ");
        readable_append_size(run->out, run->threshold, 0);
    }
    g_string_append_c(run->out, '\n');
}

static gboolean
own_iteration(Run *run, gint64 iteration, GError **error)
{
    guint count;
    gint64 base = run->request->flags & ANALYSIS_SUCCESSIVE ? iteration - 1 : run->request->base;
    own_title(run, base, iteration);
    if (run->request->kind == ANALYSIS_DELTA) {
        own_changes(run, base, iteration);
        return TRUE;
    }
    const ArenaSizes *rows = rows_of(run, iteration, &count);
    for (guint i = 0; i < count; i++)
        own_row(run, &rows[i]);
    return TRUE;
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

gboolean
analysis_run(const Iterations *iterations, const AnalysisRequest *request, AnalysisSink sink, gpointer data,
             GError **error)
{
    g_autoptr(GString) out = g_string_sized_new(FLUSH_AT + 4096);
    gboolean original = (request->flags & ANALYSIS_ORIGINAL) != 0;
    Run run = {iterations, request, out, (double)request->threshold_mib * (1 << 20), FALSE};
    if (!original && !check_range(&run, error))
        return FALSE;
    for (gint64 i = request->start; i < request->end && !run.stopped; i++) {
        g_autoptr(GError) failed = NULL;
        gboolean fine = original ? original_iteration(&run, i, &failed) : own_iteration(&run, i, &failed);
        if (!flush(&run, fine ? FLUSH_AT : 1, sink, data, error))
            return FALSE;
        if (!fine) {
            g_propagate_error(error, g_steal_pointer(&failed));
            return FALSE;
        }
    }
    return flush(&run, 1, sink, data, error);
}
