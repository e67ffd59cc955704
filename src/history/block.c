/* SPDX-License-Identifier: Apache-2.0 */
#include "history/block.h"

#include "stats/intern.h"

#include <string.h>

enum {
    ROWS_MAX = 512,        /* enough for difference coding; a block is the smallest unit of reading */
    WORDS_MAX = 4 << 20,   /* of several samples: 32 MiB during construction */
    COLUMN_WORDS = 16,     /* of a column without its values */
    COLUMN_FIRST_BLOB = 7, /* BLOCK_READ's column of the section BLOCK_TOTALS */
    GAP_HALVES = 5,        /* half intervals after which samples count as missing */
    BIND_FIRST_BLOB = 8,   /* BLOCK_ADD's parameter of that section */
};

/* A class of unknown size is identified by its index. */
#define ITEM_BY_PLACE (G_GUINT64_CONSTANT(1) << 63)

/* Words used as metrics of texts, whose values are numbers of words. */
static const char arena_name_word[] = "#arena.name";
static const char arena_dss_word[] = "#arena.dss";

static const int part_of_scope[STATS_SCOPE_COUNT] = {
    [STATS_SCOPE_TOTALS] = BLOCK_TOTALS, [STATS_SCOPE_ARENA] = BLOCK_ARENAS,  [STATS_SCOPE_BIN] = BLOCK_CLASSES,
    [STATS_SCOPE_LARGE] = BLOCK_CLASSES, [STATS_SCOPE_MUTEX] = BLOCK_MUTEXES,
};

/* The destination of values. */
typedef struct {
    Block *block;
    History *history;
    HistoryParts parts;
    gboolean single; /* size classes and mutexes of single arenas too */
} Appender;

Block *
block_new(gint64 target, gint64 incarnation)
{
    Block *block = g_new0(Block, 1);
    block->target = target;
    block->incarnation = incarnation;
    block->times = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (int part = 0; part < BLOCK_PARTS; part++)
        block->parts[part] = section_new();
    return block;
}

void
block_free(Block *block)
{
    if (block == NULL)
        return;
    if (block->attached_free != NULL)
        block->attached_free(block->attached);
    g_array_unref(block->times);
    stats_intern_unref(block->version);
    for (int part = 0; part < BLOCK_PARTS; part++)
        section_free(block->parts[part]);
    g_free(block);
}

void
block_attach(Block *block, gpointer data, GDestroyNotify free_func)
{
    block->attached = data;
    block->attached_free = free_func;
}

guint
block_rows(const Block *block)
{
    return block->times->len;
}

gint64
block_time(const Block *block, guint row)
{
    return g_array_index(block->times, gint64, row);
}

gboolean
block_is_late(const Block *block, guint64 coarsest_us, gint64 before_us, gint64 now_us)
{
    guint64 interval = MAX(coarsest_us, MAX(block->every_us, block->step_us));
    return interval > 0 && (guint64)(now_us - before_us) > interval * GAP_HALVES / 2;
}

guint64
block_columns(const Block *block)
{
    guint64 columns = 0;
    for (int part = 0; part < BLOCK_PARTS; part++)
        columns += block->parts[part] != NULL ? section_columns(block->parts[part]) : 0;
    return columns;
}

/* Each value that no earlier row has makes a column of all rows. */
gboolean
block_takes(const Block *block, gint64 time_us, guint64 values)
{
    guint rows = block_rows(block);
    if (rows == 0)
        return TRUE;
    if (rows >= ROWS_MAX || time_us < block_time(block, rows - 1))
        return FALSE;
    return MAX(block_columns(block), values) * (rows + 1 + COLUMN_WORDS) <= WORDS_MAX;
}

guint64
block_words(const Block *block)
{
    return block_columns(block) * (block_rows(block) + COLUMN_WORDS);
}

static gboolean
append_values(Appender *appender, const StatsValues *values, SectionKey key, GError **error)
{
    StatsMetric first = stats_scope_first((StatsScope)key.scope);
    Section *section = appender->block->parts[part_of_scope[key.scope]];
    for (guint64 left = values->present; left != 0; left &= left - 1) {
        guint bit = (guint)__builtin_ctzll(left);
        if (!dictionary_metric(appender->history, first + bit, &key.metric, error))
            return FALSE;
        section_set(section, &key, values->values[bit]);
    }
    return TRUE;
}

static guint64
class_item(const StatsTable *table, guint row)
{
    StatsMetric size = table->scope == STATS_SCOPE_BIN ? STATS_BIN_SIZE : STATS_LARGE_SIZE;
    return stats_values_or(stats_table_row(table, row), size, ITEM_BY_PLACE | row);
}

