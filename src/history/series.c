/* SPDX-License-Identifier: Apache-2.0 */
#include "history/series.h"

#include "confine/keyed-hash.h"
#include "history/cursor.h"
#include "history/selector.h"

#include <math.h>

/* What was read so far, for all targets. */
typedef struct {
    guint64 values, points;
    guint series;
} Counts;

/* Builds a series: samples -> points of a step -> rates -> points. */
typedef struct {
    Series *series;
    Counts *counts;
    SectionKey key; /* metric is 0, since the selector has it */
    guint order;    /* the selector's index */
    guint64 block;  /* the last one whose columns it has, as Read.blocks counts them */
    guint binding;  /* its index there */

    gint64 slot; /* the current step */
    guint count; /* samples in the current step */
    double sum, least, most, last;
    gint64 last_us;
    gint64 incarnation;
    gboolean slot_after_gap;

    gboolean has_before; /* for rates */
    double before;
    gint64 before_us;
    gboolean gap_pending;
    gint64 seen_us; /* time of the previous sample, to detect gaps; G_MININT64: none */
} Builder;

typedef struct {
    History *history;
    const SeriesQuery *query;
    GArray *selectors;
    const char *target;
    GPtrArray *builders; /* the target's builders */
    GHashTable *index;   /* the same builders by selector and key */
    Counts *counts;
    guint64 blocks; /* read so far */
} Read;

/* Maps columns of a block to a builder. */
typedef struct {
    Builder *builder;
    const Section *section;
    GArray *columns; /* of guint: columns to sum */
    gint merged;     /* the column to use instead of their sum; -1: none */
} Binding;

static void
clear_binding(gpointer data)
{
    g_array_unref(((Binding *)data)->columns);
}

static void
free_series(gpointer data)
{
    Series *series = data;
    g_free(series->target);
    g_free(series->item);
    g_array_unref(series->points);
    g_free(series);
}

static void
free_builder(gpointer data)
{
    Builder *builder = data;
    g_clear_pointer(&builder->series, free_series);
    g_free(builder);
}

char *
series_selector(const Series *series)
{
    static const char *const merged = "merged", *const destroyed = "destroyed", *const global = "global";
    const char *name = stats_metrics[series->metric].name;
    StatsScope scope = stats_metrics[series->metric].scope;
    if (scope == STATS_SCOPE_TOTALS)
        return g_strdup(name);
    const char *owner = series->owner == 0                           ? global
                        : series->owner == STATS_ARENA_MERGED + 1    ? merged
                        : series->owner == STATS_ARENA_DESTROYED + 1 ? destroyed
                                                                     : NULL;
    g_autofree char *number = g_strdup_printf("%u", series->owner - 1);
    return g_strdup_printf("%s@%s%s%s", name, owner != NULL ? owner : number, series->item != NULL ? "/" : "",
                           series->item != NULL ? series->item : "");
}

char *
series_unit(const Series *series)
{
    const char *unit = stats_unit_name(stats_metrics[series->metric].unit);
    return g_strconcat(unit, series->rate ? " per second" : "", NULL);
}

static void
emit(Builder *builder, gint64 time_us, double value, gboolean after_gap)
{
    SeriesPoint point = {.time_us = time_us,
                         .value = value,
                         .after_gap = (after_gap || builder->gap_pending) && builder->series->points->len > 0};
    builder->gap_pending = FALSE;
    builder->counts->points++;
    g_array_append_val(builder->series->points, point);
}

/* A counter that decreased is from another process than the previous value. */
static void
emit_rate(Builder *builder, gint64 at_us, gint64 time_us, double value)
{
    gboolean counter = stats_metrics[builder->series->metric].type == STATS_COUNTER;
    gboolean usable = builder->has_before && time_us > builder->before_us && !(counter && value < builder->before);
    if (usable)
        emit(builder, at_us, (value - builder->before) * G_USEC_PER_SEC / (double)(time_us - builder->before_us),
             builder->slot_after_gap);
    else
        builder->gap_pending = TRUE;
    builder->has_before = TRUE;
    builder->before = value;
    builder->before_us = time_us;
}

