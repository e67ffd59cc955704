/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/log-reader.h"

#include <gio/gio.h>
#include <pthread.h>
#include <string.h>

/* The output of one run of a reader. */
typedef struct {
    GPtrArray *samples;
    StatsReport report;
} Result;

static gboolean
keep(StatsSample *sample, gpointer data, GError **error)
{
    g_ptr_array_add(data, stats_sample_ref(sample));
    return TRUE;
}

static void
result_clear(Result *result)
{
    g_clear_pointer(&result->samples, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Result, result_clear)

static Result
read_pieces(const char *text, gsize length, gsize piece)
{
    Result result = {.samples = g_ptr_array_new_with_free_func((GDestroyNotify)stats_sample_unref)};
    g_autoptr(StatsReader) reader = stats_reader_new(keep, result.samples);
    g_autoptr(GError) error = NULL;
    for (gsize at = 0; at < length; at += piece)
        g_assert_true(stats_reader_feed(reader, text + at, MIN(piece, length - at), &error));
    g_assert_true(stats_reader_finish(reader, &result.report, &error));
    g_assert_no_error(error);
    return result;
}

static Result
read_text(const char *text)
{
    return read_pieces(text, strlen(text), 64 * 1024);
}

static char *
data_path(const char *name)
{
    return g_build_filename(TEST_DATA, "stats", name, NULL);
}

static gboolean
append_chunk(GInputStream *stream, GString *text)
{
    char chunk[4096];
    gssize got = g_input_stream_read(stream, chunk, sizeof(chunk), NULL, NULL);
    g_assert_cmpint(got, >=, 0);
    g_string_append_len(text, chunk, got);
    return got > 0;
}

static char *
data_text(const char *name)
{
    g_autofree char *path = data_path(name);
    g_autoptr(GFile) file = g_file_new_for_path(path);
    g_autoptr(GInputStream) packed = G_INPUT_STREAM(g_file_read(file, NULL, NULL));
    g_assert_nonnull(packed);
    g_autoptr(GConverter) converter = G_CONVERTER(g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP));
    g_autoptr(GInputStream) stream = g_converter_input_stream_new(packed, converter);
    g_autoptr(GString) text = g_string_new(NULL);
    while (append_chunk(stream, text)) {
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static uint64_t
total(const StatsSample *sample, StatsMetric metric)
{
    return stats_values_or(sample->totals, metric, G_MAXUINT64);
}

static uint64_t
of_arena(const StatsSample *sample, guint index, StatsMetric metric)
{
    const StatsArena *arena = stats_sample_find(sample, index);
    g_assert_nonnull(arena);
    return stats_values_or(arena->values, metric, G_MAXUINT64);
}

static uint64_t
sum_of(const StatsTable *table, StatsMetric metric)
{
    uint64_t sum = 0;
    for (guint i = 0; i < table->count; i++)
        sum += stats_values_or(stats_table_row(table, i), metric, 0);
    return sum;
}

/* Numbers taken from the files by other means (a regular expression, Python's json). */
typedef struct {
    const char *file;
    const char *version;
    uint64_t allocated, active, mapped;       /* of the process */
    uint64_t allocated_1, active_1, mapped_1; /* of arena 1 */
} Expected;

static const Expected expected[] = {
    {"console-3.6.0.log.gz", "3.6.0", 6174400, 6316032, 12582912, 2851872, 2945024, 4194304},
    {"console-4.0.4.log.gz", "4.0.4", 5222000, 5599232, 10485760, 2079552, 2203648, 4194304},
    {"console-4.5.0.log.gz", "4.5.0", 5289216, 5615616, 10485760, 2089792, 2220032, 4194304},
    {"console-5.0.1.log.gz", "5.0.1", 5222392, 5480448, 9674752, 3938688, 4083712, 6180864},
    {"console-5.1.0.log.gz", "5.1.0", 5193720, 5537792, 9736192, 2079552, 2203648, 4300800},
    {"console-5.2.1.log.gz", "5.2.1", 5203368, 5550080, 9748480, 2089152, 2215936, 4313088},
    {"console-5.3.0.log.gz", "5.3.0", 5323840, 5607424, 9801728, 3946944, 4071424, 6168576},
    {"console-5.3.1.log.gz", "5.3.1", 5064048, 5316608, 9945088, 1956096, 2097152, 4255744},
    {"console-head.log.gz", "5.3.1-47", 5075728, 5283840, 9957376, 3833056, 3956736, 6496256},
    {"console-4.5.0-json.log.gz", "4.5.0", 5228672, 5607424, 10485760, 2079168, 2215936, 4194304},
    {"console-5.2.1-json.log.gz", "5.2.1", 5222440, 5541888, 9736192, 2079552, 2203648, 4300800},
    {"console-5.3.0-json.log.gz", "5.3.0", 5326144, 5619712, 9814016, 2081216, 2215936, 4313088},
};

static void
check_numbers(const StatsSample *sample, const Expected *row)
{
    g_assert_true(g_str_has_prefix(sample->version, row->version));
    g_assert_cmpuint(total(sample, STATS_ALLOCATED), ==, row->allocated);
    g_assert_cmpuint(total(sample, STATS_ACTIVE), ==, row->active);
    g_assert_cmpuint(total(sample, STATS_MAPPED), ==, row->mapped);
    g_assert_cmpuint(total(sample, STATS_PAGE), ==, 4096);
    g_assert_cmpuint(of_arena(sample, 1, STATS_ARENA_ALLOCATED), ==, row->allocated_1);
    g_assert_cmpuint(of_arena(sample, 1, STATS_ARENA_ACTIVE), ==, row->active_1);
    g_assert_cmpuint(of_arena(sample, 1, STATS_ARENA_MAPPED), ==, row->mapped_1);
}

/* jemalloc's own numbers add up, so what we read must: columns that slip would not. */
static void
check_sums(const StatsSample *sample)
{
    const StatsMetric added[] = {STATS_ARENA_ALLOCATED, STATS_ARENA_ACTIVE, STATS_ARENA_SMALL_NMALLOC,
                                 STATS_ARENA_LARGE_NDALLOC, STATS_ARENA_DIRTY_PURGED};
    for (gsize i = 0; i < G_N_ELEMENTS(added); i++)
        g_assert_cmpuint(of_arena(sample, 0, added[i]) + of_arena(sample, 1, added[i]), ==,
                         of_arena(sample, STATS_ARENA_MERGED, added[i]));
    g_assert_cmpuint(total(sample, STATS_ALLOCATED), ==, of_arena(sample, STATS_ARENA_MERGED, STATS_ARENA_ALLOCATED));
    for (guint i = 0; i < sample->arenas->len; i++) {
        const StatsArena *arena = sample->arenas->pdata[i];
        g_assert_cmpuint(sum_of(arena->bins, STATS_BIN_ALLOCATED), ==,
                         of_arena(sample, arena->index, STATS_ARENA_SMALL_ALLOCATED));
        uint64_t large = of_arena(sample, arena->index, STATS_ARENA_LARGE_ALLOCATED) +
                         stats_values_or(arena->values, STATS_ARENA_HUGE_ALLOCATED, 0);
        g_assert_cmpuint(sum_of(arena->large, STATS_LARGE_ALLOCATED), >=, large);
        /* From 5.3.1 on an arena counts the pages of large allocations, its classes count whole classes. */
        if (!g_str_has_prefix(sample->version, "5.3.1"))
            g_assert_cmpuint(sum_of(arena->large, STATS_LARGE_ALLOCATED), ==, large);
        g_assert_cmpuint(sum_of(arena->bins, STATS_BIN_NMALLOC), ==,
                         of_arena(sample, arena->index, STATS_ARENA_SMALL_NMALLOC));
    }
}

static void
test_versions(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_test_message("%s", expected[i].file);
        g_autofree char *path = data_path(expected[i].file);
        g_auto(Result) result = {.samples = g_ptr_array_new_with_free_func((GDestroyNotify)stats_sample_unref)};
        g_autoptr(GError) error = NULL;
        g_assert_true(log_reader_read(path, keep, result.samples, &result.report, &error));
        g_assert_cmpuint(result.samples->len, ==, 2);
        g_assert_cmpuint(result.report.truncated + result.report.damaged, ==, 0);
        check_numbers(result.samples->pdata[0], &expected[i]);
        check_sums(result.samples->pdata[0]);
        check_sums(result.samples->pdata[1]);
    }
}

static void
check_same_table(const StatsTable *one, const StatsTable *other)
{
    g_assert_true((one == NULL) == (other == NULL));
    if (one == NULL)
        return;
    g_assert_cmpuint(one->count, ==, other->count);
    gsize row = sizeof(StatsValues) + stats_scope_count(one->scope) * sizeof(uint64_t);
    g_assert_cmpmem(one->rows, one->count * row, other->rows, other->count * row);
}

static void
check_same(const StatsSample *one, const StatsSample *other)
{
    gsize totals = sizeof(StatsValues) + stats_scope_count(STATS_SCOPE_TOTALS) * sizeof(uint64_t);
    gsize values = sizeof(StatsValues) + stats_scope_count(STATS_SCOPE_ARENA) * sizeof(uint64_t);
    g_assert_cmpmem(one->totals, totals, other->totals, totals);
    g_assert_cmpuint(one->arenas->len, ==, other->arenas->len);
    g_assert_cmpint(one->time_us, ==, other->time_us);
    check_same_table(one->mutexes, other->mutexes);
    for (guint i = 0; i < one->arenas->len; i++) {
        const StatsArena *a = one->arenas->pdata[i];
        const StatsArena *b = other->arenas->pdata[i];
        g_assert_cmpuint(a->index, ==, b->index);
        g_assert_cmpmem(a->values, values, b->values, values);
        check_same_table(a->bins, b->bins);
        check_same_table(a->large, b->large);
        check_same_table(a->mutexes, b->mutexes);
    }
}

/* Wherever the pieces are cut, the samples are the same. */
static void
test_pieces(void)
{
    const gsize pieces[] = {1, 7, 4093};
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_autofree char *text = data_text(expected[i].file);
        g_auto(Result) whole = read_text(text);
        for (gsize j = 0; j < G_N_ELEMENTS(pieces); j++) {
            g_auto(Result) cut = read_pieces(text, strlen(text), pieces[j]);
            g_assert_cmpuint(cut.samples->len, ==, whole.samples->len);
            for (guint k = 0; k < cut.samples->len; k++)
                check_same(cut.samples->pdata[k], whole.samples->pdata[k]);
        }
    }
}