static gboolean
append_table(Appender *appender, const StatsTable *table, guint32 owner, GError **error)
{
    if (table == NULL || !(appender->parts & 1 << part_of_scope[table->scope]))
        return TRUE;
    for (guint row = 0; row < table->count; row++) {
        SectionKey key = {.owner = owner, .scope = (guint16)table->scope};
        if (table->scope == STATS_SCOPE_MUTEX) {
            if (!dictionary_name(appender->history, table->names[row], &key.item, error))
                return FALSE;
        } else {
            key.item = class_item(table, row);
        }
        if (!append_values(appender, stats_table_row(table, row), key, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
append_word(Appender *appender, guint32 owner, const char *name, const char *word, GError **error)
{
    guint64 name_number, word_number;
    if (word == NULL)
        return TRUE;
    if (!dictionary_number(appender->history, name, &name_number, error) ||
        !dictionary_name(appender->history, word, &word_number, error))
        return FALSE;
    SectionKey key = {.owner = owner, .scope = STATS_SCOPE_ARENA, .metric = (guint16)name_number};
    section_set(appender->block->parts[BLOCK_ARENAS], &key, word_number);
    return TRUE;
}

static gboolean
append_arena(Appender *appender, const StatsArena *arena, GError **error)
{
    guint32 owner = arena->index + 1;
    if (appender->parts & HISTORY_ARENAS) {
        SectionKey key = {.owner = owner, .scope = STATS_SCOPE_ARENA};
        if (!append_values(appender, arena->values, key, error) ||
            !append_word(appender, owner, arena_name_word, arena->name, error) ||
            !append_word(appender, owner, arena_dss_word, arena->dss, error))
            return FALSE;
    }
    if (!appender->single && arena->index < STATS_ARENA_MERGED)
        return TRUE;
    return append_table(appender, arena->bins, owner, error) && append_table(appender, arena->large, owner, error) &&
           append_table(appender, arena->mutexes, owner, error);
}

static gboolean
time_may_follow(gint64 time_us, gint64 before_us)
{
    return time_us >= before_us && stats_time_is_known(time_us);
}

gboolean
block_append(Block *block, History *history, const StatsSample *sample, HistoryParts parts, GError **error)
{
    const guint rows = block_rows(block);
    if (!time_may_follow(sample->time_us, rows > 0 ? block_time(block, rows - 1) : G_MININT64)) {
        g_set_error_literal(
            error, HISTORY_ERROR, HISTORY_ERROR_FAILED,
            "a sample was not stored: its time is before that of the last one, or outside the years 1 to 9999");
        return FALSE;
    }
    Appender appender = {.block = block,
                         .history = history,
                         .parts = parts,
                         .single = stats_sample_values(sample) <= HISTORY_VALUES_MAX};
    g_array_append_val(block->times, sample->time_us);
    for (int part = 0; part < BLOCK_PARTS; part++)
        section_add_row(block->parts[part]);
    SectionKey totals = {.scope = STATS_SCOPE_TOTALS};
    if ((parts & HISTORY_TOTALS && !append_values(&appender, sample->totals, totals, error)) ||
        !append_table(&appender, sample->mutexes, 0, error))
        return FALSE;
    for (guint i = 0; i < sample->arenas->len; i++)
        if (!append_arena(&appender, sample->arenas->pdata[i], error))
            return FALSE;
    return TRUE;
}

void
block_copy_row(Block *block, const Block *from, guint row)
{
    gint64 time_us = block_time(from, row);
    g_array_append_val(block->times, time_us);
    for (int part = 0; part < BLOCK_PARTS; part++)
        if (from->parts[part] != NULL)
            section_copy_row(block->parts[part], from->parts[part], row);
        else
            section_add_row(block->parts[part]);
}

gboolean
block_load(Block *block, GError **error)
{
    for (int part = 0; part < BLOCK_PARTS; part++)
        if (block->parts[part] != NULL && !section_load(block->parts[part], error))
            return FALSE;
    return TRUE;
}

static void
set_value(StatsValues *values, StatsMetric first, StatsMetric metric, guint64 value)
{
    guint bit = metric - first;
    values->values[bit] = value;
    values->present |= G_GUINT64_CONSTANT(1) << bit;
}

/* The destination of values when a sample is rebuilt. Keys ascend, so owner and row rarely change. */
typedef struct {
    StatsSample *sample;
    const History *history;
    StatsArena *arena; /* the last key's; NULL: the process */
    SectionKey key;
    StatsTable *table; /* the last key's */
} Rebuilder;

static StatsTable **
table_slot(Rebuilder *rebuilder)
{
    if (rebuilder->arena == NULL)
        return &rebuilder->sample->mutexes;
    switch ((StatsScope)rebuilder->key.scope) {
    case STATS_SCOPE_BIN:
        return &rebuilder->arena->bins;
    case STATS_SCOPE_LARGE:
        return &rebuilder->arena->large;
    default:
        return &rebuilder->arena->mutexes;
    }
}

static void
begin_row(Rebuilder *rebuilder, const SectionKey *key)
{
    StatsTable **slot = table_slot(rebuilder);
    if (*slot == NULL)
        *slot = stats_table_new((StatsScope)key->scope);
    rebuilder->table = *slot;
    gboolean mutex = key->scope == STATS_SCOPE_MUTEX;
    StatsValues *row = stats_table_add(*slot, mutex ? dictionary_word(rebuilder->history, key->item) : NULL);
    if (!mutex && !(key->item & ITEM_BY_PLACE))
        stats_values_set(row, key->scope == STATS_SCOPE_BIN ? STATS_BIN_SIZE : STATS_LARGE_SIZE, key->item);
}

static void
replace_word(const char **place, const char *word)
{
    stats_intern_unref(*place);
    *place = stats_intern_ref(word);
}

static void
rebuild_word(Rebuilder *rebuilder, const SectionKey *key, guint64 value)
{
    const char *name = dictionary_word(rebuilder->history, key->metric);
    const char *word = dictionary_word(rebuilder->history, value);
    if (g_strcmp0(name, arena_name_word) == 0)
        replace_word(&rebuilder->arena->name, word);
    else if (g_strcmp0(name, arena_dss_word) == 0)
        replace_word(&rebuilder->arena->dss, word);
}

static StatsValues *
find_values(Rebuilder *rebuilder, const SectionKey *key)
{
    gboolean same_row = key->owner == rebuilder->key.owner && key->scope == rebuilder->key.scope &&
                        key->item == rebuilder->key.item && rebuilder->table != NULL;
    if (key->owner != 0 && (rebuilder->arena == NULL || key->owner != rebuilder->key.owner))
        rebuilder->arena = stats_sample_arena(rebuilder->sample, key->owner - 1);
    rebuilder->key = *key;
    if (key->scope == STATS_SCOPE_TOTALS)
        return rebuilder->sample->totals;
    if (key->scope == STATS_SCOPE_ARENA)
        return rebuilder->arena->values;
    if (!same_row)
        begin_row(rebuilder, key);
    return stats_table_row(rebuilder->table, rebuilder->table->count - 1);
}

/* FALSE for keys that are damaged or unknown to this version: an unknown scope, values of an arena without an arena, a
 * mutex without a name. */
static gboolean
key_makes_sense(const History *history, const SectionKey *key, int part)
{
    if (key->scope >= STATS_SCOPE_COUNT || part_of_scope[key->scope] != part)
        return FALSE;
    if (key->owner == 0)
        return key->scope == STATS_SCOPE_TOTALS ||
               (key->scope == STATS_SCOPE_MUTEX && dictionary_word(history, key->item));
    return key->scope != STATS_SCOPE_MUTEX || dictionary_word(history, key->item) != NULL;
}

static void
rebuild_value(Rebuilder *rebuilder, const SectionKey *key, guint64 value)
{
    StatsMetric metric;
    gboolean known = dictionary_is_metric(rebuilder->history, key->metric, &metric);
    if (known && stats_metrics[metric].scope != (StatsScope)key->scope)
        return;
    if (!known && key->scope != STATS_SCOPE_ARENA)
        return;
    StatsValues *values = find_values(rebuilder, key);
    if (known)
        set_value(values, stats_scope_first((StatsScope)key->scope), metric, value);
    else
        rebuild_word(rebuilder, key, value);
}

StatsSample *
block_sample(const Block *block, const History *history, guint row)
{
    StatsSample *sample = stats_sample_new(STATS_SOURCE_HISTORY);
    sample->time_us = block_time(block, row);
    for (int part = 0; part < BLOCK_PARTS; part++) {
        const Section *section = block->parts[part];
        Rebuilder rebuilder = {.sample = sample, .history = history};
        for (guint i = 0; section != NULL && i < section_columns(section); i++) {
            guint64 value;
            const SectionKey *key = section_key(section, i);
            if (section_has_column(section, i) && section_get(section, i, row, &value) &&
                key_makes_sense(history, key, part))
                rebuild_value(&rebuilder, key, value);
        }
    }
    return sample;
}

static GBytes *
encode_times(const Block *block, int level)
{
    g_autoptr(Section) section = section_new();
    SectionKey key = {0};
    for (guint row = 0; row < block_rows(block); row++) {
        section_add_row(section);
        section_set(section, &key, (guint64)block_time(block, row));
    }
    return section_encode(section, level);
}

gboolean
block_write(const Block *block, History *history, int level, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_BLOCK_ADD, error);
    g_autoptr(GBytes) times = encode_times(block, level);
    database_bind(statement, block->target, block->incarnation, block_time(block, 0),
                  block_time(block, block_rows(block) - 1), block_rows(block), block->step_us);
    database_bind_bytes(statement, BIND_FIRST_BLOB - 1, times);
    for (int part = 0; part < BLOCK_PARTS; part++)
        if (section_columns(block->parts[part]) > 0) {
            g_autoptr(GBytes) bytes = section_encode(block->parts[part], level);
            database_bind_bytes(statement, BIND_FIRST_BLOB + part, bytes);
        }
    return database_run(history, statement, error);
}

static Section *
read_section(sqlite3_stmt *statement, int column, guint rows, GError **error)
{
    const void *bytes = sqlite3_column_blob(statement, column);
    /* SQLite returns NULL for an empty blob. */
    g_autoptr(Section) section =
        section_decode(bytes != NULL ? bytes : "", (gsize)sqlite3_column_bytes(statement, column), error);
    if (section != NULL && section_rows(section) == rows)
        return g_steal_pointer(&section);
    if (section != NULL)
        g_set_error_literal(error, HISTORY_ERROR, HISTORY_ERROR_DAMAGED, "damaged block: sections differ in length");
    return NULL;
}

static gboolean
read_times(Block *block, sqlite3_stmt *statement, guint rows, GError **error)
{
    g_autoptr(Section) section = read_section(statement, COLUMN_FIRST_BLOB - 1, rows, error);
    if (section == NULL || !section_load(section, error))
        return FALSE;
    for (guint row = 0; row < rows; row++) {
        guint64 value;
        const gint64 before_us = row > 0 ? block_time(block, row - 1) : G_MININT64;
        if (section_columns(section) != 1 || !section_get(section, 0, row, &value) ||
            !time_may_follow((gint64)value, before_us)) {
            g_set_error_literal(error, HISTORY_ERROR, HISTORY_ERROR_DAMAGED,
                                "damaged block: a time is missing or out of order");
            return FALSE;
        }
        const gint64 time_us = (gint64)value;
        g_array_append_val(block->times, time_us);
    }
    return TRUE;
}

static gboolean
read_parts(Block *block, sqlite3_stmt *statement, HistoryParts parts, GError **error)
{
    guint rows = (guint)sqlite3_column_int64(statement, COLUMN_FIRST_BLOB - 2);
    if (!read_times(block, statement, rows, error))
        return FALSE;
    for (int part = 0; part < BLOCK_PARTS; part++) {
        if (!(parts & 1 << part) || sqlite3_column_type(statement, COLUMN_FIRST_BLOB + part) == SQLITE_NULL)
            continue;
        block->parts[part] = read_section(statement, COLUMN_FIRST_BLOB + part, rows, error);
        if (block->parts[part] == NULL)
            return FALSE;
    }
    return TRUE;
}

Block *
block_read(History *history, gint64 id, HistoryParts parts, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_BLOCK_READ, error);
    gboolean ok;
    database_bind(statement, id);
    if (!database_next(history, statement, &ok, error)) {
        if (ok)
            g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_DAMAGED, "block %" G_GINT64_FORMAT " is gone", id);
        return NULL;
    }
    g_autoptr(Block) block = g_new0(Block, 1);
    block->id = id;
    block->times = g_array_new(FALSE, FALSE, sizeof(gint64));
    block->target = sqlite3_column_int64(statement, 0);
    block->incarnation = sqlite3_column_int64(statement, 1);
    block->step_us = (guint64)sqlite3_column_int64(statement, 2);
    block->every_us = (guint64)sqlite3_column_int64(statement, 3);
    const char *version = (const char *)sqlite3_column_text(statement, 4);
    block->version = version != NULL ? stats_intern(version, strlen(version)) : NULL;
    ok = read_parts(block, statement, parts, error);
    sqlite3_reset(statement);
    return ok ? g_steal_pointer(&block) : NULL;
}

gboolean
block_delete(History *history, gint64 id, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_BLOCK_DELETE, error);
    database_bind(statement, id);
    return database_run(history, statement, error);
}
