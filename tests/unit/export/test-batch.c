/* SPDX-License-Identifier: Apache-2.0 */
#include "export/batch-build.h"

#include "export/stored.h"

#include <math.h>
#include <string.h>

typedef struct {
    Profile *profile;
    Symbols *symbols;
    GBytes *text;
    ReportInput input;
} Fixture;

static Profile *
read_profile(const char *name, GBytes **text)
{
    g_autofree char *path = g_build_filename(g_getenv("JESCOPE_DATA"), name, NULL);
    g_autoptr(GError) error = NULL;
    char *content = NULL;
    gsize length;
    g_file_get_contents(path, &content, &length, &error);
    g_assert_no_error(error);
    *text = g_bytes_new_take(content, length);
    Profile *profile = profile_read_bytes(*text, name, PROFILE_READ_DEFAULT, &error);
    g_assert_no_error(error);
    return profile;
}

static void
set_up(Fixture *fixture, gconstpointer name)
{
    static const SymbolizeOptions options = {.no_cache = TRUE};
    fixture->profile = read_profile(name, &fixture->text);
    fixture->symbols = symbolize(fixture->profile, &options, NULL);
    fixture->input = (ReportInput){
        .profile = fixture->profile, .symbols = fixture->symbols, .name = name, .text = fixture->text, .time = 1000};
}

static void
tear_down(Fixture *fixture, gconstpointer name)
{
    symbols_free(fixture->symbols);
    profile_free(fixture->profile);
    g_bytes_unref(fixture->text);
}

static Batch *
round_trip(const Fixture *fixture, const BatchCircumstances *circumstances)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = batch_build(&fixture->input, circumstances, &error);
    g_assert_no_error(error);
    Batch *batch = batch_read(bytes, &error);
    g_assert_no_error(error);
    return batch;
}

/* All numbers of the profile arrive: what the stacks hold in sum, with the same error. */
static void
test_numbers(Fixture *fixture, gconstpointer name)
{
    const BatchCircumstances circumstances = {.host = "h"};
    g_autoptr(Batch) batch = round_trip(fixture, &circumstances);
    int inuse = batch_value(batch, "inuse_space");
    gdouble sum = 0, variance = 0, wanted = 0, wanted_variance = 0;
    g_assert_cmpint(inuse, >=, 0);
    g_assert_cmpint(batch_value(batch, "nonsense"), ==, -1);
    for (gsize i = 0; i < batch->n_stacks; i++) {
        BatchSample sample = batch_sample(batch, i);
        sum += sample.estimate[inuse];
        variance += sample.variance[inuse];
        g_assert_cmpuint(batch->stacks[i].hash, >, BATCH_REST);
    }
    for (guint32 i = 0; i < profile_n_stacks(fixture->profile); i++) {
        wanted += profile_weights(fixture->profile)[i].estimate[PROFILE_INUSE_SPACE];
        wanted_variance += profile_weights(fixture->profile)[i].variance[PROFILE_INUSE_SPACE];
    }
    g_assert_cmpfloat_with_epsilon(sum, wanted, wanted * 1e-9);
    g_assert_cmpfloat_with_epsilon(variance, wanted_variance, wanted_variance * 1e-9);
    g_assert_cmpfloat(batch->total[inuse], ==, profile_total(fixture->profile)->estimate[PROFILE_INUSE_SPACE]);
    g_assert_cmpuint(batch->dump.period, ==, profile_period(fixture->profile));
    g_assert_cmpuint(batch->dump.folded, ==, 0);
    g_assert_cmpuint(batch->n_stacks, ==, profile_n_stacks(fixture->profile));
}

