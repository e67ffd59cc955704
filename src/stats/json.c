/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/json.h"

#include "stats/intern.h"
#include "stats/keys.h"

#include <string.h>

enum {
    DEPTH_MAX = 16, /* jemalloc uses 8 */
    TOKEN_MAX = 256,
    PATH_LIMIT = 64,
};

typedef enum {
    EXPECT_VALUE,
    EXPECT_KEY, /* or the end of the object */
    EXPECT_COLON,
    EXPECT_COMMA, /* or the end of the container */
    IN_STRING,
    IN_ESCAPE,
    IN_WORD, /* number, true, false, null */
    IN_SKIPPED,
    IN_SKIPPED_STRING,
    IN_SKIPPED_ESCAPE,
} State;

/* The kind of an object or array of the schema. */
typedef enum {
    NODE_SKIP,
    NODE_ROOT,    /* the value of "jemalloc" */
    NODE_TOTALS,  /* values of the process, under the frame's path */
    NODE_ARENAS,  /* "stats.arenas" */
    NODE_ARENA,   /* values of an arena, under the frame's path */
    NODE_SIZES,   /* array of classes in "arenas": their sizes */
    NODE_SIZE,    /* one of them */
    NODE_CLASSES, /* array of classes of an arena */
    NODE_CLASS,   /* one of them */
    NODE_MUTEXES,
    NODE_MUTEX,
} Node;

/* The arrays of classes by their keys in "arenas" and in an arena. Sizes are joined by position. */
typedef enum {
    CLASSES_BIN,
    CLASSES_LEXTENT,
    CLASSES_LRUN,
    CLASSES_HCHUNK,
    CLASSES_KINDS,
} ClassKind;

static const struct {
    const char *sizes;
    const char *values;
    StatsScope scope;
} class_kinds[CLASSES_KINDS] = {
    [CLASSES_BIN] = {"bin", "bins", STATS_SCOPE_BIN},
    [CLASSES_LEXTENT] = {"lextent", "lextents", STATS_SCOPE_LARGE},
    [CLASSES_LRUN] = {"lrun", "lruns", STATS_SCOPE_LARGE},
    [CLASSES_HCHUNK] = {"hchunk", "hchunks", STATS_SCOPE_LARGE},
};

typedef struct {
    Node node;
    gboolean array;
    ClassKind classes;
    guint index; /* next element of an array of classes */
    guint8 path_length;
    char path[PATH_LIMIT]; /* with a trailing '.' */
} Frame;

struct JsonSnapshot {
    StatsSample *sample;
    StatsArena *arena;
    State state;
    gboolean string_is_key;
    gboolean has_stats;
    guint depth;
    guint skip_depth;
    guint token_length;
    guint key_length;
    char token[TOKEN_MAX];
    char key[TOKEN_MAX];
    Frame frames[DEPTH_MAX];
    StatsTable *sizes[CLASSES_KINDS];
    StatsValues *bin; /* the class, mutex or size being read */
    StatsValues *large;
    StatsValues *mutex;
    char mutex_name[TOKEN_MAX];
    guint64 *rows; /* of tables, that may still be read */
    gboolean too_large;
};

JsonSnapshot *
json_snapshot_new(guint64 *rows)
{
    JsonSnapshot *snapshot = g_new0(JsonSnapshot, 1);
    snapshot->rows = rows;
    snapshot->sample = stats_sample_new(STATS_SOURCE_JSON);
    snapshot->bin = stats_values_new(STATS_SCOPE_BIN);
    snapshot->large = stats_values_new(STATS_SCOPE_LARGE);
    snapshot->mutex = stats_values_new(STATS_SCOPE_MUTEX);
    for (guint i = 0; i < CLASSES_KINDS; i++)
        snapshot->sizes[i] = stats_table_new(class_kinds[i].scope);
    return snapshot;
}

void
json_snapshot_free(JsonSnapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    g_clear_pointer(&snapshot->sample, stats_sample_unref);
    g_free(snapshot->bin);
    g_free(snapshot->large);
    g_free(snapshot->mutex);
    for (guint i = 0; i < CLASSES_KINDS; i++)
        stats_table_free(snapshot->sizes[i]);
    g_free(snapshot);
}

