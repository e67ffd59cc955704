/* SPDX-License-Identifier: Apache-2.0 */
#include "report/trend.h"

#include "report/names.h"
#include "report/units.h"
#include "report/view.h"
#include "report/writer.h"

#include <math.h>

enum {
    TREND_DEFAULT_STACKS = 10,
    TREND_FRAMES = 8,
    TREND_SERIES = 24, /* dumps drawn; of more, the last ones */
    SECONDS_PER_HOUR = 3600,
};

typedef struct {
    const TrendInput *input;
    const ReportOptions *options;
    const View *view;
    Writer *writer;
    GArray *shown;     /* const GrowthStack *, in the order of growth_stacks() */
    GHashTable *paths; /* stack + 1 -> GArray of nodes, innermost first */
} Trend;

static const char *const verdict_names[] = {
    [GROWTH_WITHIN_ERROR] = "within error", [GROWTH_STILL_GROWING] = "still growing", [GROWTH_PLATEAU] = "plateau",
    [GROWTH_ONE_OFF] = "one-off",           [GROWTH_SHRINKING] = "shrinking",
};

const char *
trend_verdict_name(GrowthVerdict verdict)
{
    return verdict_names[verdict];
}

static gpointer
path_key(guint32 stack)
{
    return GSIZE_TO_POINTER((gsize)stack + 1);
}

static void
keep_path(const ViewPath *path, gpointer user)
{
    Trend *trend = user;
    GArray *nodes = g_array_sized_new(FALSE, FALSE, sizeof(guint32), path->n_nodes);

    g_array_append_vals(nodes, path->nodes, path->n_nodes);
    g_hash_table_insert(trend->paths, path_key(path->stack), nodes);
}

static gdouble
per_hour(const Trend *trend, gdouble slope)
{
    return trend->input->has_times ? slope * SECONDS_PER_HOUR : slope;
}

static void
write_amount(const Trend *trend, gdouble amount, UnitsFlags flags)
{
    char buffer[UNITS_BUFFER];

    writer_text(trend->writer, units_format(buffer, trend->options->value, amount, flags));
}

/* One block per dump, from the lowest value to the highest. */
static void
write_spark(const Trend *trend, const gdouble *series)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    gsize n = trend->input->n_profiles;
    gsize first = n > TREND_SERIES ? n - TREND_SERIES : 0;
    gdouble low = series[first], high = series[first];

    for (gsize i = first; i < n; i++) {
        low = MIN(low, series[i]);
        high = MAX(high, series[i]);
    }
    for (gsize i = first; i < n; i++) {
        gdouble height = high > low ? (series[i] - low) / (high - low) : 0;
        writer_text(trend->writer, blocks[(guint)(height * (G_N_ELEMENTS(blocks) - 1) + 0.5)]);
    }
}

static void
write_evidence(const Trend *trend, const GrowthStack *stack)
{
    char percent[UNITS_BUFFER];

    write_amount(trend, per_hour(trend, stack->slope), UNITS_SIGNED);
    writer_text(trend->writer, trend->input->has_times ? "/h ± " : " per dump ± ");
    write_amount(trend, per_hour(trend, stack->slope_error), UNITS_PLAIN);
    writer_text(trend->writer, ", ");
    write_amount(trend, stack->first, UNITS_PLAIN);
    writer_text(trend->writer, " → ");
    write_amount(trend, stack->last, UNITS_PLAIN);
    if (stack->verdict == GROWTH_ONE_OFF || stack->verdict == GROWTH_PLATEAU)
        writer_format(trend->writer, ", biggest step %s of all rises", units_percent(percent, stack->biggest_step, 1));
    if (stack->verdict == GROWTH_PLATEAU) {
        writer_text(trend->writer, ", lately ");
        write_amount(trend, per_hour(trend, stack->recent_slope), UNITS_SIGNED);
        writer_text(trend->writer, trend->input->has_times ? "/h" : " per dump");
    }
}

static void
write_frames(const Trend *trend, const GArray *nodes)
{
    for (guint i = 0; i < nodes->len && i < TREND_FRAMES; i++) {
        g_autofree char *name = name_display(view_node(trend->view, g_array_index(nodes, guint32, i))->name);
        writer_format(trend->writer, "      %s%s\n", i ? "← " : "", name);
    }
    if (nodes->len > TREND_FRAMES)
        writer_format(trend->writer, "      ← … %u more\n", nodes->len - TREND_FRAMES);
}

static void
write_stack(const Trend *trend, const GrowthStack *stack)
{
    writer_format(trend->writer, "\n%-14s", verdict_names[stack->verdict]);
    write_spark(trend, growth_series(trend->input->growth, stack->stack));
    writer_text(trend->writer, "  ");
    write_evidence(trend, stack);
    writer_text(trend->writer, "\n");
    write_frames(trend, g_hash_table_lookup(trend->paths, path_key(stack->stack)));
}

static void
write_span(const Trend *trend)
{
    const TrendInput *input = trend->input;
    gdouble seconds = input->times[input->n_profiles - 1] - input->times[0];

    writer_format(trend->writer, "%" G_GSIZE_FORMAT " dumps, %s to %s", input->n_profiles, input->names[0],
                  input->names[input->n_profiles - 1]);
    if (!input->has_times)
        return;
    writer_text(trend->writer, ", over ");
    writer_number(trend->writer, seconds < 120 ? seconds : seconds < 7200 ? seconds / 60 : seconds / 3600, 1);
    writer_text(trend->writer, seconds < 120 ? " s" : seconds < 7200 ? " min" : " h");
}