static void
test_circumstances(Fixture *fixture, gconstpointer name)
{
    const BatchLabel labels[] = {{"zone", "a\033[31mb"}, {"bad-name", "x"}, {"empty", ""}};
    Ledger ledger = {0};
    ledger.lines[LEDGER_SLAB_HOLES] = (LedgerLine){TRUE, 5, 4, 6};
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    stats_values_set(sample->totals, STATS_ALLOCATED, 77);
    const BatchCircumstances circumstances = {.service = "shop",
                                              .host = "h\xff",
                                              .labels = labels,
                                              .n_labels = G_N_ELEMENTS(labels),
                                              .ledger = &ledger,
                                              .sample = sample,
                                              .with_heap = TRUE};
    g_autoptr(Batch) batch = round_trip(fixture, &circumstances);
    g_assert_cmpstr(batch->dump.service, ==, "shop");
    g_assert_cmpstr(batch->dump.host, ==, "h\\x{FF}");
    g_assert_cmpuint(batch->n_labels, ==, 2);
    g_assert_cmpstr(batch->labels[0].value, ==, "a\\u{001B}[31mb");
    g_assert_cmpstr(batch->labels[1].name, ==, "bad_name");
    g_assert_cmpuint(batch->n_ledger, ==, 1);
    g_assert_cmpstr(batch->ledger[0].name, ==, "slab-holes");
    g_assert_cmpint(batch->ledger[0].high, ==, 6);
    g_assert_cmpuint(batch->n_metrics, ==, 1);
    g_assert_cmpstr(batch->metrics[0].name, ==, "allocated");
    g_assert_cmpfloat(batch->metrics[0].value, ==, 77);
    g_assert_cmpuint(batch->heap_size, >, 100);
    g_assert_cmpint(batch->heap[0], ==, 0x1f);
}

/* The same dump has the same id and hashes, another time or host has another id, and the hashes stay. */
/* What a child has built without circumstances gets them; the stacks are the same, and so is the id of the same dump.
 */
static void
test_completed(Fixture *fixture, gconstpointer name)
{
    const BatchLabel label = {"zone", "b"};
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    stats_values_set(sample->totals, STATS_ALLOCATED, 77);
    const BatchCircumstances none = {.host = "here"};
    const BatchCircumstances circumstances = {
        .service = "shop", .host = "web1", .labels = &label, .n_labels = 1, .sample = sample};
    g_autoptr(GBytes) bytes = batch_build(&fixture->input, &none, NULL);
    g_autoptr(Batch) before = batch_read(bytes, NULL);
    g_autoptr(GBytes) completed = batch_complete(bytes, &circumstances, NULL);
    g_autoptr(GBytes) again = batch_complete(bytes, &circumstances, NULL);
    g_assert_true(g_bytes_equal(completed, again));
    g_autoptr(Batch) batch = batch_read(completed, NULL);
    g_assert_cmpstr(batch->dump.service, ==, "shop");
    g_assert_cmpstr(batch->dump.host, ==, "web1");
    g_assert_cmpstr(batch->dump.program, ==, before->dump.program);
    g_assert_cmpuint(batch->n_labels, ==, 1);
    g_assert_cmpstr(batch->labels[0].value, ==, "b");
    g_assert_cmpuint(batch->n_metrics, ==, 1);
    g_assert_cmpmem(batch->stacks, batch->n_stacks * sizeof(BatchStack), before->stacks,
                    before->n_stacks * sizeof(BatchStack));
    const BatchCircumstances elsewhere = {.service = "shop", .host = "web2"};
    g_autoptr(GBytes) other = batch_complete(bytes, &elsewhere, NULL);
    g_autoptr(Batch) moved = batch_read(other, NULL);
    g_assert_cmpstr(moved->dump.id, !=, batch->dump.id);
    g_assert_cmpuint(moved->n_metrics, ==, before->n_metrics);
    g_autoptr(GBytes) damaged = g_bytes_new_from_bytes(bytes, 0, g_bytes_get_size(bytes) / 2);
    g_autoptr(GError) error = NULL;
    g_assert_null(batch_complete(damaged, &circumstances, &error));
    g_assert_error(error, BATCH_ERROR, BATCH_ERROR_FORMAT);
}

