/* SPDX-License-Identifier: Apache-2.0 */
#include "export/clickhouse-rows.h"

#include "confine/keyed-hash.h"
#include "export/row-binary.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum {
    TARGETS_MAX = 4096,   /* maximum number of processes whose latest dump is remembered */
    STACKS_MAX = 1 << 20, /* maximum number of stacks remembered as sent */
    FIGURES = 2 * CLICKHOUSE_VALUES + 2,
    DAY_SECONDS = 86400,
    START_LINE_UNKNOWN = 0,
};

/* A stack in a dump: each value and its variance, births, deaths. */
typedef struct {
    gdouble figures[FIGURES];
} Known;

/* The latest dump of a process. */
typedef struct {
    gint64 base, time;
    GHashTable *stacks; /* hash -> Known, without all-zero ones */
} Latest;

struct ClickhouseRows {
    GHashTable *targets; /* target -> Latest */
    GHashTable *sent;    /* set of sent stacks: hashes of service, day and hash_stack() */
    gsize n_known;       /* number of stacks in all latest dumps */
    gsize most_known;
};

static gpointer
key_of(guint64 number)
{
    return g_memdup2(&number, sizeof(number));
}

static void
latest_free(gpointer data)
{
    Latest *latest = data;
    g_hash_table_unref(latest->stacks);
    g_free(latest);
}

ClickhouseRows *
clickhouse_rows_new(gsize most_known)
{
    ClickhouseRows *rows = g_new0(ClickhouseRows, 1);
    rows->most_known = most_known;
    rows->targets = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, g_free, latest_free);
    rows->sent = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, g_free, NULL);
    return rows;
}

void
clickhouse_rows_free(ClickhouseRows *rows)
{
    g_hash_table_unref(rows->targets);
    g_hash_table_unref(rows->sent);
    g_free(rows);
}

void
clickhouse_rows_forget(ClickhouseRows *rows)
{
    g_hash_table_remove_all(rows->targets);
    g_hash_table_remove_all(rows->sent);
    rows->n_known = 0;
}

void
clickhouse_bodies_init(ClickhouseBodies *bodies)
{
    *bodies = (ClickhouseBodies){g_string_new(NULL), g_string_new(NULL), g_string_new(NULL), g_string_new(NULL),
                                 g_string_new(NULL)};
}

void
clickhouse_bodies_clear(ClickhouseBodies *bodies)
{
    GString *const all[] = {bodies->stack, bodies->whole, bodies->sample, bodies->ledger, bodies->dump};
    for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
        g_string_free(all[i], TRUE);
}

/* ---- identities ---- */

/* The first 64 bits of the SHA-256 of TEXTS, each with its terminating NUL; the same on every host. */
static guint64
hash_texts(const char *const *texts, gsize n)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    guint8 digest[32];
    gsize length = sizeof(digest);
    guint64 hash = 0;
    for (gsize i = 0; i < n; i++)
        g_checksum_update(sum, (const guchar *)texts[i], (gssize)strlen(texts[i]) + 1);
    g_checksum_get_digest(sum, digest, &length);
    for (gsize i = 0; i < sizeof(hash); i++)
        hash = hash << 8 | digest[i];
    return hash;
}

static const char *
label_of(const Batch *batch, const char *name)
{
    for (gsize i = 0; i < batch->n_labels; i++)
        if (g_str_equal(batch->labels[i].name, name))
            return batch->labels[i].value;
    return "";
}

/* The user of the process; "": it is not known. */
static const char *
user_of(const Batch *batch)
{
    return label_of(batch, "user");
}

