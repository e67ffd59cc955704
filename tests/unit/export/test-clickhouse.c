/* SPDX-License-Identifier: Apache-2.0 */
#include "export/batch-build.h"
#include "export/clickhouse-client.h"
#include "export/clickhouse-rows.h"
#include "export/clickhouse-schema.h"
#include "export/sql.h"

#include <jansson.h>
#include <string.h>

/* ---- text in SQL ---- */

static void
test_text(void)
{
    static const char *const cases[][2] = {
        {"", "''"},
        {"checkout-2.1", "'checkout-2.1'"},
        {"it's", "'it\\x27s'"},
        {"\\'", "'\\x5C\\x27'"},
        {"a\nb\t`\"%{x}", "'a\\x0Ab\\x09\\x60\\x22\\x25\\x7Bx\\x7D'"},
        {"\xe2\x98\x83\xff", "'\\xE2\\x98\\x83\\xFF'"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) sql = g_string_new(NULL);
        sql_append_text(sql, cases[i][0]);
        g_assert_cmpstr(sql->str, ==, cases[i][1]);
    }
}

static void
test_names(void)
{
    g_autofree char *longest = g_strnfill(64, 'a'), *longer = g_strnfill(65, 'a');
    g_assert_true(sql_is_name("jescope_2"));
    g_assert_true(sql_is_name(longest));
    static const char *const wrong[] = {"", "2a", "a.b", "a b", "a;", "a`", "a\n", "\xc3\xa4"};
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
        g_assert_false(sql_is_name(wrong[i]));
    g_assert_false(sql_is_name(longer));
}

/* ---- answers ---- */

/* What the server's own state is the cause of is never held against a batch. Texts of 18.16 and of 24.8. */
static void
test_blame(void)
{
    static const char *const of_the_server[] = {
        "Code: 243, e.displayText() = DB::Exception: Cannot reserve 1.00 MiB, not enough space, e.what() = "
        "DB::Exception\n",
        "Code: 75, e.displayText() = DB::ErrnoException: Cannot write to file: No space left on device, errno: 28",
        "Poco::Exception. Code: 1000, e.code() = 28, e.displayText() = File access error: no space left on device",
        "Code: 242, e.displayText() = DB::Exception: Table is in readonly mode",
        "Code: 999. Coordination::Exception: Session expired",
        "Code: 252, e.displayText() = DB::Exception: Too many parts (301). Merges are processing significantly slower "
        "than inserts",
    };
    static const char *const of_rows[] = {
        "Code: 27, e.displayText() = DB::Exception: Cannot parse input: expected { before: x",
        "Code: 241. DB::Exception: Memory limit (for query) exceeded",
        "Code: 252, e.displayText() = DB::Exception: Too many partitions for single INSERT block (more than 100)",
        "<html>502</html>",
        "",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(of_the_server); i++)
        g_assert_false(clickhouse_blames_rows(of_the_server[i]));
    for (gsize i = 0; i < G_N_ELEMENTS(of_rows); i++)
        g_assert_true(clickhouse_blames_rows(of_rows[i]));
}

/* ---- tables ---- */

static char *
schema_of(const ClickhouseSchema *schema)
{
    g_auto(GStrv) statements = clickhouse_schema_statements(schema);
    return g_strjoinv(";", statements);
}

static void
test_dialects(void)
{
    g_assert_cmpint(clickhouse_dialect("18.16.1"), ==, CLICKHOUSE_BASIC);
    g_assert_cmpint(clickhouse_dialect("20.3.2.1"), ==, CLICKHOUSE_BASIC);
    g_assert_cmpint(clickhouse_dialect("21.8.4.51"), ==, CLICKHOUSE_CODECS);
    g_assert_cmpint(clickhouse_dialect("26.9.1.1"), ==, CLICKHOUSE_CODECS);
    g_assert_cmpint(clickhouse_dialect("?"), ==, CLICKHOUSE_BASIC);
    const ClickhouseSchema basic = {.database = "d"}, codecs = {.database = "d", .dialect = CLICKHOUSE_CODECS};
    g_autofree char *old = schema_of(&basic), *current = schema_of(&codecs);
    g_assert_null(strstr(old, "CODEC"));
    g_assert_null(strstr(old, "LowCardinality"));
    g_assert_nonnull(strstr(current, "CODEC"));
    g_assert_nonnull(strstr(current, "LowCardinality"));
    g_assert_nonnull(strstr(old, "d.sample ("));
    g_assert_nonnull(strstr(old, "SETTINGS index_granularity"));
    g_assert_null(strstr(old, "Distributed"));
}