const char *
json_snapshot_why(const JsonSnapshot *snapshot)
{
    return snapshot->too_large ? STATS_TOO_MANY_ROWS : "it is incomplete JSON (truncated, or mixed with another line)";
}

static gboolean
is_text(const char *bytes, gsize length, const char *text)
{
    return strlen(text) == length && memcmp(bytes, text, length) == 0;
}

static gboolean
key_is(const JsonSnapshot *snapshot, const char *text)
{
    return is_text(snapshot->key, snapshot->key_length, text);
}

static Frame *
top(JsonSnapshot *snapshot)
{
    return &snapshot->frames[snapshot->depth - 1];
}

static StatsValues *
class_scratch(JsonSnapshot *snapshot, ClassKind kind)
{
    return class_kinds[kind].scope == STATS_SCOPE_BIN ? snapshot->bin : snapshot->large;
}

/* The metric of the current key under the frame's path. */
static int
metric_of(const JsonSnapshot *snapshot, const Frame *frame, StatsScope scope)
{
    char path[PATH_LIMIT + TOKEN_MAX];
    memcpy(path, frame->path, frame->path_length);
    memcpy(path + frame->path_length, snapshot->key, snapshot->key_length);
    return keys_find(KEYS_JSON, scope, path, frame->path_length + snapshot->key_length);
}

/* Before 5.2 and from 5.3.1 on all columns are correct; between them the hidden per-second columns shift all columns
 * after num_ops (jemalloc fixed it in 2026-02). If the version is unknown, keys that only 5.3.1 prints decide. */
static gboolean
mutex_columns_trusted(const StatsSample *sample)
{
    uint64_t edata;
    if (sample->version == NULL)
        return stats_values_get(sample->totals, STATS_METADATA_EDATA, &edata);
    return !g_str_has_prefix(sample->version, "5.2.") && !g_str_has_prefix(sample->version, "5.3.0");
}

/* The destination of a number of NODE: the values and their scope. */
static StatsValues *
values_of(JsonSnapshot *snapshot, const Frame *frame, StatsScope *scope)
{
    switch (frame->node) {
    case NODE_TOTALS:
        *scope = STATS_SCOPE_TOTALS;
        return snapshot->sample->totals;
    case NODE_ARENA:
        *scope = STATS_SCOPE_ARENA;
        return snapshot->arena->values;
    case NODE_SIZE:
    case NODE_CLASS:
        *scope = class_kinds[frame->classes].scope;
        return class_scratch(snapshot, frame->classes);
    case NODE_MUTEX:
        *scope = STATS_SCOPE_MUTEX;
        return snapshot->mutex;
    default:
        return NULL;
    }
}

static gboolean
parse_number(const char *text, gsize length, uint64_t *number)
{
    gboolean negative = length > 0 && text[0] == '-';
    uint64_t value = 0;
    if (length == (gsize)negative)
        return FALSE;
    for (gsize i = negative; i < length; i++) {
        guchar digit = (guchar)(text[i] - '0');
        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value))
            return FALSE;
    }
    *number = negative ? -value : value;
    return TRUE;
}

static gboolean
take_word(JsonSnapshot *snapshot)
{
    static const char *const words[] = {"true", "false", "null"};
    uint64_t number;
    StatsScope scope;
    const Frame *frame = top(snapshot);
    if (!parse_number(snapshot->token, snapshot->token_length, &number)) {
        for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
            if (is_text(snapshot->token, snapshot->token_length, words[i]))
                return TRUE;
        return g_ascii_isdigit(snapshot->token[0]) || snapshot->token[0] == '-';
    }
    StatsValues *values = frame->array ? NULL : values_of(snapshot, frame, &scope);
    int metric = values != NULL ? metric_of(snapshot, frame, scope) : -1;
    if (metric >= 0)
        stats_values_set(values, (StatsMetric)metric, number);
    return TRUE;
}

static void
take_string(JsonSnapshot *snapshot)
{
    const Frame *frame = top(snapshot);
    if (frame->array)
        return;
    if (frame->node == NODE_ROOT && key_is(snapshot, "version"))
        stats_intern_replace(&snapshot->sample->version, snapshot->token, snapshot->token_length);
    else if (frame->node == NODE_ARENA && frame->path_length == 0 && key_is(snapshot, "dss"))
        stats_intern_replace(&snapshot->arena->dss, snapshot->token, snapshot->token_length);
    else if (frame->node == NODE_ARENA && frame->path_length == 0 && key_is(snapshot, "name"))
        stats_intern_replace(&snapshot->arena->name, snapshot->token, snapshot->token_length);
}