/* From the first marker to the last line of the first snapshot. */
static char *
first_snapshot(const char *file)
{
    g_autofree char *text = data_text(file);
    char *begin = strstr(text, "___ Begin");
    char *end = strstr(begin, "--- End jemalloc statistics ---\n");
    return g_strndup(begin, (gsize)(end - begin) + strlen("--- End jemalloc statistics ---\n"));
}

static char *
prefixed(const char *text, const char *format)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GString) out = g_string_new(NULL);
    for (guint i = 0; lines[i] != NULL && (lines[i][0] != '\0' || lines[i + 1] != NULL); i++) {
        g_autofree char *second = g_strdup_printf("%02u", i / 100);
        g_auto(GStrv) parts = g_strsplit(format, "SS", 2);
        g_string_append_printf(out, "%s%s%s%s\n", parts[0], second, parts[1] != NULL ? parts[1] : "", lines[i]);
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static void
test_prefixes(void)
{
    static const struct {
        const char *format;
        const char *stream;
        gboolean timed;
    } loggers[] = {
        {"2026-11-20T21:13:SSZ app[12]: ", "app[12]:", TRUE},
        {"2026-11-20 21:13:SS,123 +00:00 [INFO] ", "[INFO]", TRUE},
        {"Nov 20 2026 21:13:SS GMT: INFO (alloc): (jem.c:123) ", ": INFO (alloc): (jem.c:123)", TRUE},
        {"345:M 20 Nov 2026 21:13:SS.000 UTC * ", "345:M  *", TRUE},
        {"17953200SS.25 ", NULL, TRUE},
        {"Nov 20 21:13:SS host app[7]: ", "host app[7]:", FALSE},
        {"[SS] ", "[##]", FALSE},
    };
    g_autofree char *raw = first_snapshot("console-5.3.0.log.gz");
    g_auto(Result) plain = read_text(raw);
    for (gsize i = 0; i < G_N_ELEMENTS(loggers); i++) {
        g_test_message("%s", loggers[i].format);
        g_autofree char *text = prefixed(raw, loggers[i].format);
        g_auto(Result) result = read_text(text);
        g_assert_cmpuint(result.samples->len, ==, 1);
        StatsSample *sample = result.samples->pdata[0];
        g_assert_cmpstr(sample->stream, ==, loggers[i].stream);
        g_assert_cmpint(sample->time_us != STATS_TIME_UNKNOWN, ==, loggers[i].timed);
        sample->time_us = STATS_TIME_UNKNOWN;
        check_same(sample, plain.samples->pdata[0]);
    }
}

static void
test_time(void)
{
    g_autofree char *raw = first_snapshot("console-5.3.0.log.gz");
    g_autofree char *aerospike = g_strconcat("---------- Nov 20 2026 21:13:58 GMT ----------\n", raw, NULL);
    g_auto(Result) dated = read_text(aerospike);
    const StatsSample *sample = dated.samples->pdata[0];
    g_assert_cmpint(sample->time_us, ==, G_GINT64_CONSTANT(1795209238) * G_USEC_PER_SEC);
    g_auto(Result) undated = read_text(raw);
    sample = undated.samples->pdata[0];
    g_assert_cmpint(sample->time_us, ==, STATS_TIME_UNKNOWN);
}

/* Line by line from ONE and OTHER in turn. */
static char *
interleave(const char *one, const char *other)
{
    g_auto(GStrv) a = g_strsplit(one, "\n", -1);
    g_auto(GStrv) b = g_strsplit(other, "\n", -1);
    g_autoptr(GString) out = g_string_new(NULL);
    guint i = 0, j = 0;
    while (a[i] != NULL || b[j] != NULL) {
        if (a[i] != NULL)
            g_string_append_printf(out, "%s\n", a[i++]);
        if (b[j] != NULL)
            g_string_append_printf(out, "%s\n", b[j++]);
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static void
test_two_processes(void)
{
    g_autofree char *one = first_snapshot("console-5.3.0.log.gz");
    g_autofree char *other = first_snapshot("console-4.5.0.log.gz");
    g_autofree char *one_logged = prefixed(one, "2026-11-20T21:13:SSZ app[12]: ");
    g_autofree char *other_logged = prefixed(other, "2026-11-20T21:13:SSZ app[13]: ");
    g_autofree char *text = interleave(one_logged, other_logged);
    g_auto(Result) result = read_text(text);
    g_assert_cmpuint(result.samples->len, ==, 2);
    for (guint i = 0; i < 2; i++) {
        const StatsSample *sample = result.samples->pdata[i];
        gboolean new = g_str_equal(sample->stream, "app[12]:");
        g_assert_cmpuint(total(sample, STATS_ALLOCATED), ==, new ? 5323840 : 5289216);
        check_sums(sample);
    }
}

/* Without anything that tells them apart, neither may be handed out. */
static void
test_two_processes_raw(void)
{
    g_autofree char *one = first_snapshot("console-5.3.0.log.gz");
    g_autofree char *other = first_snapshot("console-4.5.0.log.gz");
    g_autofree char *text = interleave(one, other);
    g_auto(Result) result = read_text(text);
    g_assert_cmpuint(result.samples->len, ==, 0);
    g_assert_cmpuint(result.report.truncated + result.report.damaged, ==, 2);
}

/* The second's Begin and all of its text before the first's End: whatever closes, it is not whole. */
static void
test_two_processes_nested(void)
{
    g_autofree char *one = first_snapshot("console-5.3.0.log.gz");
    char *tail = strstr(one, "arenas[0]:");
    g_autofree char *head = g_strndup(one, (gsize)(tail - one));
    g_autofree char *inner = g_strconcat(head, "___ Begin jemalloc statistics ___\nVersion: 4.5.0\n", tail, NULL);
    g_autofree char *text =
        g_strconcat(inner, "Allocated: 1, active: 2, mapped: 3\n", "--- End jemalloc statistics ---\n", NULL);
    g_auto(Result) result = read_text(text);
    g_assert_cmpuint(result.samples->len, ==, 0);
    g_assert_cmpuint(result.report.truncated, ==, 1);
    g_assert_cmpuint(result.report.damaged, ==, 1);
}

/* A process dies while it prints, its successor prints a whole one. */
static void
test_crash_between(void)
{
    g_autofree char *one = first_snapshot("console-5.3.0.log.gz");
    g_autofree char *half = g_strndup(one, strlen(one) / 2);
    g_autofree char *text = g_strconcat(half, "\nstarting again\n", one, NULL);
    g_auto(Result) result = read_text(text);
    g_assert_cmpuint(result.samples->len, ==, 1);
    g_assert_cmpuint(result.report.truncated + result.report.damaged, ==, 1);
    g_assert_cmpuint(result.report.first_left_out, ==, 1);
    check_sums(result.samples->pdata[0]);
}

static void
test_truncated(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_autofree char *text = data_text(expected[i].file);
        g_auto(Result) whole = read_text(text);
        const StatsSample *last = whole.samples->pdata[1];
        /* Anywhere from the second half of the last snapshot to just before its closing line. */
        gsize cut = strlen(text) - (strstr(text, "json") == NULL ? 200 : 8);
        g_auto(Result) result = read_pieces(text, cut, 1 << 20);
        g_assert_cmpuint(result.samples->len, ==, 1);
        g_assert_cmpuint(result.report.truncated + result.report.damaged, ==, 1);
        g_assert_cmpuint(result.report.first_left_out, ==, last->line);
        g_assert_cmpstr(result.report.why_left_out, !=, "");
    }
}

static void
test_damaged_row(void)
{
    g_autofree char *text = first_snapshot("console-5.3.0.log.gz");
    char *row = strstr(text, "bins:");
    row = strchr(strstr(row, "\n                  16 ") + 1, '\n');
    memmove(row - 60, row, strlen(row) + 1);
    g_auto(Result) result = read_text(text);
    g_assert_cmpuint(result.samples->len, ==, 0);
    g_assert_cmpuint(result.report.damaged, ==, 1);
}

static void
test_carriage_returns(void)
{
    g_autofree char *text = first_snapshot("console-5.2.1.log.gz");
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autofree char *dos = g_strjoinv("\r\n", lines);
    g_auto(Result) plain = read_text(text);
    g_auto(Result) result = read_text(dos);
    g_assert_cmpuint(result.samples->len, ==, 1);
    check_same(result.samples->pdata[0], plain.samples->pdata[0]);
}

/* Other threads' log lines are between those of the statistics. */
static void
test_other_lines(void)
{
    static const char *const files[] = {"console-4.0.4.log.gz", "console-5.3.0.log.gz", "console-head.log.gz",
                                        "console-4.5.0-json.log.gz", "console-5.2.1-json.log.gz"};
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
        g_test_message("%s", files[i]);
        g_autofree char *text = data_text(files[i]);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        g_autofree char *noisy = g_strjoinv(
            "\n2026-11-20 21:14:00.000 [DEBUG] Allocated: 12, active: 13\n    at svc.handle(svc.py:12)\n", lines);
        g_auto(Result) plain = read_text(text);
        g_auto(Result) result = read_text(noisy);
        g_assert_cmpuint(result.samples->len, ==, plain.samples->len);
        for (guint j = 0; j < result.samples->len; j++) {
            StatsSample *sample = result.samples->pdata[j];
            sample->time_us = ((StatsSample *)plain.samples->pdata[j])->time_us;
            check_same(sample, plain.samples->pdata[j]);
        }
    }
}

static gboolean
keep_last(StatsSample *sample, gpointer data, GError **error)
{
    StatsSample **last = data;
    g_clear_pointer(last, stats_sample_unref);
    *last = stats_sample_ref(sample);
    return TRUE;
}

/* More writers than a table of them may have space for: each has its own name and version. */
static void
test_many_writers(void)
{
    enum { WRITERS = 70000 };
    g_autoptr(StatsSample) last = NULL;
    g_autoptr(StatsReader) reader = stats_reader_new(keep_last, &last);

    for (guint i = 0; i < WRITERS; i++) {
        char letters[] = "aaaa";
        for (guint digit = 0, rest = i; digit < 4; digit++, rest /= 26)
            letters[digit] = (char)('a' + rest % 26);
        g_autofree char *prefix = g_strconcat("writer-", letters, NULL);
        g_autofree char *line =
            g_strdup_printf("%s {\"jemalloc\":{\"version\":\"%s\",\"stats\":{\"allocated\":1}}}\n", prefix, letters);
        g_assert_true(stats_reader_feed(reader, line, strlen(line), NULL));
        g_assert_nonnull(last);
        g_assert_cmpstr(last->stream, ==, prefix);
        g_assert_cmpstr(last->version, ==, letters);
    }
}

static void
test_subsets(void)
{
    static const char text[] =
        "___ Begin jemalloc statistics ___\n"
        "Allocated: 100, active: 200, metadata: 3 (n_thp 1), resident: 400, mapped: 500, retained: 6\n"
        "--- End jemalloc statistics ---\n";
    g_auto(Result) result = read_text(text);
    g_assert_cmpuint(result.samples->len, ==, 1);
    const StatsSample *sample = result.samples->pdata[0];
    uint64_t value;
    g_assert_null(sample->version);
    g_assert_cmpuint(sample->arenas->len, ==, 0);
    g_assert_null(sample->mutexes);
    g_assert_false(stats_values_get(sample->totals, STATS_PAGE, &value));
    g_assert_cmpuint(total(sample, STATS_METADATA_THP), ==, 1);
    g_assert_cmpuint(total(sample, STATS_RETAINED), ==, 6);
}

static void
test_wide_numbers(void)
{
    /* Two numbers that fill their columns touch each other. */
    static const char text[] = "___ Begin jemalloc statistics ___\nAllocated: 1, active: 2, mapped: 3\narenas[0]:\n"
                               "bins:           size ind    allocated      nmalloc      ndalloc    nrequests\n"
                               "                   8   0   1234567890123456789012345678901234567890123456789\n"
                               "--- End jemalloc statistics ---\n";
    g_auto(Result) result = read_text(text);
    g_assert_cmpuint(result.samples->len, ==, 1);
    const StatsArena *arena = stats_sample_find(result.samples->pdata[0], 0);
    const StatsValues *row = stats_table_row(arena->bins, 0);
    g_assert_cmpuint(stats_values_or(row, STATS_BIN_ALLOCATED, 0), ==, 1234567890);
    g_assert_cmpuint(stats_values_or(row, STATS_BIN_NMALLOC, 0), ==, 1234567890123);
    g_assert_cmpuint(stats_values_or(row, STATS_BIN_NREQUESTS, 0), ==, 7890123456789);
}

/* A heading that cannot be used, of another writer, does not change what the columns of a known one mean, nor where
 * they end. */
static void
test_unusable_heading(void)
{
    static const char begin[] = "___ Begin jemalloc statistics ___\nAllocated: 1, active: 2, mapped: 3\narenas[0]:\n";
    static const char heading[] = "bins:           size ind    allocated      nmalloc      ndalloc    nrequests\n";
    static const char row[] = "                   8   0         1000           22           33           44\n";
    static const char swapped[] = "bins:           size ind      ndalloc      nmalloc    allocated    nrequests";
    static const char end[] = "--- End jemalloc statistics ---\n";
    g_autofree char *far = g_strnfill(G_MAXUINT16, ' ');
    g_autoptr(GString) many = g_string_new("bins:");
    for (guint i = 0; i < 100; i++)
        g_string_append(many, " ndalloc");
    g_autofree char *too_long = g_strconcat(swapped, far, "x", NULL);
    const char *const unusable[] = {too_long, many->str};
    for (gsize i = 0; i < G_N_ELEMENTS(unusable); i++) {
        g_autofree char *text =
            g_strconcat(begin, heading, row, end, begin, unusable[i], "\n", end, begin, heading, row, end, NULL);
        g_auto(Result) result = read_text(text);
        g_assert_cmpuint(result.samples->len, ==, 3);
        const StatsArena *arena = stats_sample_find(result.samples->pdata[2], 0);
        g_assert_cmpuint(arena->bins->count, ==, 1);
        const StatsValues *values = stats_table_row(arena->bins, 0);
        g_assert_cmpuint(stats_values_or(values, STATS_BIN_ALLOCATED, 0), ==, 1000);
        g_assert_cmpuint(stats_values_or(values, STATS_BIN_NDALLOC, 0), ==, 33);
    }
}

/* 5.2.x and 5.3.0 print wrong mutex columns in JSON, and right ones in text. */
static void
test_mutex_columns(void)
{
    uint64_t value;
    g_autofree char *json = data_text("console-5.3.0-json.log.gz");
    g_auto(Result) wrong = read_text(json);
    const StatsSample *sample = wrong.samples->pdata[0];
    const StatsValues *ctl = stats_table_find(sample->mutexes, "ctl");
    g_assert_true(stats_values_get(ctl, STATS_MUTEX_OPS, &value));
    g_assert_false(stats_values_get(ctl, STATS_MUTEX_WAIT, &value));
    g_assert_false(stats_values_get(ctl, STATS_MUTEX_MAX_THREADS, &value));
    g_autofree char *text = data_text("console-5.3.0.log.gz");
    g_auto(Result) right = read_text(text);
    sample = right.samples->pdata[0];
    g_assert_true(stats_values_get(stats_table_find(sample->mutexes, "ctl"), STATS_MUTEX_WAIT, &value));
    g_assert_cmpuint(value, ==, 0);
}

static void
test_trusted_mutex_columns(void)
{
    static const char format[] = "{\"jemalloc\":{\"version\":\"%s\",\"stats\":{\"allocated\":1,\"mutexes\":{\"ctl\":{"
                                 "\"num_ops\":5,\"num_wait\":4}}},\"stats.arenas\":{}}}\n";
    static const struct {
        const char *version;
        gboolean trusted;
    } versions[] = {{"5.1.0-0-g", TRUE}, {"5.2.0-0-g", FALSE}, {"5.3.0-0-g", FALSE}, {"5.3.1-0-g", TRUE}};
    for (gsize i = 0; i < G_N_ELEMENTS(versions); i++) {
        uint64_t value = 0;
        g_autoptr(GString) text = g_string_new(format);
        g_string_replace(text, "%s", versions[i].version, 1);
        g_auto(Result) result = read_text(text->str);
        g_assert_cmpuint(result.samples->len, ==, 1);
        const StatsSample *sample = result.samples->pdata[0];
        g_assert_cmpint(stats_values_get(stats_table_find(sample->mutexes, "ctl"), STATS_MUTEX_WAIT, &value), ==,
                        versions[i].trusted);
    }
}

static void
test_json_oddities(void)
{
    static const char text[] =
        "{\"jemalloc\":{\"opt\":{\"narenas\":3,\"stats_print\":true,\"stats_print\":true,\"name\":\"a\\\"}b\"},"
        "\"stats\":{\"allocated\":1,\"allocated\":2,\"ratio\":0.5,\"new\":{\"deep\":[1,[2,{\"x\":\"]\"}]]}},\"stats."
        "arenas\":{\"7\":{\"nthreads\":1,\"small\":{\"allocated\":10},\"large\":{\"allocated\":5}}}}}{\"jemalloc\":{"
        "\"stats\":{\"allocated\":9},\"stats.arenas\":{}}}";
    for (gsize piece = 1; piece < 40; piece++) {
        g_auto(Result) result = read_pieces(text, strlen(text), piece);
        g_assert_cmpuint(result.samples->len, ==, 2);
        const StatsSample *first = result.samples->pdata[0];
        g_assert_cmpuint(total(first, STATS_ALLOCATED), ==, 2);
        g_assert_cmpuint(total(first, STATS_NARENAS), ==, 3);
        g_assert_cmpuint(of_arena(first, 7, STATS_ARENA_ALLOCATED), ==, 15);
        g_assert_cmpuint(total(result.samples->pdata[1], STATS_ALLOCATED), ==, 9);
    }
}

/* The JSON of a running redis is one line of 150 KB: longer than what is kept of a line. */
static void
test_long_line(void)
{
    g_autofree char *text = data_text("redis.json.gz");
    g_assert_cmpuint(strlen(text), >, 100000);
    g_auto(Result) json = read_pieces(text, strlen(text), 1000);
    g_assert_cmpuint(json.samples->len, ==, 1);
    const StatsSample *sample = json.samples->pdata[0];
    g_assert_cmpuint(of_arena(sample, STATS_ARENA_MERGED, STATS_ARENA_ALLOCATED), ==, total(sample, STATS_ALLOCATED));
}

enum { SNAPSHOTS_IN_A_LINE = 10000 };

static gpointer
read_crowded_line(gpointer data)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < SNAPSHOTS_IN_A_LINE; i++)
        g_string_append(text, "{\"jemalloc\":{\"stats\":{}}}");
    g_string_append_c(text, '\n');
    g_auto(Result) result = read_pieces(text->str, text->len, text->len);
    g_assert_cmpuint(result.samples->len, ==, SNAPSHOTS_IN_A_LINE);
    return NULL;
}