static double
slot_value(const Builder *builder, SeriesEach each)
{
    switch (each) {
    case SERIES_MIN:
        return builder->least;
    case SERIES_MAX:
        return builder->most;
    case SERIES_LAST:
        return builder->last;
    case SERIES_MEAN:
    default:
        return builder->sum / builder->count;
    }
}

static void
finish_slot(Builder *builder, const SeriesQuery *query)
{
    if (builder->count == 0)
        return;
    gint64 at_us = query->step_us > 0 ? builder->slot * (gint64)query->step_us : builder->last_us;
    if (query->rate)
        emit_rate(builder, at_us, builder->last_us, builder->last);
    else
        emit(builder, at_us, slot_value(builder, query->each), builder->slot_after_gap);
    builder->count = 0;
    builder->slot_after_gap = FALSE;
}

static gint64
floor_divide(gint64 a, gint64 b)
{
    return a / b - (a % b < 0);
}

static void
push(Read *read, Builder *builder, const Block *block, gint64 time_us, double value)
{
    const SeriesQuery *query = read->query;
    gboolean first = builder->seen_us == G_MININT64;
    gboolean restart = !first && builder->incarnation != block->incarnation;
    gboolean late = !first && block_is_late(block, query->step_us, builder->seen_us, time_us);
    gint64 slot = query->step_us > 0 ? floor_divide(time_us, (gint64)query->step_us) : 0;
    if (query->step_us == 0 || slot != builder->slot || restart)
        finish_slot(builder, query);
    if (restart)
        builder->has_before = FALSE;
    gboolean fresh = builder->count == 0;
    builder->slot = slot;
    builder->sum = fresh ? value : builder->sum + value;
    builder->least = fresh ? value : fmin(builder->least, value);
    builder->most = fresh ? value : fmax(builder->most, value);
    builder->last = value;
    builder->last_us = builder->seen_us = time_us;
    builder->incarnation = block->incarnation;
    builder->slot_after_gap |= late || restart;
    builder->count++;
}

static gboolean
check_limits(const Read *read, GError **error)
{
    static const char advice[] = "give a step, a shorter time range, or the number of an arena";
    const SeriesLimits *limits = &read->query->limits;
    const Counts *counts = read->counts;
    if (limits->points != 0 && counts->points > limits->points)
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_TOO_LARGE,
                    "the result has more than %" G_GUINT64_FORMAT " points; %s", limits->points, advice);
    else if (limits->series != 0 && counts->series > limits->series)
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_TOO_LARGE, "the result has more than %u series; %s",
                    limits->series, advice);
    else if (limits->values != 0 && counts->values > limits->values)
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_TOO_LARGE,
                    "more than %" G_GUINT64_FORMAT " values of samples would be read; %s", limits->values, advice);
    else
        return TRUE;
    return FALSE;
}

static guint
hash_builder(gconstpointer data)
{
    const Builder *builder = data;
    return keyed_hash_bytes(&builder->key, sizeof(builder->key)) + builder->order;
}

static gboolean
is_same_builder(gconstpointer a, gconstpointer b)
{
    const Builder *left = a, *right = b;
    return left->order == right->order && section_key_compare(&left->key, &right->key) == 0;
}