/* FALSE if the key does not name an arena. */
static gboolean
open_arena(JsonSnapshot *snapshot)
{
    uint64_t index;
    if (key_is(snapshot, "merged"))
        index = STATS_ARENA_MERGED;
    else if (key_is(snapshot, "destroyed"))
        index = STATS_ARENA_DESTROYED;
    else if (!parse_number(snapshot->key, snapshot->key_length, &index) || index >= STATS_ARENA_MERGED)
        return FALSE;
    snapshot->arena = stats_sample_arena(snapshot->sample, (guint)index);
    snapshot->has_stats = TRUE;
    return TRUE;
}

static Node
root_child(JsonSnapshot *snapshot, Frame *child)
{
    static const struct {
        const char *key;
        Node node;
        const char *path;
    } children[] = {
        {"opt", NODE_TOTALS, "opt."},
        {"arenas", NODE_TOTALS, "arenas."},
        {"stats", NODE_TOTALS, ""},
        {"stats.arenas", NODE_ARENAS, ""},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(children); i++) {
        if (!key_is(snapshot, children[i].key))
            continue;
        child->path_length = (guint8)strlen(children[i].path);
        memcpy(child->path, children[i].path, child->path_length);
        snapshot->has_stats |= strcmp(children[i].key, "stats") == 0;
        return children[i].node;
    }
    return NODE_SKIP;
}

/* Enters an object inside values: its key becomes part of the path of its values. */
static gboolean
extend_path(const JsonSnapshot *snapshot, const Frame *parent, Frame *child)
{
    if (parent->path_length + snapshot->key_length + 1 > PATH_LIMIT)
        return FALSE;
    memcpy(child->path, parent->path, parent->path_length);
    memcpy(child->path + parent->path_length, snapshot->key, snapshot->key_length);
    child->path_length = (guint8)(parent->path_length + snapshot->key_length + 1);
    child->path[child->path_length - 1] = '.';
    return TRUE;
}

static gboolean
is_class_array(const JsonSnapshot *snapshot, Frame *child, Node node)
{
    for (guint i = 0; i < CLASSES_KINDS; i++) {
        if (!key_is(snapshot, node == NODE_SIZES ? class_kinds[i].sizes : class_kinds[i].values))
            continue;
        child->classes = (ClassKind)i;
        return TRUE;
    }
    return FALSE;
}

static Node
totals_child(JsonSnapshot *snapshot, const Frame *parent, Frame *child)
{
    if (child->array)
        return is_text(parent->path, parent->path_length, "arenas.") && is_class_array(snapshot, child, NODE_SIZES)
                   ? NODE_SIZES
                   : NODE_SKIP;
    if (parent->path_length == 0 && key_is(snapshot, "mutexes")) {
        snapshot->arena = NULL;
        return NODE_MUTEXES;
    }
    return extend_path(snapshot, parent, child) ? NODE_TOTALS : NODE_SKIP;
}

static Node
arena_child(JsonSnapshot *snapshot, const Frame *parent, Frame *child)
{
    if (child->array)
        return is_class_array(snapshot, child, NODE_CLASSES) ? NODE_CLASSES : NODE_SKIP;
    if (parent->path_length == 0 && key_is(snapshot, "mutexes"))
        return NODE_MUTEXES;
    return extend_path(snapshot, parent, child) ? NODE_ARENA : NODE_SKIP;
}

static Node
child_of(JsonSnapshot *snapshot, const Frame *parent, Frame *child)
{
    switch (parent->node) {
    case NODE_ROOT:
        return child->array ? NODE_SKIP : root_child(snapshot, child);
    case NODE_TOTALS:
        return totals_child(snapshot, parent, child);
    case NODE_ARENAS:
        return !child->array && open_arena(snapshot) ? NODE_ARENA : NODE_SKIP;
    case NODE_ARENA:
        return arena_child(snapshot, parent, child);
    case NODE_SIZES:
    case NODE_CLASSES:
        child->classes = parent->classes;
        return child->array ? NODE_SKIP : parent->node == NODE_SIZES ? NODE_SIZE : NODE_CLASS;
    case NODE_MUTEXES:
        memcpy(snapshot->mutex_name, snapshot->key, snapshot->key_length);
        snapshot->mutex_name[snapshot->key_length] = '\0';
        return child->array ? NODE_SKIP : NODE_MUTEX;
    default:
        return NODE_SKIP;
    }
}

