/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/openmetrics.h"

#include <string.h>

/* The suffix of a unit in names, its divisor, and other suffixes of names with this meaning. */
static const struct {
    const char *suffix;
    double divisor;
    const char *redundant;
} units[] = {
    [STATS_UNIT_BYTES] = {"_bytes", 1, "_bytes"},
    [STATS_UNIT_PAGES] = {"_pages", 1, "_pages"},
    [STATS_UNIT_COUNT] = {"", 1, ""},
    [STATS_UNIT_NANOSECONDS] = {"_seconds", 1e9, "_ns"},
    [STATS_UNIT_MILLISECONDS] = {"_seconds", 1e3, "_ms"},
};

char *
openmetrics_family(StatsMetric metric)
{
    const StatsMetricInfo *info = &stats_metrics[metric];
    g_autoptr(GString) name = g_string_new("jemalloc_");
    g_string_append(name, info->name);
    g_string_replace(name, ".", "_", 0);
    const char *redundant = units[info->unit].redundant;
    if (redundant[0] != '\0' && g_str_has_suffix(name->str, redundant))
        g_string_truncate(name, name->len - strlen(redundant));
    g_string_append(name, units[info->unit].suffix);
    if (info->type == STATS_COUNTER)
        g_string_append(name, "_total");
    return g_string_free(g_steal_pointer(&name), FALSE);
}

/* Escapes backslash, quote and newline as the format requires. */
static void
append_escaped(GString *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            g_string_append(out, "\\n");
            continue;
        }
        if (*text == '\\' || *text == '"')
            g_string_append_c(out, '\\');
        g_string_append_c(out, *text);
    }
}

void
openmetrics_append_label(GString *labels, const char *name, const char *value)
{
    if (labels->len > 0)
        g_string_append_c(labels, ',');
    g_string_append_printf(labels, "%s=\"", name);
    append_escaped(labels, value);
    g_string_append_c(labels, '"');
}

void
openmetrics_announce(GString *out, const OpenMetricsFamily *family, OpenMetricsParts parts)
{
    static const char *const types[] = {[STATS_GAUGE] = "gauge", [STATS_COUNTER] = "counter"};
    gboolean shorter = family->type == STATS_COUNTER && (parts & OPENMETRICS_STRICT);
    int length = (int)(strlen(family->name) - (shorter ? strlen("_total") : 0));
    g_string_append_printf(out, "# TYPE %.*s %s\n", length, family->name, types[family->type]);
    if (family->unit[0] != '\0' && (shorter || family->type == STATS_GAUGE))
        g_string_append_printf(out, "# UNIT %.*s %s\n", length, family->name, family->unit);
    g_string_append_printf(out, "# HELP %.*s %s.\n", length, family->name, family->help);
}

/* One family being written. */
typedef struct {
    GString *out;
    StatsMetric metric;
    char *family;
    OpenMetricsParts parts;
    gboolean announced;
} Family;

static void
announce(Family *family)
{
    const StatsMetricInfo *info = &stats_metrics[family->metric];
    const char *suffix = units[info->unit].suffix;
    if (family->announced)
        return;
    family->announced = TRUE;
    openmetrics_announce(family->out,
                         &(OpenMetricsFamily){.name = family->family,
                                              .type = info->type,
                                              .unit = suffix[0] == '_' ? suffix + 1 : suffix,
                                              .help = info->help},
                         family->parts);
}

static void
append_value(GString *out, const StatsMetricInfo *info, uint64_t value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    double divisor = units[info->unit].divisor;
    if (info->ctype == STATS_CTYPE_SSIZE && (int64_t)value < 0)
        g_string_append(out, "+Inf");
    else if (divisor > 1)
        g_string_append(out, g_ascii_formatd(text, sizeof(text), "%.15g", (double)value / divisor));
    else
        g_string_append_printf(out, "%" G_GUINT64_FORMAT, value);
}