/* Each within the one before would take more stack than this thread has. */
static void
test_crowded_line(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    g_assert_cmpint(pthread_attr_init(&attributes), ==, 0);
    g_assert_cmpint(pthread_attr_setstacksize(&attributes, 512 * 1024), ==, 0);
    g_assert_cmpint(pthread_create(&thread, &attributes, read_crowded_line, NULL), ==, 0);
    g_assert_cmpint(pthread_join(thread, NULL), ==, 0);
    pthread_attr_destroy(&attributes);
}

/* Wherever the pieces of the line end: also within what a snapshot begins with. */
static void
test_crowded_line_in_pieces(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < SNAPSHOTS_IN_A_LINE; i++)
        g_string_append(text, "{\"jemalloc\":{\"stats\":{}}} ");
    g_string_append_c(text, '\n');
    for (gsize piece = 64 * 1024; piece < 64 * 1024 + 40; piece++) {
        g_auto(Result) result = read_pieces(text->str, text->len, piece);
        g_assert_cmpuint(result.samples->len, ==, SNAPSHOTS_IN_A_LINE);
        g_assert_cmpuint(result.report.truncated + result.report.damaged, ==, 0);
    }
}

static gboolean
refuse(StatsSample *sample, gpointer data, GError **error)
{
    g_set_error_literal(error, STATS_ERROR, STATS_ERROR_STOPPED, "enough");
    return FALSE;
}