guint64
clickhouse_target(const Batch *batch)
{
    const BatchDump *dump = &batch->dump;
    g_autofree char *process = g_strdup_printf("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, dump->pid, dump->start);
    const char *const texts[] = {dump->service, dump->host, process, user_of(batch)};
    return hash_texts(texts, G_N_ELEMENTS(texts));
}

/* A stack of a user. The store has its names once, and a user can give any names to a copy of the files of another one,
 * with the same build ids and offsets. */
static guint64
hash_stack(const Batch *batch, guint64 hash)
{
    char digits[24];
    const char *const texts[] = {user_of(batch), digits};
    if (hash == BATCH_REST)
        return hash;
    g_snprintf(digits, sizeof(digits), "%" G_GUINT64_FORMAT, hash);
    return MAX(hash_texts(texts, G_N_ELEMENTS(texts)), BATCH_REST + 1);
}

/* The day in UTC, "2026-11-22". */
static char *
day_of(gint64 time_us)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(time_us / G_USEC_PER_SEC);
    return g_date_time_format(time, "%F");
}

/* The common data of a dump's rows. */
typedef struct {
    const Batch *batch;
    char *day;
    guint64 target;
    gint64 base;
    int values[CLICKHOUSE_VALUES]; /* indexes into batch->values, or -1 */
} Dump;

/* ---- rows ---- */

static void
append_json(GString *body, json_t *row)
{
    char *text = json_dumps(row, JSON_COMPACT | JSON_REAL_PRECISION(17));
    g_string_append(body, text);
    g_string_append_c(body, '\n');
    free(text);
    json_decref(row);
}

/* Not all JSON parsers accept unsigned 64-bit numbers, so they are written as strings. */
static json_t *
json_unsigned(guint64 number)
{
    char text[24];
    g_snprintf(text, sizeof(text), "%" G_GUINT64_FORMAT, number);
    return json_string(text);
}

static const char *
string_of(const Batch *batch, guint32 index)
{
    return batch->strings[index];
}

/* "--" separates the names of a location, but is also an operator in C. */
static void
append_joined_name(GString *names, const char *name)
{
    g_auto(GStrv) parts = g_strsplit(name, "--", -1);
    g_autofree char *safe = g_strjoinv("- -", parts);
    g_string_append(names, safe);
}

/* In the form that profile_embedded_symbol() reads: the function, then the functions inlined in it, then their source
 * locations. */
static json_t *
names_of(const Batch *batch, const BatchLocation *location)
{
    g_autoptr(GString) names = g_string_new(NULL);
    for (guint32 i = location->n_lines; i-- > 0;) {
        append_joined_name(names, string_of(batch, batch->lines[location->first_line + i].function));
        g_string_append(names, i > 0 ? "--" : "");
    }
    for (guint32 i = location->n_lines; i-- > 0;) {
        const BatchLine *line = &batch->lines[location->first_line + i];
        const char *file = string_of(batch, line->file);
        g_string_append_c(names, '\t');
        if (file[0] != '\0')
            g_string_append_printf(names, "%s:%u:%u", file, line->line, START_LINE_UNKNOWN);
    }
    return json_string(names->str);
}

static void
add_location(json_t *row, const Batch *batch, const BatchLocation *location)
{
    gboolean has_file = location->object != BATCH_NONE;
    for (guint32 i = 0; i < location->n_lines; i++)
        json_array_append_new(json_object_get(row, "functions"),
                              json_string(string_of(batch, batch->lines[location->first_line + i].function)));
    json_array_append_new(json_object_get(row, "names"), names_of(batch, location));
    json_array_append_new(json_object_get(row, "files"),
                          json_string(has_file ? batch->objects[location->object].path : ""));
    json_array_append_new(json_object_get(row, "builds"),
                          json_string(has_file ? batch->objects[location->object].build_id : ""));
    json_array_append_new(json_object_get(row, "offsets"), json_unsigned(location->offset));
}

static void
append_stack(const Dump *dump, const BatchStack *stack, guint64 hash, GString *body)
{
    const Batch *batch = dump->batch;
    json_t *row =
        json_pack("{s:s, s:s, s:o, s:[], s:[], s:[], s:[], s:[]}", "day", dump->day, "service", batch->dump.service,
                  "hash", json_unsigned(hash), "functions", "names", "files", "builds", "offsets");
    for (guint32 i = 0; i < stack->depth; i++)
        add_location(row, batch, &batch->locations[batch->frames[stack->first + i]]);
    append_json(body, row);
}