static void
write_text(Trend *trend)
{
    const GrowthStack *total = growth_total(trend->input->growth);
    guint32 limit = trend->options->limit ? trend->options->limit : TREND_DEFAULT_STACKS;
    guint written = 0, quiet = 0;

    write_span(trend);
    writer_format(trend->writer, "\n%s in all: %s, ", report_value_name(trend->options->value),
                  verdict_names[total->verdict]);
    write_evidence(trend, total);
    writer_text(trend->writer, "\n");
    for (guint i = 0; i < trend->shown->len; i++) {
        const GrowthStack *stack = g_array_index(trend->shown, const GrowthStack *, i);
        if (stack->verdict == GROWTH_WITHIN_ERROR)
            quiet++;
        else if (written < limit) {
            write_stack(trend, stack);
            written++;
        }
    }
    writer_format(trend->writer, "\n%u of %u stacks shown, %u of them changed by no more than sampling explains\n",
                  written, trend->shown->len, quiet);
}

static void
write_json_stack(const Trend *trend, const GrowthStack *stack)
{
    const GArray *nodes = g_hash_table_lookup(trend->paths, path_key(stack->stack));
    const gdouble *series = growth_series(trend->input->growth, stack->stack);

    writer_format(trend->writer, "{\"verdict\":\"%s\",\"slope\":", verdict_names[stack->verdict]);
    writer_number(trend->writer, stack->slope, 6);
    writer_text(trend->writer, ",\"slope_error\":");
    writer_number(trend->writer, stack->slope_error, 6);
    writer_text(trend->writer, ",\"recent_slope\":");
    writer_number(trend->writer, stack->recent_slope, 6);
    writer_text(trend->writer, ",\"biggest_step\":");
    writer_number(trend->writer, stack->biggest_step, 4);
    writer_text(trend->writer, ",\"series\":[");
    for (gsize i = 0; i < trend->input->n_profiles; i++) {
        writer_text(trend->writer, i ? "," : "");
        writer_number(trend->writer, series[i], 0);
    }
    writer_text(trend->writer, "],\"frames\":[");
    for (guint i = 0; i < nodes->len; i++) {
        writer_text(trend->writer, i ? "," : "");
        writer_json(trend->writer, view_node(trend->view, g_array_index(nodes, guint32, i))->name);
    }
    writer_text(trend->writer, "]}");
}

static void
write_json(Trend *trend)
{
    const TrendInput *input = trend->input;
    const GrowthStack *total = growth_total(input->growth);
    guint32 limit = trend->options->limit ? trend->options->limit : REPORT_ALL;

    writer_format(trend->writer,
                  "{\"format\":\"jescope-growth\",\"version\":1,\"value\":\"%s\",\"slope_per\":\"%s\",\n\"dumps\":[",
                  report_value_name(trend->options->value), input->has_times ? "second" : "dump");
    for (gsize i = 0; i < input->n_profiles; i++) {
        writer_text(trend->writer, i ? ",{\"name\":" : "{\"name\":");
        writer_json(trend->writer, input->names[i]);
        writer_text(trend->writer, ",\"time\":");
        writer_number(trend->writer, input->times[i], 0);
        writer_text(trend->writer, "}");
    }
    writer_format(trend->writer, "],\n\"total\":{\"verdict\":\"%s\",\"slope\":", verdict_names[total->verdict]);
    writer_number(trend->writer, total->slope, 6);
    writer_text(trend->writer, ",\"first\":");
    writer_number(trend->writer, total->first, 0);
    writer_text(trend->writer, ",\"last\":");
    writer_number(trend->writer, total->last, 0);
    writer_text(trend->writer, "},\n\"stacks\":[");
    for (guint i = 0; i < trend->shown->len && i < limit; i++) {
        writer_text(trend->writer, i ? ",\n" : "\n");
        write_json_stack(trend, g_array_index(trend->shown, const GrowthStack *, i));
    }
    writer_text(trend->writer, "]}\n");
}

/* What the view's filters leave, steepest first. */
static void
choose_stacks(Trend *trend)
{
    guint32 n;
    const GrowthStack *stacks = growth_stacks(trend->input->growth, &n);

    view_foreach(trend->view, keep_path, trend);
    for (guint32 i = 0; i < n; i++) {
        const GrowthStack *stack = &stacks[i];
        if (g_hash_table_contains(trend->paths, path_key(stack->stack)))
            g_array_append_val(trend->shown, stack);
    }
}

gboolean
trend_write(const TrendInput *input, const ReportOptions *options, TrendFormat format, GOutputStream *out,
            GError **error)
{
    ReportInput united = {.profile = growth_profile(input->growth), .symbols = input->symbols, .name = input->names[0]};
    g_autoptr(View) view = view_new(&united, NULL, options, error);
    g_autoptr(GArray) shown = g_array_new(FALSE, FALSE, sizeof(const GrowthStack *));
    g_autoptr(GHashTable) paths =
        g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, (GDestroyNotify)g_array_unref);
    Trend trend = {.input = input, .options = options, .view = view, .shown = shown, .paths = paths};

    if (!view)
        return FALSE;
    choose_stacks(&trend);
    trend.writer = writer_new(out);
    if (format == TREND_JSON)
        write_json(&trend);
    else
        write_text(&trend);
    return writer_finish(trend.writer, error);
}
