/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/text.h"

#include "stats/headings.h"
#include "stats/intern.h"
#include "stats/keys.h"

#include <string.h>

enum {
    LINE_KEY_MAX = 64,
};

/* The table that lines with numbers belong to. */
typedef enum {
    TABLE_NONE,
    TABLE_SUMS,
    TABLE_DECAY,
    TABLE_MUTEX,
    TABLE_BINS,
    TABLE_LARGE,
    TABLE_HUGE,
} Table;

struct TextSnapshot {
    guint64 *rows; /* of tables, that may still be read */
    TextHeadings *headings;
    StatsSample *sample;
    StatsArena *arena; /* NULL: before the first arena */
    Table table;
    const Columns *columns;         /* columns of the current table of rows */
    const Columns *sums[ROW_KINDS]; /* columns of TABLE_SUMS and TABLE_DECAY, by kind of row */
    gboolean has_totals;
    const char *why;
};

/* A line being parsed. */
typedef struct {
    const char *text;
    gsize length;
} Line;

TextSnapshot *
text_snapshot_new(TextHeadings *headings, guint64 *rows)
{
    TextSnapshot *snapshot = g_new0(TextSnapshot, 1);
    snapshot->rows = rows;
    snapshot->headings = headings;
    snapshot->sample = stats_sample_new(STATS_SOURCE_TEXT);
    return snapshot;
}

void
text_snapshot_free(TextSnapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    g_clear_pointer(&snapshot->sample, stats_sample_unref);
    g_free(snapshot);
}

const char *
text_snapshot_why(const TextSnapshot *snapshot)
{
    return snapshot->why;
}

StatsSample *
text_snapshot_take(TextSnapshot *snapshot)
{
    if (!snapshot->has_totals && snapshot->sample->arenas->len == 0)
        return NULL;
    stats_sample_derive(snapshot->sample, STATS_DERIVE_MERGED);
    return g_steal_pointer(&snapshot->sample);
}

static TextLine
damage(TextSnapshot *snapshot, const char *why)
{
    snapshot->why = why;
    return TEXT_DAMAGED;
}

static gboolean
begins(Line line, const char *word)
{
    gsize length = strlen(word);
    return line.length >= length && memcmp(line.text, word, length) == 0;
}

static Line
after(Line line, gsize skipped)
{
    while (skipped < line.length && line.text[skipped] == ' ')
        skipped++;
    return (Line){line.text + skipped, line.length - skipped};
}

/* Sets the metric named by ROW with LABEL (blanks written '_'); unknown ones are ignored. */
static void
set_by_key(StatsScope scope, StatsValues *values, const char *row, Line label, uint64_t number)
{
    char key[LINE_KEY_MAX];
    gsize length = strlen(row);
    if (length + label.length + 1 > sizeof(key))
        return;
    memcpy(key, row, length);
    for (gsize i = 0; i < label.length; i++)
        key[length++] = label.text[i] == ' ' ? '_' : label.text[i];
    if (row[0] == '\0')
        key[length++] = ':';
    int metric = keys_find(KEYS_TEXT, scope, key, length);
    if (metric >= 0)
        stats_values_set(values, (StatsMetric)metric, number);
}

static gboolean
is_word(char c)
{
    return g_ascii_isalnum(c) || c == '_' || c == '-';
}

/* Reads "active: 5, metadata: 6 (n_thp 7, edata 8), ...": every word and the number after it. */
static void
read_pairs(StatsScope scope, StatsValues *values, const char *row, Line line)
{
    const char *p = line.text;
    const char *end = line.text + line.length;
    Line word = {p, 0};
    while (p < end) {
        uint64_t number;
        if (g_ascii_isdigit(*p)) {
            if (!text_number(&p, end, &number))
                return;
            if (word.length > 0)
                set_by_key(scope, values, row, word, number);
            word.length = 0;
        } else if (is_word(*p)) {
            word.text = p;
            while (p < end && is_word(*p))
                p++;
            word.length = (gsize)(p - word.text);
        } else {
            p++;
        }
    }
}