/* Appends STACK unless it was sent for this day: stacks are retained as long as the samples of their day. */
static void
add_stack(ClickhouseRows *rows, const Dump *dump, const BatchStack *stack, guint64 hash, GString *body)
{
    g_autofree char *digits = g_strdup_printf("%" G_GUINT64_FORMAT, hash);
    const char *const texts[] = {dump->batch->dump.service, dump->day, digits};
    if (g_hash_table_size(rows->sent) >= STACKS_MAX)
        g_hash_table_remove_all(rows->sent);
    if (g_hash_table_add(rows->sent, key_of(hash_texts(texts, G_N_ELEMENTS(texts)))))
        append_stack(dump, stack, hash, body);
}

/* Writes the first columns of a row of samples. */
static void
begin_row(const Dump *dump, GString *body)
{
    row_binary_unsigned(body, (guint64)dump->base / G_USEC_PER_SEC / DAY_SECONDS, sizeof(guint16));
    row_binary_text(body, dump->batch->dump.service);
    row_binary_unsigned(body, (guint64)dump->base / G_USEC_PER_SEC / CLICKHOUSE_HOUR_SECONDS, sizeof(guint32));
    row_binary_unsigned(body, dump->target, sizeof(guint64));
}

static void
append_figure(GString *body, gsize i, gdouble number)
{
    gboolean is_variance = i < (gsize)2 * CLICKHOUSE_VALUES && i % 2 != 0;
    (is_variance ? row_binary_float32 : row_binary_float64)(body, number);
}

static void
append_sample(const Dump *dump, guint64 hash, const Known *known, GString *body)
{
    begin_row(dump, body);
    row_binary_unsigned(body, hash, sizeof(hash));
    row_binary_unsigned(body, (guint64)dump->batch->dump.time, sizeof(guint64));
    row_binary_unsigned(body, (guint64)dump->base, sizeof(guint64));
    for (gsize i = 0; i < FIGURES; i++)
        append_figure(body, i, known->figures[i]);
}

static gint
compare_hashes(gconstpointer a, gconstpointer b)
{
    const guint64 *one = *(const guint64 *const *)a, *other = *(const guint64 *const *)b;
    return *one < *other ? -1 : *one > *other;
}

/* Stacks are sorted by hash, so that rows of one service are similar and compress well. */
static void
append_whole(const Dump *dump, GHashTable *stacks, GString *body)
{
    guint n;
    g_autofree gpointer *hashes = g_hash_table_get_keys_as_array(stacks, &n);
    qsort(hashes, n, sizeof(*hashes), compare_hashes);
    begin_row(dump, body);
    row_binary_unsigned(body, (guint64)dump->base, sizeof(guint64));
    row_binary_length(body, n);
    for (guint s = 0; s < n; s++)
        row_binary_unsigned(body, *(const guint64 *)hashes[s], sizeof(guint64));
    for (gsize i = 0; i < FIGURES; i++) {
        row_binary_length(body, n);
        for (guint s = 0; s < n; s++)
            append_figure(body, i, ((const Known *)g_hash_table_lookup(stacks, hashes[s]))->figures[i]);
    }
}

static Known
figures_of(const Dump *dump, gsize stack)
{
    const BatchSample sample = batch_sample(dump->batch, stack);
    Known known = {{0}};
    for (gsize i = 0; i < CLICKHOUSE_VALUES; i++)
        if (dump->values[i] >= 0) {
            known.figures[2 * i] = sample.estimate[dump->values[i]];
            known.figures[2 * i + 1] = sample.variance[dump->values[i]];
        }
    known.figures[2 * CLICKHOUSE_VALUES] = sample.births;
    known.figures[2 * CLICKHOUSE_VALUES + 1] = sample.deaths;
    return known;
}