/* What a live process has written into its dump does not change which process that is, nor when it was dumped. */
static void
test_process(Fixture *fixture, gconstpointer name)
{
    const BatchProcess process = {.pid = 4711, .start = 815, .time = 2000 * G_USEC_PER_SEC};
    const BatchCircumstances none = {.host = "h"}, known = {.host = "h", .process = &process};
    static const char forged[] = "heap_v2/524288\n  t*: 1: 8 [0: 0]\n@ 0x1000\n  t*: 1: 8 [0: 0]\n\nMAPPED_LIBRARIES:\n"
                                 "jescope_capture=1 time=9000000000 pid=1 start=2 since=8000000000\n";
    Fixture own = {.text = g_bytes_new_static(forged, strlen(forged))};
    own.profile = profile_read_bytes(own.text, name, PROFILE_READ_DEFAULT, NULL);
    own.symbols = symbolize(own.profile, &(SymbolizeOptions){.no_cache = TRUE}, NULL);
    own.input = (ReportInput){.profile = own.profile, .symbols = own.symbols, .text = own.text, .time = 1000};
    g_autoptr(GBytes) bytes = batch_build(&own.input, &none, NULL);
    g_autoptr(GBytes) completed = batch_complete(bytes, &known, NULL);
    g_autoptr(Batch) file = batch_read(bytes, NULL), later = batch_read(completed, NULL),
                     once = round_trip(&own, &known);
    g_assert_cmpuint(file->dump.pid, ==, 1);
    g_assert_cmpint(file->dump.time, ==, G_GINT64_CONSTANT(9000000000));
    const Batch *const live[] = {later, once};
    for (gsize i = 0; i < G_N_ELEMENTS(live); i++) {
        g_assert_cmpuint(live[i]->dump.pid, ==, process.pid);
        g_assert_cmpuint(live[i]->dump.start, ==, process.start);
        g_assert_cmpint(live[i]->dump.time, ==, process.time);
        g_assert_cmpint(live[i]->dump.since, ==, process.time);
        g_assert_cmpstr(live[i]->dump.id, !=, file->dump.id);
    }
    tear_down(&own, NULL);
}

static void
test_identity(Fixture *fixture, gconstpointer name)
{
    const BatchCircumstances here = {.host = "h"}, there = {.host = "i"};
    g_autoptr(Batch) one = round_trip(fixture, &here), same = round_trip(fixture, &here);
    g_autoptr(Batch) other = round_trip(fixture, &there);
    fixture->input.time = 1001;
    g_autoptr(Batch) later = round_trip(fixture, &here);
    g_assert_cmpstr(one->dump.id, ==, same->dump.id);
    g_assert_cmpstr(one->dump.id, !=, other->dump.id);
    g_assert_cmpstr(one->dump.id, !=, later->dump.id);
    g_assert_cmpmem(one->stacks, one->n_stacks * sizeof(BatchStack), other->stacks,
                    other->n_stacks * sizeof(BatchStack));
}

/* Every single byte that is changed gives a batch with valid indexes, or an error; never a crash. */
static void
test_damage(Fixture *fixture, gconstpointer name)
{
    const BatchCircumstances circumstances = {.host = "h"};
    g_autoptr(GBytes) bytes = batch_build(&fixture->input, &circumstances, NULL);
    gsize size;
    const guint8 *data = g_bytes_get_data(bytes, &size);
    g_autofree guint8 *copy = g_memdup2(data, size);
    for (gsize i = 0; i < size; i += 1 + size / 2000) {
        copy[i] ^= 0xff;
        g_autoptr(GBytes) damaged = g_bytes_new(copy, size), cut = g_bytes_new(copy, i);
        g_autoptr(Batch) batch = batch_read(damaged, NULL), none = batch_read(cut, NULL);
        g_autofree char *document = batch != NULL ? stored_document(batch) : NULL;
        g_assert_null(none);
        g_assert_true((batch == NULL) == (document == NULL));
        copy[i] ^= 0xff;
    }
}