static void
test_stop(void)
{
    g_autofree char *path = data_path("console-5.3.0.log.gz");
    g_autoptr(GError) error = NULL;
    StatsReport report = {.samples = 77};
    g_assert_false(log_reader_read(path, refuse, NULL, &report, &error));
    g_assert_error(error, STATS_ERROR, STATS_ERROR_STOPPED);
    g_assert_cmpuint(report.samples, ==, 77);
}

static void
test_missing_file(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(log_reader_read("/nonexistent/file", keep, NULL, NULL, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND);
    g_assert_nonnull(strstr(error->message, "/nonexistent/file"));
}

/* Arenas of small rows: with 1000 in each, 75 KB that are sent compressed would take 600 MB. */
static void
test_rows_are_bounded(void)
{
    enum { MOST = 10, JSON_ARENAS = 4, JSON_ROWS = 3 };
    for (guint most = MOST; most <= JSON_ARENAS * JSON_ROWS; most += JSON_ARENAS * JSON_ROWS - MOST) {
        g_autoptr(GString) json =
            g_string_new("{\"jemalloc\":{\"stats\":{\"allocated\":1,\"active\":1},\"stats.arenas\":{");
        g_autoptr(GPtrArray) samples = g_ptr_array_new_with_free_func((GDestroyNotify)stats_sample_unref);
        g_autoptr(StatsReader) reader = stats_reader_new(keep, samples);
        StatsReport report;
        for (guint i = 0; i < JSON_ARENAS; i++)
            g_string_append_printf(json, "%s\"%u\":{\"bins\":[{\"nmalloc\":1},{\"nmalloc\":1},{\"nmalloc\":1}]}",
                                   i > 0 ? "," : "", i);
        g_string_append(json, "}}}\n");
        stats_reader_limit(reader, most);
        g_assert_true(stats_reader_feed(reader, json->str, json->len, NULL));
        g_assert_true(stats_reader_finish(reader, &report, NULL));
        g_assert_cmpuint(samples->len, ==, most == MOST ? 0 : 1);
        g_assert_cmpstr(report.why_left_out, ==, most == MOST ? STATS_TOO_MANY_ROWS : "");
    }
}

/* The same of a file that has all tables. */
static void
test_rows_of_text_are_bounded(void)
{
    enum { MOST = 10 };
    g_autofree char *text = data_text("console-5.3.0.log.gz");
    g_autoptr(GPtrArray) samples = g_ptr_array_new_with_free_func((GDestroyNotify)stats_sample_unref);
    g_autoptr(StatsReader) reader = stats_reader_new(keep, samples);
    StatsReport report;
    stats_reader_limit(reader, MOST);
    g_assert_true(stats_reader_feed(reader, text, strlen(text), NULL));
    g_assert_true(stats_reader_finish(reader, &report, NULL));
    g_assert_cmpuint(samples->len, ==, 0);
    g_assert_cmpstr(report.why_left_out, ==, STATS_TOO_MANY_ROWS);
}

int
main(int argc, char **argv)
{
    g_setenv("TZ", "UTC", TRUE);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/reader/versions", test_versions);
    g_test_add_func("/stats/reader/pieces", test_pieces);
    g_test_add_func("/stats/reader/prefixes", test_prefixes);
    g_test_add_func("/stats/reader/time", test_time);
    g_test_add_func("/stats/reader/two-processes", test_two_processes);
    g_test_add_func("/stats/reader/two-processes-raw", test_two_processes_raw);
    g_test_add_func("/stats/reader/two-processes-nested", test_two_processes_nested);
    g_test_add_func("/stats/reader/crash-between", test_crash_between);
    g_test_add_func("/stats/reader/truncated", test_truncated);
    g_test_add_func("/stats/reader/damaged-row", test_damaged_row);
    g_test_add_func("/stats/reader/carriage-returns", test_carriage_returns);
    g_test_add_func("/stats/reader/other-lines", test_other_lines);
    g_test_add_func("/stats/reader/subsets", test_subsets);
    g_test_add_func("/stats/reader/wide-numbers", test_wide_numbers);
    g_test_add_func("/stats/reader/unusable-heading", test_unusable_heading);
    g_test_add_func("/stats/reader/mutex-columns", test_mutex_columns);
    g_test_add_func("/stats/reader/trusted-mutex-columns", test_trusted_mutex_columns);
    g_test_add_func("/stats/reader/json-oddities", test_json_oddities);
    g_test_add_func("/stats/reader/long-line", test_long_line);
    g_test_add_func("/stats/reader/many-writers", test_many_writers);
    g_test_add_func("/stats/reader/crowded-line", test_crowded_line);
    g_test_add_func("/stats/reader/crowded-line-in-pieces", test_crowded_line_in_pieces);
    g_test_add_func("/stats/reader/stop", test_stop);
    g_test_add_func("/stats/reader/missing-file", test_missing_file);
    g_test_add_func("/stats/reader/rows-are-bounded", test_rows_are_bounded);
    g_test_add_func("/stats/reader/rows-of-text-are-bounded", test_rows_of_text_are_bounded);
    return g_test_run();
}