/* Reads "Label: number"; unknown labels are ignored. */
static void
read_value(TextSnapshot *snapshot, Line line)
{
    const char *colon = memchr(line.text, ':', MIN(line.length, LINE_KEY_MAX));
    if (colon == NULL)
        return;
    Line label = {line.text, (gsize)(colon - line.text)};
    Line rest = after(line, label.length + 1);
    uint64_t number;
    const char *p = rest.text;
    if (!text_number(&p, rest.text + rest.length, &number))
        return;
    if (snapshot->arena != NULL)
        set_by_key(STATS_SCOPE_ARENA, snapshot->arena->values, "", label, number);
    else
        set_by_key(STATS_SCOPE_TOTALS, snapshot->sample->totals, "", label, number);
}

static Line
unquoted(Line line)
{
    while (line.length > 0 && line.text[line.length - 1] == ' ')
        line.length--;
    if (line.length >= 2 && line.text[0] == '"' && line.text[line.length - 1] == '"')
        return (Line){line.text + 1, line.length - 2};
    return line;
}

static TextLine
open_arena(TextSnapshot *snapshot, guint index)
{
    if (stats_sample_find(snapshot->sample, index) != NULL)
        return damage(snapshot, "it has the same arena twice (two processes wrote into each other's lines)");
    snapshot->arena = stats_sample_arena(snapshot->sample, index);
    snapshot->table = TABLE_NONE;
    return TEXT_TAKEN;
}

static TextLine
on_end(TextSnapshot *snapshot, Line rest)
{
    return TEXT_DONE;
}

static TextLine
on_version(TextSnapshot *snapshot, Line rest)
{
    Line version = unquoted(rest);
    if (snapshot->sample->version == NULL)
        snapshot->sample->version = stats_intern(version.text, version.length);
    return TEXT_TAKEN;
}

static TextLine
on_totals(TextSnapshot *snapshot, Line rest)
{
    uint64_t number;
    const char *p = rest.text;
    if (!text_number(&p, rest.text + rest.length, &number))
        return TEXT_FOREIGN;
    if (snapshot->has_totals)
        return damage(snapshot, "it has its totals twice (two processes wrote into each other's lines)");
    snapshot->has_totals = TRUE;
    stats_values_set(snapshot->sample->totals, STATS_ALLOCATED, number);
    read_pairs(STATS_SCOPE_TOTALS, snapshot->sample->totals, "", (Line){p, (gsize)(rest.text + rest.length - p)});
    return TEXT_TAKEN;
}

static TextLine
on_background(TextSnapshot *snapshot, Line rest)
{
    uint64_t number;
    const char *p = rest.text;
    if (text_number(&p, rest.text + rest.length, &number)) {
        stats_values_set(snapshot->sample->totals, STATS_BACKGROUND_THREADS, number);
        read_pairs(STATS_SCOPE_TOTALS, snapshot->sample->totals, "", (Line){p, (gsize)(rest.text + rest.length - p)});
    }
    return TEXT_TAKEN;
}

static TextLine
on_merged(TextSnapshot *snapshot, Line rest)
{
    return open_arena(snapshot, STATS_ARENA_MERGED);
}

static TextLine
on_destroyed(TextSnapshot *snapshot, Line rest)
{
    return open_arena(snapshot, STATS_ARENA_DESTROYED);
}

static TextLine
on_arena(TextSnapshot *snapshot, Line rest)
{
    uint64_t index;
    const char *p = rest.text;
    const char *end = rest.text + rest.length;
    if (!text_number(&p, end, &index) || end - p < 2 || p[0] != ']' || p[1] != ':' || index >= STATS_ARENA_MERGED)
        return TEXT_FOREIGN;
    return open_arena(snapshot, (guint)index);
}

static TextLine
on_name(TextSnapshot *snapshot, Line rest)
{
    Line name = unquoted(rest);
    if (snapshot->arena != NULL)
        stats_intern_replace(&snapshot->arena->name, name.text, name.length);
    return TEXT_TAKEN;
}