static void
test_cluster(void)
{
    const ClickhouseSchema several = {.database = "d", .cluster = "c"};
    const ClickhouseSchema replicated = {.database = "d", .cluster = "c", .replicated = TRUE};
    g_autofree char *plain = schema_of(&several), *doubled = schema_of(&replicated);
    g_assert_nonnull(strstr(plain, "Distributed(c, d, sample_local, target)"));
    g_assert_nonnull(strstr(plain, "d.sample_local ("));
    g_assert_null(strstr(plain, "Replicated"));
    g_assert_nonnull(strstr(doubled, "ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/d/dump', '{replica}')"));
}

/* ---- rows ---- */

#define START_S 1700000000

enum { MOST_KNOWN = 100000 };

static Batch *
batch_at(const char *file, gint64 time_s)
{
    static const SymbolizeOptions options = {.no_cache = TRUE};
    const BatchCircumstances circumstances = {.service = "a\\b", .host = "h"};
    g_autofree char *path = g_build_filename(g_getenv("JESCOPE_DATA"), file, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(Profile) profile = profile_read_file(path, PROFILE_READ_DEFAULT, &error);
    g_assert_no_error(error);
    g_autoptr(Symbols) symbols = symbolize(profile, &options, &error);
    const ReportInput input = {.profile = profile, .symbols = symbols, .name = file, .time = time_s};
    g_autoptr(GBytes) bytes = batch_build(&input, &circumstances, &error);
    g_assert_no_error(error);
    Batch *batch = batch_read(bytes, &error);
    g_assert_no_error(error);
    return batch;
}

/* Of one dump: stacks with samples, of a whole dump or changes, rows of stacks, and the base in seconds. */
typedef struct {
    guint whole, samples, stacks;
    gint64 base;
} Written;

static guint
count_lines(const char *text)
{
    guint n = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        n++;
    return n;
}

enum {
    HEAD = 2 + 1 + 3 + 4 + 8, /* day, service, hour, target */
    FIGURES = 4 * (8 + 4) + 8 + 8,
    SAMPLE = HEAD + 8 + 8 + 8 + FIGURES,
};

/* As ClickHouse reads RowBinary. */
static guint64
read_unsigned(const GString *body, gsize *at, gsize bytes)
{
    guint64 number = 0;
    g_assert_cmpuint(*at + bytes, <=, body->len);
    memcpy(&number, body->str + *at, bytes);
    *at += bytes;
    return GUINT64_FROM_LE(number);
}

static void
check_head(const GString *body, gsize *at, gint64 base_s)
{
    g_assert_cmpuint(read_unsigned(body, at, 2), ==, base_s / 86400);
    g_assert_cmpuint(read_unsigned(body, at, 1), ==, strlen("a\\b"));
    g_assert_cmpmem(body->str + *at, 3, "a\\b", 3);
    *at += 3;
    g_assert_cmpuint(read_unsigned(body, at, 4), ==, base_s / 3600);
    read_unsigned(body, at, 8);
}

static guint
count_samples(const GString *body, gint64 base_s, gint64 time_s)
{
    gsize at = 0;
    g_assert_cmpuint(body->len % SAMPLE, ==, 0);
    while (at < body->len) {
        check_head(body, &at, base_s);
        read_unsigned(body, &at, 8);
        g_assert_cmpuint(read_unsigned(body, &at, 8), ==, time_s * G_USEC_PER_SEC);
        g_assert_cmpuint(read_unsigned(body, &at, 8), ==, base_s * G_USEC_PER_SEC);
        at += FIGURES;
    }
    return (guint)(body->len / SAMPLE);
}

static guint
read_length(const GString *body, gsize *at)
{
    guint n = 0, shift = 0;
    guint8 byte;
    do {
        byte = (guint8)read_unsigned(body, at, 1);
        n |= (guint)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte > 0x7f);
    return n;
}

/* The stacks of the one row, in ascending order, and as many of each figure. */
static guint
count_whole(const GString *body, gint64 base_s)
{
    gsize at = 0;
    guint64 before = 0;
    if (body->len == 0)
        return 0;
    check_head(body, &at, base_s);
    g_assert_cmpuint(read_unsigned(body, &at, 8), ==, base_s * G_USEC_PER_SEC);
    guint n = read_length(body, &at);
    for (guint i = 0; i < n; i++) {
        guint64 hash = read_unsigned(body, &at, 8);
        g_assert_cmpuint(hash, >, before);
        before = hash;
    }
    for (guint figure = 0; figure < 10; figure++) {
        g_assert_cmpuint(read_length(body, &at), ==, n);
        at += n * (figure < 8 && figure % 2 != 0 ? 4 : 8);
    }
    g_assert_cmpuint(at, ==, body->len);
    return n;
}

static Written
write_rows(ClickhouseRows *rows, const char *file, gint64 time_s)
{
    g_autoptr(Batch) batch = batch_at(file, time_s);
    g_auto(ClickhouseBodies) bodies;
    clickhouse_bodies_init(&bodies);
    clickhouse_rows_add(rows, batch, &bodies);
    json_t *dump = json_loads(bodies.dump->str, 0, NULL);
    g_assert_nonnull(dump);
    g_assert_cmpint(json_integer_value(json_object_get(dump, "time")), ==, time_s * G_USEC_PER_SEC);
    g_assert_cmpstr(json_string_value(json_object_get(dump, "service")), ==, "a\\b");
    gint64 base = json_integer_value(json_object_get(dump, "base")) / G_USEC_PER_SEC;
    json_decref(dump);
    return (Written){count_whole(bodies.whole, base), count_samples(bodies.sample, base, time_s),
                     count_lines(bodies.stack->str), base};
}

#define ONE   "5.3.0-heap-lg19.heap.gz"
#define OTHER "redis-set.heap.gz"

static void
test_changes(void)
{
    g_autoptr(ClickhouseRows) rows = clickhouse_rows_new(MOST_KNOWN);
    Written first = write_rows(rows, ONE, START_S);
    g_assert_cmpuint(first.whole, ==, first.stacks);
    g_assert_cmpuint(first.whole, >, 10);
    g_assert_cmpuint(first.samples, ==, 0);
    g_assert_cmpint(first.base, ==, START_S);
    /* The same a minute later, and what is left when all is others: zeros for the old, the new ones. */
    Written same = write_rows(rows, ONE, START_S + 60);
    g_assert_cmpuint(same.whole + same.samples + same.stacks, ==, 0);
    g_assert_cmpint(same.base, ==, START_S);
    Written other = write_rows(rows, OTHER, START_S + 120);
    g_assert_cmpuint(other.samples, >, first.whole);
    g_assert_cmpuint(other.samples, ==, first.whole + other.stacks);
    g_assert_cmpuint(other.whole, ==, 0);
    g_assert_cmpint(other.base, ==, START_S);
}

static void
test_whole_again(void)
{
    g_autoptr(ClickhouseRows) rows = clickhouse_rows_new(MOST_KNOWN);
    Written first = write_rows(rows, ONE, START_S);
    /* After an hour. */
    Written later = write_rows(rows, ONE, START_S + CLICKHOUSE_FULL_SECONDS);
    g_assert_cmpuint(later.whole, ==, first.whole);
    g_assert_cmpuint(later.samples + later.stacks, ==, 0);
    g_assert_cmpint(later.base, ==, START_S + CLICKHOUSE_FULL_SECONDS);
    /* If the clock was set back, and if it is the same dump again. */
    g_assert_cmpuint(write_rows(rows, ONE, START_S).whole, ==, first.whole);
    g_assert_cmpuint(write_rows(rows, ONE, START_S).whole, ==, first.whole);
    /* After a failure, stacks included; on another day the stacks as well. */
    clickhouse_rows_forget(rows);
    Written again = write_rows(rows, ONE, START_S + 60);
    g_assert_cmpuint(again.whole, ==, first.whole);
    g_assert_cmpuint(again.stacks, ==, first.stacks);
    g_assert_cmpuint(write_rows(rows, ONE, START_S + 86400).stacks, ==, first.stacks);
}

/* Processes with many stacks displace each other, not those with few. */
static void
test_many_stacks(void)
{
    enum { MOST = 800 };
    g_autoptr(ClickhouseRows) rows = clickhouse_rows_new(MOST);
    Written first = write_rows(rows, ONE, START_S);
    g_autoptr(Batch) large = batch_at(OTHER, START_S);
    guint n = 0;
    g_assert_cmpuint(large->n_stacks, >, first.whole);
    g_assert_cmpuint(large->n_stacks + first.whole, <, MOST);
    for (guint i = 0; i < 2 * 10; i++) {
        g_auto(ClickhouseBodies) bodies;
        clickhouse_bodies_init(&bodies);
        large->dump.pid = i % 10 + 1;
        large->dump.time += i / 10 * 60 * G_USEC_PER_SEC;
        clickhouse_rows_add(rows, large, &bodies);
        n += bodies.whole->len > 0;
    }
    g_assert_cmpuint(n, >, 10); /* some of the second round are whole again */
    g_assert_cmpuint(write_rows(rows, ONE, START_S + 60).whole, ==, 0);
}

/* What ROWS writes of a process of USER that has the stacks of all others. */
static Written
write_rows_of(ClickhouseRows *rows, const char *user)
{
    const BatchLabel label = {"user", user};
    g_autoptr(Batch) batch = batch_at(ONE, START_S);
    g_auto(ClickhouseBodies) bodies;
    clickhouse_bodies_init(&bodies);
    const BatchLabel *own = batch->labels;
    batch->labels = &label;
    batch->n_labels = 1;
    clickhouse_rows_add(rows, batch, &bodies);
    batch->labels = own;
    batch->n_labels = 0;
    return (Written){count_whole(bodies.whole, START_S), count_samples(bodies.sample, START_S, START_S),
                     count_lines(bodies.stack->str), START_S};
}

/* Of each user, the names are sent and stored; a copy of the same files may have others. */
static void
test_users(void)
{
    g_autoptr(ClickhouseRows) rows = clickhouse_rows_new(MOST_KNOWN);
    Written one = write_rows_of(rows, "mallory"), other = write_rows_of(rows, "alice");
    g_assert_cmpuint(one.stacks, >, 10);
    g_assert_cmpuint(other.stacks, ==, one.stacks);
    g_assert_cmpuint(other.whole, ==, one.whole);
    g_assert_cmpuint(other.samples, ==, 0); /* they are two targets */
    g_assert_cmpuint(write_rows_of(rows, "alice").stacks, ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/clickhouse/text", test_text);
    g_test_add_func("/clickhouse/names", test_names);
    g_test_add_func("/clickhouse/blame", test_blame);
    g_test_add_func("/clickhouse/dialects", test_dialects);
    g_test_add_func("/clickhouse/cluster", test_cluster);
    g_test_add_func("/clickhouse/changes", test_changes);
    g_test_add_func("/clickhouse/whole", test_whole_again);
    g_test_add_func("/clickhouse/many-stacks", test_many_stacks);
    g_test_add_func("/clickhouse/users", test_users);
    return g_test_run();
}