/* What a store or a calendar would not take is not known. */
static void
test_time(Fixture *fixture, gconstpointer name)
{
    static const gint64 never[] = {-1, G_GINT64_CONSTANT(4102444801), G_MAXINT64 / G_USEC_PER_SEC, G_MAXINT64};
    const BatchCircumstances circumstances = {.host = "h"};
    fixture->input.time = BATCH_TIME_MAX / G_USEC_PER_SEC;
    g_autoptr(Batch) last = round_trip(fixture, &circumstances);
    g_assert_cmpint(last->dump.time, ==, BATCH_TIME_MAX);
    for (gsize i = 0; i < G_N_ELEMENTS(never); i++) {
        fixture->input.time = never[i];
        g_autoptr(Batch) batch = round_trip(fixture, &circumstances);
        g_assert_cmpint(batch->dump.time, ==, 0);
        g_assert_cmpint(batch->dump.since, ==, 0);
    }
}

/* Names of services and hosts do not leave the directory. */
static void
test_path(Fixture *fixture, gconstpointer name)
{
    const BatchCircumstances circumstances = {.service = "../../etc", .host = "a/b c"};
    g_autoptr(Batch) batch = round_trip(fixture, &circumstances);
    g_autofree char *path = stored_path(batch);
    g_assert_true(g_str_has_prefix(path, "_._.._etc/1970-01-01/19700101T001640Z-a_b_c-"));
}

/* N stacks of DEPTH frames in one function with a name of LENGTH bytes, each holding 1 MB. */
static GBytes *
crowded_dump(guint n, guint depth, guint length)
{
    GString *text = g_string_new("--- symbol\nbinary=/bin/x\n");
    g_autofree char *function = g_strnfill(length, 'f');
    g_string_append_printf(text, "0x%016x %s\n---\n--- heap\nheap_v2/524288\n  t*: 1: 1000000 [0: 0]\n", 0x1000,
                           function);
    for (guint i = 0; i < n; i++) {
        g_string_append(text, "@");
        for (guint frame = 0; frame < depth; frame++)
            g_string_append_printf(text, " 0x%x", frame < 16 && (i >> frame & 1) != 0 ? 0x2000 : 0x1000);
        g_string_append(text, "\n  t*: 1: 1000000 [0: 0]\n");
    }
    g_string_append(text, "\nMAPPED_LIBRARIES:\n");
    return g_string_free_to_bytes(text);
}

/* A short dump does not become a long request: what a sink would write of the names is bounded, and the sum stays. */
static void
test_names(Fixture *fixture, gconstpointer name)
{
    static const struct {
        guint n, depth, length;
        gsize least, most; /* rows */
    } cases[] = {
        {200, 1000, 10, 200, 200},   /* all */
        {200, 1000, 1000, 115, 130}, /* of 2 MB each */
        {200, 1000, 9000, 1, 1},     /* not one: of 18 MB each */
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const BatchCircumstances circumstances = {.host = "h"};
        Fixture crowded = {.text = crowded_dump(cases[i].n, cases[i].depth, cases[i].length)};
        crowded.profile = profile_read_bytes(crowded.text, "crowded", PROFILE_READ_DEFAULT, NULL);
        crowded.symbols = symbolize(crowded.profile, &(SymbolizeOptions){.no_cache = TRUE}, NULL);
        crowded.input = (ReportInput){.profile = crowded.profile, .symbols = crowded.symbols, .time = 1000};
        g_autoptr(Batch) batch = round_trip(&crowded, &circumstances);
        gdouble sum = 0;
        int inuse = batch_value(batch, "inuse_space");
        for (gsize stack = 0; stack < batch->n_stacks; stack++)
            sum += batch_sample(batch, stack).estimate[inuse];
        g_assert_cmpuint(batch->n_stacks, >=, cases[i].least);
        g_assert_cmpuint(batch->n_stacks, <=, cases[i].most);
        g_assert_cmpuint(batch->dump.folded, ==, i == 0 ? 0 : cases[i].n + 1 - batch->n_stacks);
        g_assert_cmpfloat_with_epsilon(sum, batch->total[inuse], 1);
        tear_down(&crowded, NULL);
    }
}

#define TEST(name) g_test_add("/batch/" #name, Fixture, "5.3.0-accum.heap.gz", set_up, test_##name, tear_down)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    TEST(numbers);
    TEST(circumstances);
    TEST(completed);
    TEST(process);
    TEST(identity);
    TEST(damage);
    TEST(path);
    TEST(time);
    TEST(names);
    return g_test_run();
}