static gboolean
is_nothing(const Known *known)
{
    for (gsize i = 0; i < FIGURES; i++)
        if (known->figures[i] != 0)
            return FALSE;
    return TRUE;
}

/* Appends zero rows for stacks that are not in the dump any more. */
static void
append_gone(const Dump *dump, GHashTable *before, GHashTable *now, GString *body)
{
    static const Known nothing;
    GHashTableIter each;
    gpointer hash;
    g_hash_table_iter_init(&each, before);
    while (g_hash_table_iter_next(&each, &hash, NULL))
        if (!g_hash_table_contains(now, hash))
            append_sample(dump, *(guint64 *)hash, &nothing, body);
}

/* BEFORE has the stacks of the previous dump, whose rows are inserted already; NULL: the dump is written in full.
 * Returns the stacks of this dump. */
static GHashTable *
add_samples(ClickhouseRows *rows, const Dump *dump, GHashTable *before, ClickhouseBodies *bodies)
{
    const Batch *batch = dump->batch;
    GHashTable *now = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, g_free, g_free);
    for (gsize i = 0; i < batch->n_stacks; i++) {
        const guint64 hash = hash_stack(batch, batch->stacks[i].hash);
        Known known = figures_of(dump, i);
        const Known *old = before != NULL ? g_hash_table_lookup(before, &hash) : NULL;
        if (old == NULL) /* otherwise it was sent with the previous dump */
            add_stack(rows, dump, &batch->stacks[i], hash, bodies->stack);
        if (!is_nothing(&known))
            g_hash_table_insert(now, key_of(hash), g_memdup2(&known, sizeof(known)));
        if (before != NULL && (old != NULL ? memcmp(old, &known, sizeof(known)) != 0 : !is_nothing(&known)))
            append_sample(dump, hash, &known, bodies->sample);
    }
    if (before != NULL)
        append_gone(dump, before, now, bodies->sample);
    else
        append_whole(dump, now, bodies->whole);
    return now;
}

static void
add_totals(json_t *row, const Dump *dump)
{
    const Batch *batch = dump->batch;
    for (gsize i = 0; i < CLICKHOUSE_VALUES; i++) {
        int at = dump->values[i];
        g_autofree char *variance = g_strconcat(clickhouse_values[i], "_variance", NULL);
        json_object_set_new(row, clickhouse_values[i], json_real(at >= 0 ? batch->total[at] : 0));
        json_object_set_new(row, variance, json_real(at >= 0 ? batch->total[batch->n_values + (gsize)at] : 0));
    }
}

static void
add_metrics(json_t *row, const Batch *batch)
{
    static const char *const kept[] = {"allocated", "resident", NULL};
    for (gsize i = 0; i < batch->n_metrics; i++)
        if (g_strv_contains(kept, batch->metrics[i].name))
            json_object_set_new(row, batch->metrics[i].name, json_real(batch->metrics[i].value));
}

static void
add_labels(json_t *row, const Batch *batch)
{
    json_t *names = json_array(), *values = json_array();
    for (gsize i = 0; i < batch->n_labels; i++) {
        json_array_append_new(names, json_string(batch->labels[i].name));
        json_array_append_new(values, json_string(batch->labels[i].value));
    }
    json_object_set_new(row, "labels.name", names);
    json_object_set_new(row, "labels.value", values);
}

static void
append_dump(const Dump *dump, GString *body)
{
    const BatchDump *facts = &dump->batch->dump;
    const char *version = label_of(dump->batch, "version");
    json_t *row =
        json_pack("{s:s, s:s, s:I, s:o, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:o, s:I, s:o, s:i}", "day",
                  dump->day, "service", facts->service, "time", (json_int_t)facts->time, "target",
                  json_unsigned(dump->target), "base", (json_int_t)dump->base, "id", facts->id, "host", facts->host,
                  "version", version[0] != '\0' ? version : facts->build_id, "zone", label_of(dump->batch, "zone"),
                  "program", facts->program, "build", facts->build_id, "pid", json_unsigned(facts->pid), "start",
                  json_unsigned(facts->start), "since", (json_int_t)facts->since, "period",
                  json_unsigned(facts->period), "stacks", (json_int_t)dump->batch->n_stacks, "folded",
                  json_unsigned(facts->folded), "cumulative", dump->values[0] >= 0 ? 1 : 0);
    add_totals(row, dump);
    add_metrics(row, dump->batch);
    add_labels(row, dump->batch);
    append_json(body, row);
}