/* FALSE if nested deeper than jemalloc's JSON. */
static gboolean
open_container(JsonSnapshot *snapshot, gboolean array)
{
    Frame child = {.array = array};
    if (snapshot->depth == DEPTH_MAX)
        return FALSE;
    child.node = snapshot->depth == 0 ? NODE_ROOT : child_of(snapshot, top(snapshot), &child);
    if (child.node == NODE_SKIP) {
        snapshot->skip_depth = 1;
        snapshot->state = IN_SKIPPED;
        return TRUE;
    }
    snapshot->frames[snapshot->depth++] = child;
    if (child.node == NODE_SIZE || child.node == NODE_CLASS)
        class_scratch(snapshot, child.classes)->present = 0;
    if (child.node == NODE_MUTEX)
        snapshot->mutex->present = 0;
    snapshot->state = array ? EXPECT_VALUE : EXPECT_KEY;
    return TRUE;
}

static void
copy_values(StatsValues *to, const StatsValues *from, StatsScope scope)
{
    memcpy(to, from, sizeof(*from) + stats_scope_count(scope) * sizeof(uint64_t));
}

/* A class that was never used has only zeros. */
static gboolean
was_used(const StatsValues *values, StatsScope scope)
{
    for (guint i = 0; i < stats_scope_count(scope); i++)
        if ((values->present & (UINT64_C(1) << i)) != 0 && values->values[i] != 0)
            return TRUE;
    return FALSE;
}

static gboolean
take_row(JsonSnapshot *snapshot)
{
    snapshot->too_large = snapshot->too_large || *snapshot->rows == 0;
    *snapshot->rows -= !snapshot->too_large;
    return !snapshot->too_large;
}

static void
add_class(JsonSnapshot *snapshot, ClassKind kind, guint index)
{
    StatsScope scope = class_kinds[kind].scope;
    const StatsValues *values = class_scratch(snapshot, kind);
    StatsTable **table = scope == STATS_SCOPE_BIN ? &snapshot->arena->bins : &snapshot->arena->large;
    if (*table == NULL)
        *table = stats_table_new(scope);
    if (!was_used(values, scope) || (*table)->count >= STATS_CLASSES_MAX || !take_row(snapshot))
        return;
    StatsValues *row = stats_table_add(*table, NULL);
    copy_values(row, values, scope);
    if (index >= snapshot->sizes[kind]->count)
        return;
    const StatsValues *size = stats_table_row(snapshot->sizes[kind], index);
    for (guint i = 0; i < stats_scope_count(scope); i++)
        if ((size->present & ~row->present & (UINT64_C(1) << i)) != 0)
            row->values[i] = size->values[i];
    row->present |= size->present;
}

static void
add_mutex(JsonSnapshot *snapshot)
{
    StatsTable **table = snapshot->arena != NULL ? &snapshot->arena->mutexes : &snapshot->sample->mutexes;
    if (*table == NULL)
        *table = stats_table_new(STATS_SCOPE_MUTEX);
    if ((*table)->count >= STATS_MUTEXES_MAX || stats_table_find(*table, snapshot->mutex_name) != NULL ||
        !take_row(snapshot))
        return;
    copy_values(stats_table_add(*table, snapshot->mutex_name), snapshot->mutex, STATS_SCOPE_MUTEX);
}

static void
close_node(JsonSnapshot *snapshot, const Frame *frame)
{
    Frame *parent = snapshot->depth > 0 ? top(snapshot) : NULL;
    if (frame->node == NODE_MUTEX)
        add_mutex(snapshot);
    if (frame->node == NODE_CLASS && parent != NULL)
        add_class(snapshot, frame->classes, parent->index++);
    if (frame->node == NODE_SIZE && snapshot->sizes[frame->classes]->count < STATS_CLASSES_MAX)
        copy_values(stats_table_add(snapshot->sizes[frame->classes], NULL), class_scratch(snapshot, frame->classes),
                    class_kinds[frame->classes].scope);
}

