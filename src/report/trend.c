/* SPDX-License-Identifier: Apache-2.0 */
#include "report/trend.h"

#include "confine/keyed-hash.h"
#include "report/units.h"
#include "report/view-notes.h"
#include "report/view.h"
#include "report/writer.h"
#include "text/printable.h"

#include <string.h>

enum {
    TREND_DEFAULT_ROWS = 10,
    TREND_FRAMES = 8,
    TREND_SERIES = 24, /* number of drawn dumps, the last ones */
    SECONDS_PER_HOUR = 3600,
};

/* The key by which stacks are summed. */
typedef struct {
    GArray *paths;    /* GArray * per group: nodes, innermost first */
    guint32 *groups;  /* the group of each stack, or PROFILE_NONE */
    GHashTable *seen; /* path -> group + 1 */
    guint32 depth;    /* nodes of a path that are used */
    GrowthRows *rows;
} Grouping;

typedef struct {
    const TrendInput *input;
    const ReportOptions *options;
    const View *view;
    Writer *writer;
    GPtrArray *notes;   /* the input's, then those of the view; NULL at the end */
    Grouping functions; /* by allocating function, or the unit of options->by */
    Grouping stacks;    /* by the whole path of them */
} Trend;

static const char *const verdict_names[] = {
    [GROWTH_WITHIN_ERROR] = "within error", [GROWTH_STILL_GROWING] = "still growing", [GROWTH_PLATEAU] = "plateau",
    [GROWTH_ONE_OFF] = "one-off",           [GROWTH_SHRINKING] = "shrinking",         [GROWTH_FILLING] = "filling",
};

static guint
hash_path(gconstpointer key)
{
    const GArray *path = key;

    return keyed_hash_bytes(path->data, path->len * sizeof(guint32));
}

static gboolean
equal_paths(gconstpointer a, gconstpointer b)
{
    const GArray *left = a;
    const GArray *right = b;

    return left->len == right->len && memcmp(left->data, right->data, left->len * sizeof(guint32)) == 0;
}

static void
grouping_init(Grouping *grouping, guint32 n_stacks, guint32 depth)
{
    *grouping = (Grouping){
        .paths = g_array_new(FALSE, FALSE, sizeof(GArray *)),
        .groups = g_new(guint32, n_stacks),
        .seen = g_hash_table_new_full(hash_path, equal_paths, (GDestroyNotify)g_array_unref, NULL),
        .depth = depth,
    };
    for (guint32 i = 0; i < n_stacks; i++)
        grouping->groups[i] = PROFILE_NONE;
}

static void
grouping_clear(Grouping *grouping)
{
    g_array_unref(grouping->paths);
    g_free(grouping->groups);
    g_hash_table_unref(grouping->seen);
    growth_rows_free(grouping->rows);
}

static void
group_path(Grouping *grouping, const ViewPath *path)
{
    gboolean by_group = grouping->depth == 1 && path->group != PROFILE_NONE;
    guint32 n = MIN(path->n_nodes, grouping->depth);
    g_autoptr(GArray) key = g_array_sized_new(FALSE, FALSE, sizeof(guint32), n);
    guint found;

    g_array_append_vals(key, by_group ? &path->group : path->nodes, n);
    found = GPOINTER_TO_UINT(g_hash_table_lookup(grouping->seen, key));
    if (!found) {
        g_array_append_val(grouping->paths, key);
        found = grouping->paths->len;
        g_hash_table_insert(grouping->seen, g_steal_pointer(&key), GUINT_TO_POINTER(found));
    }
    grouping->groups[path->stack] = found - 1;
}

static const GArray *
group_nodes(const Grouping *grouping, const GrowthRow *row)
{
    return g_array_index(grouping->paths, const GArray *, row->group);
}