static TextLine
on_dss(TextSnapshot *snapshot, Line rest)
{
    Line dss = unquoted(rest);
    if (snapshot->arena != NULL)
        stats_intern_replace(&snapshot->arena->dss, dss.text, dss.length);
    return TEXT_TAKEN;
}

/* 3.x: "dirty pages: ACTIVE:DIRTY active:dirty, N sweeps, N madvises, N purged". */
static TextLine
on_dirty_pages(TextSnapshot *snapshot, Line rest)
{
    static const StatsMetric order[] = {STATS_ARENA_PACTIVE, STATS_ARENA_PDIRTY, STATS_ARENA_DIRTY_NPURGE,
                                        STATS_ARENA_DIRTY_NMADVISE, STATS_ARENA_DIRTY_PURGED};
    const char *p = rest.text;
    const char *end = rest.text + rest.length;
    for (gsize i = 0; snapshot->arena != NULL && i < G_N_ELEMENTS(order); i++) {
        uint64_t number;
        while (p < end && !g_ascii_isdigit(*p))
            p++;
        if (!text_number(&p, end, &number))
            break;
        stats_values_set(snapshot->arena->values, order[i], number);
    }
    return TEXT_TAKEN;
}

/* 4.3-4.5: "purging: dirty: N, sweeps: N, madvises: N, purged: N". */
static TextLine
on_purging(TextSnapshot *snapshot, Line rest)
{
    if (snapshot->arena != NULL)
        read_pairs(STATS_SCOPE_ARENA, snapshot->arena->values, "dirty:", rest);
    return TEXT_TAKEN;
}

static TextLine
on_metadata(TextSnapshot *snapshot, Line rest)
{
    if (snapshot->arena != NULL)
        read_pairs(STATS_SCOPE_ARENA, snapshot->arena->values, "metadata:", rest);
    return TEXT_TAKEN;
}

static TextLine
on_decaying(TextSnapshot *snapshot, Line rest)
{
    snapshot->table = TABLE_DECAY;
    snapshot->sums[ROW_DIRTY] = headings_get(snapshot->headings, ROW_DIRTY, rest.text, rest.length, 0);
    snapshot->sums[ROW_MUZZY] = headings_get(snapshot->headings, ROW_MUZZY, rest.text, rest.length, 0);
    return TEXT_TAKEN;
}

/* Handles tables that are skipped, or whose rows look like those of another table. */
static TextLine
on_other_table(TextSnapshot *snapshot, Line rest)
{
    snapshot->table = TABLE_NONE;
    return TEXT_TAKEN;
}

/* Lines at column 0, by their first word. */
static const struct {
    const char *word;
    TextLine (*take)(TextSnapshot *snapshot, Line rest);
} labels[] = {
    {TEXT_END, on_end},
    {"Version: ", on_version},
    {"Allocated: ", on_totals},
    {"Background threads: ", on_background},
    {"Merged arenas stats:", on_merged},
    {"Destroyed arenas stats:", on_destroyed},
    {"arenas[", on_arena},
    {"name: ", on_name},
    {"dss allocation precedence: ", on_dss},
    {"dirty pages: ", on_dirty_pages},
    {"purging: ", on_purging},
    {"metadata: mapped", on_metadata},
    {"decaying:", on_decaying},
    {"chunks: ", on_other_table},
    {"extents:", on_other_table},
    {"HPA shard stats:", on_other_table},
};

/* "bins:", "large:" and "huge:" with a heading open a table of classes. */
static const struct {
    const char *word;
    Table table;
    RowKind kind;
} class_tables[] = {
    {"bins:", TABLE_BINS, ROW_BIN},
    {"large:", TABLE_LARGE, ROW_LARGE},
    {"huge:", TABLE_HUGE, ROW_HUGE},
};