static void
append_metric(Family *family, const StatsValues *values, const char *labels)
{
    const StatsMetricInfo *info = &stats_metrics[family->metric];
    uint64_t value;
    if (!stats_values_get(values, family->metric, &value))
        return;
    announce(family);
    g_string_append(family->out, family->family);
    if (labels[0] != '\0')
        g_string_append_printf(family->out, "{%s}", labels);
    g_string_append_c(family->out, ' ');
    append_value(family->out, info, value);
    g_string_append_c(family->out, '\n');
}

static void
append_rows(Family *family, const StatsTable *table, const GString *labels)
{
    StatsMetric size = table->scope == STATS_SCOPE_BIN ? STATS_BIN_SIZE : STATS_LARGE_SIZE;
    for (guint i = 0; i < table->count; i++) {
        const StatsValues *row = stats_table_row(table, i);
        g_autoptr(GString) own = g_string_new(labels->str);
        uint64_t bytes;
        g_autofree char *text = NULL;
        if (table->names == NULL && !stats_values_get(row, size, &bytes))
            continue;
        if (table->names == NULL)
            text = g_strdup_printf("%" G_GUINT64_FORMAT, bytes);
        openmetrics_append_label(own, table->names != NULL ? "mutex" : "size",
                                 table->names != NULL ? table->names[i] : text);
        append_metric(family, row, own->str);
    }
}

/* The value of the label arena. */
static char *
arena_name(const StatsArena *arena)
{
    if (arena->index == STATS_ARENA_MERGED)
        return g_strdup("merged");
    if (arena->index == STATS_ARENA_DESTROYED)
        return g_strdup("destroyed");
    return g_strdup_printf("%u", arena->index);
}

static void
append_arena(Family *family, const StatsArena *arena, const GString *source_labels)
{
    StatsScope scope = stats_metrics[family->metric].scope;
    g_autoptr(GString) labels = g_string_new(source_labels->str);
    g_autofree char *name = arena_name(arena);
    openmetrics_append_label(labels, "arena", name);
    if (scope == STATS_SCOPE_ARENA)
        append_metric(family, arena->values, labels->str);
    const StatsTable *table = scope == STATS_SCOPE_BIN ? arena->bins : scope == STATS_SCOPE_LARGE ? arena->large : NULL;
    if (table != NULL && (family->parts & OPENMETRICS_CLASSES))
        append_rows(family, table, labels);
}

static void
append_source(Family *family, const OpenMetricsSource *source)
{
    g_autoptr(GString) labels = g_string_new(NULL);
    for (const char *const *label = source->labels; label != NULL && label[0] != NULL; label += 2)
        openmetrics_append_label(labels, label[0], label[1]);
    StatsScope scope = stats_metrics[family->metric].scope;
    if (scope == STATS_SCOPE_TOTALS)
        append_metric(family, source->sample->totals, labels->str);
    else if (scope == STATS_SCOPE_MUTEX && source->sample->mutexes != NULL)
        append_rows(family, source->sample->mutexes, labels);
    else if (scope != STATS_SCOPE_MUTEX)
        for (guint i = 0; i < source->sample->arenas->len; i++) {
            const StatsArena *arena = source->sample->arenas->pdata[i];
            if (arena->index == STATS_ARENA_MERGED || (family->parts & OPENMETRICS_ARENAS))
                append_arena(family, arena, labels);
        }
}

void
openmetrics_append(GString *out, const OpenMetricsSource *sources, guint count, OpenMetricsParts parts)
{
    for (guint metric = 0; metric < STATS_METRIC_COUNT; metric++) {
        g_autofree char *name = openmetrics_family((StatsMetric)metric);
        /* The size is a label of the class. */
        if (metric == STATS_BIN_SIZE || metric == STATS_LARGE_SIZE)
            continue;
        Family family = {.out = out, .metric = (StatsMetric)metric, .family = name, .parts = parts};
        for (guint i = 0; i < count; i++)
            append_source(&family, &sources[i]);
    }
}

void
openmetrics_append_end(GString *out)
{
    g_string_append(out, "# EOF\n");
}