static Builder *
find_builder(Read *read, guint order, const Selector *selector, const SectionKey *key)
{
    Builder wanted = {.order = order, .key = *key};
    wanted.key.metric = 0;
    if (selector->choice == OWNER_TOGETHER && key->owner != 0)
        wanted.key.owner = STATS_ARENA_MERGED + 1;
    Builder *builder = g_hash_table_lookup(read->index, &wanted);
    if (builder != NULL)
        return builder;
    builder = g_new0(Builder, 1);
    builder->order = order;
    builder->key = wanted.key;
    builder->counts = read->counts;
    builder->seen_us = G_MININT64;
    builder->series = g_new0(Series, 1);
    builder->series->target = g_strdup(read->target);
    builder->series->metric = selector->metric;
    builder->series->owner = wanted.key.owner;
    builder->series->item = selector_item(read->history, key);
    builder->series->rate = read->query->rate;
    builder->series->points = g_array_new(FALSE, FALSE, sizeof(SeriesPoint));
    g_ptr_array_add(read->builders, builder);
    g_hash_table_add(read->index, builder);
    read->counts->series++;
    return builder;
}

static Binding *
find_binding(const Read *read, GArray *bindings, Builder *builder, const Section *section)
{
    if (builder->block == read->blocks)
        return &g_array_index(bindings, Binding, builder->binding);
    builder->block = read->blocks;
    builder->binding = bindings->len;
    Binding binding = {
        .builder = builder, .section = section, .columns = g_array_new(FALSE, FALSE, sizeof(guint)), .merged = -1};
    g_array_append_val(bindings, binding);
    return &g_array_index(bindings, Binding, bindings->len - 1);
}

static gboolean
bind_section(Read *read, GArray *bindings, Section *section, guint order, GError **error)
{
    const Selector *selector = &g_array_index(read->selectors, Selector, order);
    for (guint i = 0; i < section_columns(section); i++) {
        const SectionKey *key = section_key(section, i);
        StatsMetric metric;
        if (!dictionary_is_metric(read->history, key->metric, &metric) || metric != selector->metric ||
            !selector_matches(selector, read->history, key))
            continue;
        if (!section_load_column(section, i, error))
            return FALSE;
        Builder *builder = find_builder(read, order, selector, key);
        if (!check_limits(read, error))
            return FALSE;
        Binding *binding = find_binding(read, bindings, builder, section);
        if (selector->choice == OWNER_TOGETHER && key->owner == STATS_ARENA_MERGED + 1)
            binding->merged = (gint)i;
        else
            g_array_append_val(binding->columns, i);
    }
    return TRUE;
}

static void
free_bindings(gpointer data)
{
    g_array_unref(data);
}

static gboolean
bind_block(Block *block, gpointer data, GError **error)
{
    Read *read = data;
    g_autoptr(GArray) bindings = g_array_new(FALSE, FALSE, sizeof(Binding));
    g_array_set_clear_func(bindings, clear_binding);
    read->blocks++;
    for (guint order = 0; order < read->selectors->len; order++)
        for (int part = 0; part < BLOCK_PARTS; part++)
            if (block->parts[part] != NULL && !bind_section(read, bindings, block->parts[part], order, error))
                return FALSE;
    block_attach(block, g_steal_pointer(&bindings), free_bindings);
    return TRUE;
}

static double
as_number(const Binding *binding, guint64 value)
{
    gboolean is_signed = stats_metrics[binding->builder->series->metric].ctype == STATS_CTYPE_SSIZE;
    return is_signed ? (double)(gint64)value : (double)value;
}

static gboolean
binding_value(const Binding *binding, guint row, double *value)
{
    guint64 found;
    if (binding->merged >= 0 && section_get(binding->section, (guint)binding->merged, row, &found)) {
        *value = as_number(binding, found);
        return TRUE;
    }
    double sum = 0;
    gboolean any = FALSE;
    for (guint i = 0; i < binding->columns->len; i++)
        if (section_get(binding->section, g_array_index(binding->columns, guint, i), row, &found)) {
            sum += as_number(binding, found);
            any = TRUE;
        }
    if (any)
        *value = sum;
    return any;
}