static gboolean
open_classes(TextSnapshot *snapshot, Line line, TextLine *result)
{
    for (gsize i = 0; i < G_N_ELEMENTS(class_tables); i++) {
        if (!begins(line, class_tables[i].word))
            continue;
        gsize skipped = strlen(class_tables[i].word);
        Line rest = after(line, skipped);
        if (rest.length == 0 || !g_ascii_isalpha(rest.text[0]))
            return FALSE;
        snapshot->columns = headings_get(snapshot->headings, class_tables[i].kind, line.text, line.length, skipped);
        gboolean ours = snapshot->columns != NULL && snapshot->arena != NULL;
        snapshot->table = ours ? class_tables[i].table : TABLE_NONE;
        StatsTable **table = !ours                                 ? NULL
                             : class_tables[i].table == TABLE_BINS ? &snapshot->arena->bins
                                                                   : &snapshot->arena->large;
        *result = TEXT_TAKEN;
        if (table != NULL && *table != NULL && class_tables[i].table != TABLE_HUGE)
            *result = damage(snapshot, "it has the same table twice (two processes wrote into each other's lines)");
        else if (table != NULL && *table == NULL)
            *table = stats_table_new(class_tables[i].table == TABLE_BINS ? STATS_SCOPE_BIN : STATS_SCOPE_LARGE);
        return TRUE;
    }
    return FALSE;
}

static const struct {
    const char *word;
    RowKind kind;
    Table table;
} sum_rows[] = {
    {"small:", ROW_SUM_SMALL, TABLE_SUMS}, {"large:", ROW_SUM_LARGE, TABLE_SUMS}, {"huge:", ROW_SUM_HUGE, TABLE_SUMS},
    {"total:", ROW_SUM_TOTAL, TABLE_SUMS}, {"dirty:", ROW_DIRTY, TABLE_DECAY},    {"muzzy:", ROW_MUZZY, TABLE_DECAY},
};

static TextLine
row_result(TextSnapshot *snapshot, RowResult result)
{
    if (result == ROW_DAMAGED)
        return damage(snapshot, "a row has the wrong number of columns");
    return result == ROW_TAKEN ? TEXT_TAKEN : TEXT_FOREIGN;
}

/* Takes rows of TABLE_SUMS (column 0) and TABLE_DECAY (indented). */
static gboolean
take_sum(TextSnapshot *snapshot, Line line, TextLine *result)
{
    for (gsize i = 0; snapshot->arena != NULL && i < G_N_ELEMENTS(sum_rows); i++) {
        if (snapshot->table != sum_rows[i].table || !begins(line, sum_rows[i].word))
            continue;
        const Columns *columns = snapshot->sums[sum_rows[i].kind];
        if (columns == NULL)
            return FALSE;
        *result = row_result(
            snapshot, columns_read(columns, line.text, line.length, strlen(sum_rows[i].word), snapshot->arena->values));
        return TRUE;
    }
    return FALSE;
}

/* Takes "name: N..." (5.0) or "name N..." (from 5.1 on). A line with one number ("base: 5") is not a row. */
static gboolean
take_mutex(TextSnapshot *snapshot, Line line, TextLine *result)
{
    gsize length = 0;
    while (length < line.length && (g_ascii_islower(line.text[length]) || line.text[length] == '_'))
        length++;
    gsize at = length;
    if (at < line.length && line.text[at] == ':')
        at++;
    if (length == 0 || length >= LINE_KEY_MAX || at == line.length || line.text[at] != ' ')
        return FALSE;
    StatsTable **table = snapshot->arena != NULL ? &snapshot->arena->mutexes : &snapshot->sample->mutexes;
    g_autofree StatsValues *values = stats_values_new(STATS_SCOPE_MUTEX);
    RowResult row = columns_read(snapshot->columns, line.text, line.length, at, values);
    if (row != ROW_TAKEN)
        return FALSE;
    *result = TEXT_TAKEN;
    g_autofree char *name = g_strndup(line.text, length);
    if (*table == NULL)
        *table = stats_table_new(STATS_SCOPE_MUTEX);
    if ((*table)->count >= STATS_MUTEXES_MAX)
        return TRUE;
    if (stats_table_find(*table, name) != NULL)
        *result = damage(snapshot, "it has the same mutex twice (two processes wrote into each other's lines)");
    else if (*snapshot->rows == 0)
        *result = damage(snapshot, STATS_TOO_MANY_ROWS);
    else {
        --*snapshot->rows;
        memcpy(stats_table_add(*table, name), values,
               sizeof(*values) + stats_scope_count(STATS_SCOPE_MUTEX) * sizeof(uint64_t));
    }
    return TRUE;
}