static void
append_ledger(const Dump *dump, GString *body)
{
    for (gsize i = 0; i < dump->batch->n_ledger; i++) {
        const BatchLedgerLine *line = &dump->batch->ledger[i];
        append_json(body, json_pack("{s:s, s:s, s:I, s:o, s:s, s:I, s:I, s:I}", "day", dump->day, "service",
                                    dump->batch->dump.service, "time", (json_int_t)dump->batch->dump.time, "target",
                                    json_unsigned(dump->target), "line", line->name, "bytes", (json_int_t)line->bytes,
                                    "low", (json_int_t)line->low, "high", (json_int_t)line->high));
    }
}

/* ---- one dump ---- */

/* The previous dump of TARGET, if a dump at TIME can be written as changes of it; or NULL. */
static const Latest *
find_before(const ClickhouseRows *rows, guint64 target, gint64 time)
{
    const Latest *latest = g_hash_table_lookup(rows->targets, &target);
    gboolean follows =
        latest != NULL && time > latest->time && time - latest->base < CLICKHOUSE_FULL_SECONDS * (gint64)G_USEC_PER_SEC;
    return follows ? latest : NULL;
}

static void
forget_target(ClickhouseRows *rows, guint64 target)
{
    const Latest *latest = g_hash_table_lookup(rows->targets, &target);
    rows->n_known -= latest != NULL ? g_hash_table_size(latest->stacks) : 0;
    g_hash_table_remove(rows->targets, &target);
}

/* Forgets the process with the most stacks, so that a user's processes with many stacks do not displace those of
 * others. */
static void
forget_largest(ClickhouseRows *rows)
{
    GHashTableIter each;
    gpointer target, latest;
    guint64 largest = 0;
    guint most = 0;
    g_hash_table_iter_init(&each, rows->targets);
    while (g_hash_table_iter_next(&each, &target, &latest)) {
        guint n = g_hash_table_size(((const Latest *)latest)->stacks);
        if (n >= most) {
            most = n;
            largest = *(const guint64 *)target;
        }
    }
    forget_target(rows, largest);
}

static void
remember(ClickhouseRows *rows, const Dump *dump, GHashTable *stacks)
{
    Latest *latest = g_new(Latest, 1);
    *latest = (Latest){dump->base, dump->batch->dump.time, stacks};
    forget_target(rows, dump->target);
    rows->n_known += g_hash_table_size(stacks);
    g_hash_table_insert(rows->targets, key_of(dump->target), latest);
    while (rows->n_known > rows->most_known || g_hash_table_size(rows->targets) > TARGETS_MAX)
        forget_largest(rows);
}

void
clickhouse_rows_add(ClickhouseRows *rows, const Batch *batch, ClickhouseBodies *bodies)
{
    guint64 target = clickhouse_target(batch);
    const Latest *before = find_before(rows, target, batch->dump.time);
    Dump dump = {.batch = batch, .target = target, .base = before != NULL ? before->base : batch->dump.time};
    dump.day = day_of(dump.base);
    for (gsize i = 0; i < CLICKHOUSE_VALUES; i++)
        dump.values[i] = batch_value(batch, clickhouse_values[i]);
    GHashTable *stacks = add_samples(rows, &dump, before != NULL ? before->stacks : NULL, bodies);
    append_ledger(&dump, bodies->ledger);
    append_dump(&dump, bodies->dump);
    remember(rows, &dump, stacks);
    g_free(dump.day);
}