static JsonResult
close_container(JsonSnapshot *snapshot, gboolean array)
{
    if (snapshot->depth == 0 || top(snapshot)->array != array)
        return JSON_DAMAGED;
    Frame frame = *top(snapshot);
    snapshot->depth--;
    close_node(snapshot, &frame);
    snapshot->state = EXPECT_COMMA;
    if (snapshot->too_large)
        return JSON_DAMAGED;
    return snapshot->depth == 0 ? JSON_DONE : JSON_MORE;
}

static gboolean
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static gboolean
is_word_byte(char c)
{
    return g_ascii_isalnum(c) || c == '-' || c == '+' || c == '.';
}

/* Keeps the beginning of a token; longer ones are not known keys. */
static void
append_token(JsonSnapshot *snapshot, const char *bytes, gsize length)
{
    gsize room = TOKEN_MAX - 1 - snapshot->token_length;
    length = MIN(length, room);
    memcpy(snapshot->token + snapshot->token_length, bytes, length);
    snapshot->token_length += (guint)length;
}

static void
end_string(JsonSnapshot *snapshot)
{
    if (snapshot->string_is_key) {
        memcpy(snapshot->key, snapshot->token, snapshot->token_length);
        snapshot->key_length = snapshot->token_length;
        snapshot->state = EXPECT_COLON;
        return;
    }
    take_string(snapshot);
    snapshot->state = EXPECT_COMMA;
}

static const char *
scan_string(JsonSnapshot *snapshot, const char *p, const char *end)
{
    const char *start = p;
    while (p < end && *p != '"' && *p != '\\')
        p++;
    append_token(snapshot, start, (gsize)(p - start));
    if (p == end)
        return p;
    if (*p == '"')
        end_string(snapshot);
    else
        snapshot->state = IN_ESCAPE;
    return p + 1;
}

static const char *
scan_skipped(JsonSnapshot *snapshot, const char *p, const char *end)
{
    for (; p < end; p++) {
        switch (*p) {
        case '"':
            snapshot->state = IN_SKIPPED_STRING;
            return p + 1;
        case '{':
        case '[':
            snapshot->skip_depth++;
            break;
        case '}':
        case ']':
            if (--snapshot->skip_depth == 0) {
                snapshot->state = EXPECT_COMMA;
                return p + 1;
            }
            break;
        default:
            break;
        }
    }
    return p;
}

static const char *
scan_skipped_string(JsonSnapshot *snapshot, const char *p, const char *end)
{
    while (p < end && *p != '"' && *p != '\\')
        p++;
    if (p == end)
        return p;
    snapshot->state = *p == '"' ? IN_SKIPPED : IN_SKIPPED_ESCAPE;
    return p + 1;
}

static void
begin_string(JsonSnapshot *snapshot, gboolean is_key)
{
    snapshot->string_is_key = is_key;
    snapshot->token_length = 0;
    snapshot->state = IN_STRING;
}

/* Handles a non-blank byte where a value is expected. */
static JsonResult
on_value(JsonSnapshot *snapshot, char c)
{
    if (c == '{' || c == '[')
        return open_container(snapshot, c == '[') ? JSON_MORE : JSON_DAMAGED;
    if (c == ']')
        return close_container(snapshot, TRUE);
    if (snapshot->depth == 0)
        return JSON_DAMAGED;
    if (c == '"') {
        begin_string(snapshot, FALSE);
        return JSON_MORE;
    }
    if (!is_word_byte(c))
        return JSON_DAMAGED;
    snapshot->token_length = 0;
    append_token(snapshot, &c, 1);
    snapshot->state = IN_WORD;
    return JSON_MORE;
}

static JsonResult
on_structure(JsonSnapshot *snapshot, char c)
{
    switch (snapshot->state) {
    case EXPECT_VALUE:
        return on_value(snapshot, c);
    case EXPECT_KEY:
        if (c == '}')
            return close_container(snapshot, FALSE);
        if (c != '"')
            return JSON_DAMAGED;
        begin_string(snapshot, TRUE);
        return JSON_MORE;
    case EXPECT_COLON:
        snapshot->state = EXPECT_VALUE;
        return c == ':' ? JSON_MORE : JSON_DAMAGED;
    default:
        if (c == ',') {
            snapshot->state = top(snapshot)->array ? EXPECT_VALUE : EXPECT_KEY;
            return JSON_MORE;
        }
        return c == '}' || c == ']' ? close_container(snapshot, c == ']') : JSON_DAMAGED;
    }
}