static TextLine
take_label(TextSnapshot *snapshot, Line line)
{
    TextLine result;
    if (take_sum(snapshot, line, &result) || open_classes(snapshot, line, &result))
        return result;
    if (snapshot->table == TABLE_MUTEX && take_mutex(snapshot, line, &result))
        return result;
    for (gsize i = 0; i < G_N_ELEMENTS(labels); i++)
        if (begins(line, labels[i].word))
            return labels[i].take(snapshot, after(line, strlen(labels[i].word)));
    if (!g_ascii_isalpha(line.text[0]))
        return line.text[0] == '[' ? TEXT_TAKEN : TEXT_FOREIGN;
    read_value(snapshot, line);
    return TEXT_FOREIGN;
}

static TextLine
take_class(TextSnapshot *snapshot, Line line)
{
    StatsTable *table = snapshot->table == TABLE_BINS ? snapshot->arena->bins : snapshot->arena->large;
    if (table->count >= STATS_CLASSES_MAX)
        return damage(snapshot, "it has more size classes than jemalloc knows");
    if (*snapshot->rows == 0)
        return damage(snapshot, STATS_TOO_MANY_ROWS);
    --*snapshot->rows;
    StatsValues *row = stats_table_add(table, NULL);
    RowResult result = columns_read(snapshot->columns, line.text, line.length, 0, row);
    if (result != ROW_TAKEN)
        table->count--;
    return row_result(snapshot, result);
}

/* Handles indented headings: of the sums, and of the mutexes. */
static gboolean
open_indented(TextSnapshot *snapshot, Line line, Line content)
{
    if (begins(content, "n_lock_ops ")) {
        snapshot->columns = headings_get(snapshot->headings, ROW_MUTEX, line.text, line.length, 0);
        snapshot->table = snapshot->columns != NULL ? TABLE_MUTEX : TABLE_NONE;
        return TRUE;
    }
    if (!begins(content, "allocated "))
        return FALSE;
    for (guint kind = ROW_SUM_SMALL; kind <= ROW_SUM_TOTAL; kind++)
        snapshot->sums[kind] = headings_get(snapshot->headings, (RowKind)kind, line.text, line.length, 0);
    snapshot->table = TABLE_SUMS;
    return TRUE;
}

static TextLine
take_indented(TextSnapshot *snapshot, Line line)
{
    Line content = after(line, 0);
    TextLine result;
    if (content.length == 0 || content.text[0] == '-')
        return TEXT_TAKEN;
    if (g_ascii_isdigit(content.text[0])) {
        gboolean classes = snapshot->table >= TABLE_BINS && snapshot->arena != NULL;
        return classes ? take_class(snapshot, line) : TEXT_TAKEN;
    }
    if (open_indented(snapshot, line, content))
        return TEXT_TAKEN;
    if (snapshot->table == TABLE_DECAY && take_sum(snapshot, content, &result))
        return result;
    if (begins(content, "opt.")) {
        read_value(snapshot, content);
        return TEXT_TAKEN;
    }
    return TEXT_FOREIGN;
}

TextLine
text_snapshot_line(TextSnapshot *snapshot, const char *line, gsize length)
{
    if (length == 0)
        return TEXT_TAKEN;
    Line whole = {line, length};
    return line[0] == ' ' ? take_indented(snapshot, whole) : take_label(snapshot, whole);
}