static void
read_row(Read *read, const Block *block, guint row)
{
    const GArray *bindings = block->attached;
    for (guint i = 0; i < bindings->len; i++) {
        const Binding *binding = &g_array_index(bindings, Binding, i);
        double value;
        read->counts->values += binding->columns->len + (binding->merged >= 0);
        if (binding_value(binding, row, &value))
            push(read, binding->builder, block, block_time(block, row), value);
    }
}

static gboolean
read_target(Read *read, HistoryParts parts, GError **error)
{
    gint64 id;
    if (!database_find_target(read->history, read->target, &id, error))
        return FALSE;
    g_autoptr(Cursor) cursor = cursor_new(read->history, id, read->query->range, parts, error);
    if (cursor == NULL)
        return FALSE;
    cursor_set_open_func(cursor, bind_block, read);
    for (;;) {
        Block *block;
        guint row;
        if (!cursor_next(cursor, &block, &row, error))
            return FALSE;
        if (block == NULL)
            break;
        read_row(read, block, row);
        if (!check_limits(read, error))
            return FALSE;
    }
    for (guint i = 0; i < read->builders->len; i++)
        finish_slot(read->builders->pdata[i], read->query);
    return check_limits(read, error);
}

static int
compare_builders(gconstpointer a, gconstpointer b)
{
    const Builder *left = *(const Builder *const *)a, *right = *(const Builder *const *)b;
    if (left->order != right->order)
        return left->order < right->order ? -1 : 1;
    int targets = g_strcmp0(left->series->target, right->series->target);
    return targets != 0 ? targets : section_key_compare(&left->key, &right->key);
}

static void
clear_selector(gpointer data)
{
    selector_clear(data);
}

static GArray *
parse_selectors(const char *const *texts, HistoryParts *parts, GError **error)
{
    g_autoptr(GArray) selectors = g_array_new(FALSE, FALSE, sizeof(Selector));
    g_array_set_clear_func(selectors, clear_selector);
    for (; *texts != NULL; texts++) {
        Selector selector;
        if (!selector_parse(*texts, &selector, error))
            return NULL;
        g_array_append_val(selectors, selector);
        *parts |= selector_part(&selector);
    }
    return g_steal_pointer(&selectors);
}

static gboolean
read_targets(Read *read, const char *const *targets, HistoryParts parts, GPtrArray *all, GError **error)
{
    for (; *targets != NULL; targets++) {
        read->target = *targets;
        g_autoptr(GPtrArray) builders = read->builders = g_ptr_array_new();
        g_autoptr(GHashTable) index G_GNUC_UNUSED = read->index = g_hash_table_new(hash_builder, is_same_builder);
        gboolean ok = read_target(read, parts, error);
        for (guint i = 0; i < builders->len; i++)
            g_ptr_array_add(all, builders->pdata[i]);
        if (!ok)
            return FALSE;
    }
    return TRUE;
}

GPtrArray *
series_read(History *history, const SeriesQuery *query, GError **error)
{
    HistoryParts parts = 0;
    g_autoptr(GArray) selectors = parse_selectors(query->selectors, &parts, error);
    g_auto(GStrv) every = selectors != NULL && *query->targets == NULL ? database_target_names(history, error) : NULL;
    if (selectors == NULL || (*query->targets == NULL && every == NULL))
        return NULL;
    g_autoptr(GPtrArray) builders = g_ptr_array_new_with_free_func(free_builder);
    Counts counts = {0};
    Read read = {.history = history, .query = query, .selectors = selectors, .counts = &counts};
    const char *const *targets = every != NULL ? (const char *const *)every : query->targets;
    if (!read_targets(&read, targets, parts, builders, error))
        return NULL;
    g_ptr_array_sort(builders, compare_builders);
    GPtrArray *found = g_ptr_array_new_with_free_func(free_series);
    for (guint i = 0; i < builders->len; i++) {
        Builder *builder = builders->pdata[i];
        if (builder->series->points->len > 0)
            g_ptr_array_add(found, g_steal_pointer(&builder->series));
    }
    return found;
}