/* Scans a word, which ends at the first byte that cannot be part of it, possibly in the next piece. */
static const char *
scan_word(JsonSnapshot *snapshot, const char *p, const char *end, JsonResult *result)
{
    const char *start = p;
    while (p < end && is_word_byte(*p))
        p++;
    append_token(snapshot, start, (gsize)(p - start));
    if (p == end)
        return p;
    if (!take_word(snapshot))
        *result = JSON_DAMAGED;
    snapshot->state = EXPECT_COMMA;
    return p;
}

static const char *
scan_structure(JsonSnapshot *snapshot, const char *p, const char *end, JsonResult *result)
{
    while (p < end && is_blank(*p))
        p++;
    if (p == end)
        return p;
    *result = on_structure(snapshot, *p);
    return p + 1;
}

static const char *
scan_step(JsonSnapshot *snapshot, const char *p, const char *end, JsonResult *result)
{
    switch (snapshot->state) {
    case IN_STRING:
        return scan_string(snapshot, p, end);
    case IN_ESCAPE:
        append_token(snapshot, p, 1);
        snapshot->state = IN_STRING;
        return p + 1;
    case IN_WORD:
        return scan_word(snapshot, p, end, result);
    case IN_SKIPPED:
        return scan_skipped(snapshot, p, end);
    case IN_SKIPPED_STRING:
        return scan_skipped_string(snapshot, p, end);
    case IN_SKIPPED_ESCAPE:
        snapshot->state = IN_SKIPPED_STRING;
        return p + 1;
    default:
        return scan_structure(snapshot, p, end, result);
    }
}

JsonResult
json_snapshot_feed(JsonSnapshot *snapshot, const char *bytes, gsize length, gsize *taken)
{
    const char *p = bytes;
    const char *end = bytes + length;
    JsonResult result = JSON_MORE;
    while (p < end && result == JSON_MORE)
        p = scan_step(snapshot, p, end, &result);
    *taken = (gsize)(p - bytes);
    return result;
}

gboolean
json_snapshot_continues(const JsonSnapshot *snapshot, const char *line, gsize length)
{
    gsize at = 0;
    while (at < length && is_blank(line[at]))
        at++;
    /* Lines of indented JSON begin with a blank, except the outermost braces. */
    return at == length || (strchr("\"{}[]-0123456789tfn,", line[at]) != NULL && (at > 0 || strchr("{}]\"", line[0])));
}

static void
distrust_mutexes(StatsTable *table)
{
    for (guint i = 0; table != NULL && i < table->count; i++)
        stats_table_row(table, i)->present &= UINT64_C(1) << (STATS_MUTEX_OPS - stats_scope_first(STATS_SCOPE_MUTEX));
}

/* Merged arenas have no decay time; the JSON has -1 for that, which would mean "never". */
static void
drop_merged_decay(StatsArena *arena)
{
    static const StatsMetric decay[] = {STATS_ARENA_DIRTY_DECAY, STATS_ARENA_MUZZY_DECAY};
    for (gsize i = 0; arena != NULL && i < G_N_ELEMENTS(decay); i++)
        arena->values->present &= ~(UINT64_C(1) << (decay[i] - stats_scope_first(STATS_SCOPE_ARENA)));
}

StatsSample *
json_snapshot_take(JsonSnapshot *snapshot)
{
    StatsSample *sample = snapshot->sample;
    if (!snapshot->has_stats)
        return NULL;
    if (!mutex_columns_trusted(sample)) {
        distrust_mutexes(sample->mutexes);
        for (guint i = 0; i < sample->arenas->len; i++)
            distrust_mutexes(((StatsArena *)sample->arenas->pdata[i])->mutexes);
    }
    drop_merged_decay(stats_sample_find(sample, STATS_ARENA_MERGED));
    drop_merged_decay(stats_sample_find(sample, STATS_ARENA_DESTROYED));
    stats_sample_derive(sample, STATS_DERIVE_MERGED);
    return g_steal_pointer(&snapshot->sample);
}