static void
add_path(const ViewPath *path, gpointer user)
{
    Trend *trend = user;

    group_path(&trend->functions, path);
    group_path(&trend->stacks, path);
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

/* One block character per dump, scaled from the lowest to the highest value. */
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

static const char *
format_probability(char buffer[G_ASCII_DTOSTR_BUF_SIZE], gdouble p)
{
    return g_ascii_formatd(buffer, G_ASCII_DTOSTR_BUF_SIZE, "%.2g", p);
}

/* The evidence of the verdict, if the dumps have it. */
static void
write_counts(const Trend *trend, const GrowthRow *row)
{
    char p[G_ASCII_DTOSTR_BUF_SIZE];

    if (row->is_counted)
        writer_format(trend->writer, ", %.0f samples born, %.0f died (p %s)", row->births, row->deaths,
                      format_probability(p, row->p));
}

static void
write_evidence(const Trend *trend, const GrowthRow *row)
{
    char percent[UNITS_BUFFER];

    write_amount(trend, per_hour(trend, row->slope), UNITS_SIGNED);
    writer_text(trend->writer, trend->input->has_times ? "/h ± " : " per dump ± ");
    write_amount(trend, per_hour(trend, row->slope_error), UNITS_PLAIN);
    writer_text(trend->writer, ", ");
    write_amount(trend, row->first, UNITS_PLAIN);
    writer_text(trend->writer, " → ");
    write_amount(trend, row->last, UNITS_PLAIN);
    if (row->verdict == GROWTH_ONE_OFF || row->verdict == GROWTH_PLATEAU)
        writer_format(trend->writer, ", biggest step %s of all rises", units_percent(percent, row->biggest_step, 1));
    if (row->verdict == GROWTH_PLATEAU) {
        writer_text(trend->writer, ", lately ");
        write_amount(trend, per_hour(trend, row->recent_slope), UNITS_SIGNED);
        writer_text(trend->writer, trend->input->has_times ? "/h" : " per dump");
    }
    write_counts(trend, row);
}

static void
write_frames(const Trend *trend, const GArray *nodes)
{
    for (guint i = 0; i < nodes->len && i < TREND_FRAMES; i++) {
        writer_format(trend->writer, "      %s%s\n", i ? "← " : "",
                      view_node(trend->view, g_array_index(nodes, guint32, i))->display);
    }
    if (nodes->len > TREND_FRAMES)
        writer_format(trend->writer, "      ← … %u more\n", nodes->len - TREND_FRAMES);
}

static void
write_row(const Trend *trend, const Grouping *grouping, const GrowthRow *row)
{
    writer_format(trend->writer, "%-14s", verdict_names[row->verdict]);
    write_spark(trend, growth_rows_series(grouping->rows, row->group));
    writer_text(trend->writer, "  ");
    write_evidence(trend, row);
    writer_text(trend->writer, "\n");
    write_frames(trend, group_nodes(grouping, row));
    if (grouping->depth > 1)
        writer_text(trend->writer, "\n");
}

/* The rows that changed, and the number of the others. */
static void
write_rows(const Trend *trend, const Grouping *grouping, const char *things)
{
    guint32 limit = trend->options->limit ? trend->options->limit : TREND_DEFAULT_ROWS;
    guint written = 0, quiet = 0;

    writer_text(trend->writer, "\n");
    for (guint32 i = 0; i < grouping->rows->n_rows; i++) {
        const GrowthRow *row = &grouping->rows->rows[i];
        if (row->verdict == GROWTH_WITHIN_ERROR)
            quiet++;
        else if (written < limit) {
            write_row(trend, grouping, row);
            written++;
        }
    }
    writer_format(trend->writer, "%u of %u %s shown, %u of them changed by no more than sampling explains\n", written,
                  grouping->rows->n_rows, things, quiet);
}

static void
write_span(const Trend *trend)
{
    const TrendInput *input = trend->input;
    gdouble seconds = input->times[input->n_profiles - 1] - input->times[0];
    g_autofree char *first = text_printable(input->names[0]);
    g_autofree char *last = text_printable(input->names[input->n_profiles - 1]);

    writer_format(trend->writer, "%" G_GSIZE_FORMAT " dumps, %s to %s", input->n_profiles, first, last);
    if (!input->has_times)
        return;
    writer_text(trend->writer, ", over ");
    writer_number(trend->writer, seconds < 120 ? seconds : seconds < 7200 ? seconds / 60 : seconds / 3600, 1);
    writer_text(trend->writer, seconds < 120 ? " s" : seconds < 7200 ? " min" : " h");
}

static void
write_culprits(const Trend *trend)
{
    enum { CALLERS = 3 };
    char p[G_ASCII_DTOSTR_BUF_SIZE];

    for (guint i = 0; i < trend->input->n_culprits; i++) {
        const TrendCulprit *culprit = &trend->input->culprits[i];
        writer_text(trend->writer, "grows: ");
        for (guint j = 0; j < culprit->n_functions && j <= CALLERS; j++)
            writer_format(trend->writer, "%s%s", j > 0 ? " ← " : "", culprit->functions[j]);
        writer_text(trend->writer, culprit->n_functions > CALLERS + 1 ? " ← …, " : ", ");
        write_amount(trend, culprit->grown, UNITS_SIGNED);
        writer_format(trend->writer, " (p %s)\n", format_probability(p, culprit->p));
    }
}

static void
write_text(const Trend *trend)
{
    static const char *const things[] = {
        [REPORT_BY_FUNCTION] = "functions", [REPORT_BY_LINE] = "lines",        [REPORT_BY_FILE] = "files",
        [REPORT_BY_OBJECT] = "objects",     [REPORT_BY_ADDRESS] = "addresses", [REPORT_BY_SIZE] = "sizes",
        [REPORT_BY_THREAD] = "threads",
    };
    const GrowthRow *total = growth_total(trend->input->growth);

    write_span(trend);
    writer_format(trend->writer, "\n%s in all: %s, ", report_value_name(trend->options->value),
                  verdict_names[total->verdict]);
    write_evidence(trend, total);
    writer_text(trend->writer, "\n");
    for (guint i = 0; trend->notes->pdata[i]; i++)
        writer_format(trend->writer, "%s\n", (const char *)trend->notes->pdata[i]);
    write_culprits(trend);
    write_rows(trend, &trend->functions, things[trend->options->by]);
    write_rows(trend, &trend->stacks, "stacks");
}

static void
write_json_member(const Trend *trend, const char *name, gdouble value, guint digits)
{
    writer_format(trend->writer, ",\"%s\":", name);
    writer_number(trend->writer, value, digits);
}

static void
write_json_series(const Trend *trend, const gdouble *series)
{
    writer_text(trend->writer, ",\"series\":[");
    for (gsize i = 0; i < trend->input->n_profiles; i++) {
        writer_text(trend->writer, i ? "," : "");
        writer_number(trend->writer, series[i], 0);
    }
    writer_text(trend->writer, "]");
}

/* null: the dumps do not carry them. */
static void
write_json_counts(const Trend *trend, const GrowthRow *row)
{
    char p[G_ASCII_DTOSTR_BUF_SIZE];

    if (!row->is_counted) {
        writer_text(trend->writer, ",\"births\":null,\"deaths\":null,\"p\":null");
        return;
    }
    write_json_member(trend, "births", row->births, 0);
    write_json_member(trend, "deaths", row->deaths, 0);
    writer_format(trend->writer, ",\"p\":%s", format_probability(p, row->p));
}

static void
write_json_row(const Trend *trend, const Grouping *grouping, const GrowthRow *row)
{
    const GArray *nodes = group_nodes(grouping, row);

    writer_format(trend->writer, "{\"verdict\":\"%s\"", verdict_names[row->verdict]);
    write_json_member(trend, "slope", row->slope, 6);
    write_json_member(trend, "slope_error", row->slope_error, 6);
    write_json_member(trend, "recent_slope", row->recent_slope, 6);
    write_json_member(trend, "biggest_step", row->biggest_step, 4);
    write_json_counts(trend, row);
    write_json_series(trend, growth_rows_series(grouping->rows, row->group));
    writer_text(trend->writer, ",\"frames\":[");
    for (guint i = 0; i < nodes->len; i++) {
        writer_text(trend->writer, i ? "," : "");
        writer_json(trend->writer, view_node(trend->view, g_array_index(nodes, guint32, i))->name);
    }
    writer_text(trend->writer, "]}");
}

static void
write_json_rows(const Trend *trend, const char *name, const Grouping *grouping)
{
    guint32 limit = trend->options->limit ? trend->options->limit : REPORT_ALL;

    writer_format(trend->writer, ",\n\"%s\":[", name);
    for (guint32 i = 0; i < grouping->rows->n_rows && i < limit; i++) {
        writer_text(trend->writer, i ? ",\n" : "\n");
        write_json_row(trend, grouping, &grouping->rows->rows[i]);
    }
    writer_text(trend->writer, "]");
}

static void
write_json_dumps(const Trend *trend)
{
    const TrendInput *input = trend->input;

    writer_text(trend->writer, ",\n\"dumps\":[");
    for (gsize i = 0; i < input->n_profiles; i++) {
        g_autofree char *name = text_printable(input->names[i]);
        writer_text(trend->writer, i ? ",{\"name\":" : "{\"name\":");
        writer_json(trend->writer, name);
        write_json_member(trend, "time", input->times[i], 0);
        writer_text(trend->writer, "}");
    }
    writer_text(trend->writer, "],\n\"notes\":[");
    for (guint i = 0; trend->notes->pdata[i]; i++) {
        writer_text(trend->writer, i ? "," : "");
        writer_json(trend->writer, trend->notes->pdata[i]);
    }
    writer_text(trend->writer, "]");
}

static void
write_json_culprits(const Trend *trend)
{
    char p[G_ASCII_DTOSTR_BUF_SIZE];

    writer_text(trend->writer, ",\n\"culprits\":[");
    for (guint i = 0; i < trend->input->n_culprits; i++) {
        const TrendCulprit *culprit = &trend->input->culprits[i];
        writer_format(trend->writer, "%s{\"p\":%s", i ? "," : "", format_probability(p, culprit->p));
        write_json_member(trend, "grown", culprit->grown, 0);
        writer_text(trend->writer, ",\"functions\":[");
        for (guint j = 0; j < culprit->n_functions; j++) {
            writer_text(trend->writer, j ? "," : "");
            writer_json(trend->writer, culprit->functions[j]);
        }
        writer_text(trend->writer, "]}");
    }
    writer_text(trend->writer, "]");
}

static void
write_json(const Trend *trend)
{
    const GrowthRow *total = growth_total(trend->input->growth);

    writer_format(trend->writer,
                  "{\"format\":\"jescope-growth\",\"version\":1,\"value\":\"%s\",\"by\":\"%s\",\"slope_per\":\"%s\"",
                  report_value_name(trend->options->value), report_granularity_name(trend->options->by),
                  trend->input->has_times ? "second" : "dump");
    write_json_dumps(trend);
    writer_format(trend->writer, ",\n\"total\":{\"verdict\":\"%s\"", verdict_names[total->verdict]);
    write_json_member(trend, "slope", total->slope, 6);
    write_json_member(trend, "slope_error", total->slope_error, 6);
    write_json_member(trend, "first", total->first, 0);
    write_json_member(trend, "last", total->last, 0);
    write_json_counts(trend, total);
    writer_text(trend->writer, "}");
    write_json_culprits(trend);
    write_json_rows(trend, "functions", &trend->functions);
    write_json_rows(trend, "stacks", &trend->stacks);
    writer_text(trend->writer, "}\n");
}

/* Sums the stacks that pass the view's filters. */
static void
group_stacks(Trend *trend)
{
    const Growth *growth = trend->input->growth;
    guint32 n = profile_n_stacks(growth_profile(growth));
    Grouping *const groupings[] = {&trend->functions, &trend->stacks};

    grouping_init(&trend->functions, n, 1);
    grouping_init(&trend->stacks, n, G_MAXUINT32);
    view_foreach(trend->view, add_path, trend);
    for (guint i = 0; i < G_N_ELEMENTS(groupings); i++)
        groupings[i]->rows = growth_rows(growth, groupings[i]->groups, groupings[i]->paths->len);
}

/* Returns NULL if there is something to show. */
static const char *
why_empty(const Trend *trend)
{
    if (trend->stacks.rows->n_rows > 0)
        return NULL;
    return profile_n_stacks(growth_profile(trend->input->growth)) == 0
               ? "nothing was sampled in any of the dumps"
               : "the filters match nothing in any of the dumps; see --focus, --ignore, --retain, --exclude, "
                 "--show-from and --thread";
}

static void
write_trend(Trend *trend, TrendFormat format)
{
    ReportOptions options = *trend->options;
    g_auto(GStrv) notes = NULL;

    options.notes = trend->input->notes;
    notes = view_notes(trend->view, &options);
    trend->notes = g_ptr_array_new();
    for (char **note = notes; *note; note++)
        g_ptr_array_add(trend->notes, *note);
    if (why_empty(trend))
        g_ptr_array_add(trend->notes, (gpointer)(guintptr)why_empty(trend));
    g_ptr_array_add(trend->notes, NULL);
    if (format == TREND_JSON)
        write_json(trend);
    else
        write_text(trend);
    g_ptr_array_unref(trend->notes);
}

gboolean
trend_write(const TrendInput *input, const ReportOptions *options, TrendFormat format, GOutputStream *out,
            GError **error)
{
    ReportInput united = {.profile = growth_profile(input->growth), .symbols = input->symbols, .name = input->names[0]};
    g_autoptr(View) view = view_new(&united, NULL, options, error);
    Trend trend = {.input = input, .options = options, .view = view};
    const char *empty;

    if (!view)
        return FALSE;
    group_stacks(&trend);
    empty = why_empty(&trend);
    trend.writer = writer_new(out);
    if (!empty || format == TREND_JSON)
        write_trend(&trend, format);
    grouping_clear(&trend.functions);
    grouping_clear(&trend.stacks);
    if (!writer_finish(trend.writer, error))
        return FALSE;
    if (empty)
        g_set_error_literal(error, REPORT_ERROR, REPORT_ERROR_EMPTY, empty);
    return !empty;
}
