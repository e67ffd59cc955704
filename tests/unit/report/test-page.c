/* SPDX-License-Identifier: Apache-2.0 */
/* Page JSON: what is shown and what is hidden add up to what the profile has. */
#include "fixture.h"

#include "confine/thread-time.h"
#include "page/page.h"
#include "report/page-graph.h"
#include "report/page.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static json_t *
page(const Fixture *now, const Fixture *base, const ReportOptions *options)
{
    g_autofree char *text = fixture_report(now, base, "page", options);
    json_error_t error;
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &error);

    g_assert_cmpstr(value ? "" : error.text, ==, "");
    return value;
}

static json_int_t
at(json_t *block, const char *column, gsize i)
{
    json_t *value = json_array_get(json_object_get(block, column), i);

    g_assert_nonnull(value);
    return json_integer_value(value);
}

static gsize
rows_of(json_t *block, const char *column)
{
    return json_array_size(json_object_get(block, column));
}

static const char *
name_of(json_t *answer, json_int_t frame)
{
    return frame < 0 ? "all"
                     : json_string_value(
                           json_array_get(json_object_get(json_object_get(answer, "frames"), "name"), (gsize)frame));
}

/* The row of the frame NAME; it must exist. */
static gsize
find(json_t *answer, json_t *graph, const char *name)
{
    for (gsize i = 0; i < rows_of(graph, "frame"); i++)
        if (g_str_equal(name_of(answer, at(graph, "frame", i)), name))
            return i;
    g_assert_not_reached();
}

/* Totals are what is left below, shown or hidden, and what the frame holds itself; above the zoomed frame the rest is
 * not there. */
static void
check_sums(json_t *graph, const char *extent)
{
    gsize n = rows_of(graph, "parent");
    json_int_t path = json_integer_value(json_object_get(graph, "path"));
    json_t *hidden = json_object_get(graph, "hidden");
    g_autofree json_int_t *sums = g_new0(json_int_t, n);

    for (gsize i = 0; i < n; i++) {
        json_int_t parent = at(graph, "parent", i);
        g_assert_cmpint(parent, <, (json_int_t)i);
        g_assert_cmpint(at(graph, "level", i), ==, parent < 0 ? 0 : at(graph, "level", (gsize)parent) + 1);
        if (parent >= 0)
            sums[parent] += at(graph, extent, i);
    }
    for (gsize i = 0; i < rows_of(hidden, "row"); i++) {
        g_assert_cmpint(at(hidden, "count", i), >, 0);
        sums[at(hidden, "row", i)] += at(hidden, "total", i);
    }
    for (gsize i = (gsize)path; i < n && g_str_equal(extent, "total"); i++)
        g_assert_cmpint(llabs(at(graph, "total", i) - sums[i] - at(graph, "self", i)), <=, (json_int_t)n);
}

static void
test_graph(void)
{
    g_auto(Fixture) now = {0};
    ReportOptions options;

    fixture_init(&now, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    json_t *answer = page(&now, NULL, &options);
    json_t *graph = json_object_get(answer, "graph");
    gsize recursion = find(answer, graph, "recurse");
    check_sums(graph, "total");
    g_assert_cmpint(at(graph, "total", 0), ==, 640);
    g_assert_cmpint(at(graph, "other", 0), ==, 10);
    g_assert_cmpint(at(graph, "total", recursion), ==, 200);
    g_assert_cmpint(at(graph, "self", recursion), ==, 0);
    g_assert_cmpint(at(graph, "self", recursion + 1), ==, 200);
    g_assert_cmpuint(rows_of(json_object_get(graph, "hidden"), "row"), ==, 0);
    g_assert_cmpint(json_integer_value(json_object_get(graph, "hidden_nodes")), ==, 0);
    g_assert_null(json_object_get(graph, "base"));
    g_assert_null(json_object_get(answer, "empty"));
    json_decref(answer);
}

/* 40 of 640 bytes are less than one of 10 pixels; the fixture is narrower than what may be asked for. */
static void
test_hidden(void)
{
    g_auto(Fixture) now = {0};
    ReportOptions options;

    fixture_init(&now, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    options.page.width = 10;
    json_t *answer = page(&now, NULL, &options);
    json_t *graph = json_object_get(answer, "graph");
    json_t *hidden = json_object_get(graph, "hidden");
    check_sums(graph, "total");
    g_assert_cmpuint(rows_of(hidden, "row"), ==, 1);
    g_assert_cmpstr(name_of(answer, at(graph, "frame", (gsize)at(hidden, "row", 0))), ==, "main");
    g_assert_cmpint(at(hidden, "count", 0), ==, 1);
    g_assert_cmpint(at(hidden, "total", 0), ==, 40);
    json_decref(answer);

    options.page.width = 1000;
    options.page.depth = 1;
    answer = page(&now, NULL, &options);
    graph = json_object_get(answer, "graph");
    check_sums(graph, "total");
    g_assert_cmpuint(rows_of(graph, "parent"), ==, 2);
    g_assert_cmpint(at(json_object_get(graph, "hidden"), "count", 0), ==, 4);
    g_assert_cmpint(json_integer_value(json_object_get(graph, "hidden_nodes")), ==, 6);
    json_decref(answer);
}

static void
test_zoom(void)
{
    g_auto(Fixture) now = {0};
    ReportOptions options;

    fixture_init(&now, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    options.page.zoom =
        page_graph_key(page_graph_key(PAGE_GRAPH_ROOT, page_name_hash("main")), page_name_hash("recurse"));
    json_t *answer = page(&now, NULL, &options);
    json_t *graph = json_object_get(answer, "graph");
    g_assert_true(json_is_true(json_object_get(graph, "found")));
    g_assert_cmpint(json_integer_value(json_object_get(graph, "path")), ==, 2);
    g_assert_cmpuint(rows_of(graph, "parent"), ==, 4);
    g_assert_cmpstr(name_of(answer, at(graph, "frame", 2)), ==, "recurse");
    check_sums(graph, "total");
    json_decref(answer);

    options.page.zoom = 1;
    answer = page(&now, NULL, &options);
    graph = json_object_get(answer, "graph");
    g_assert_true(json_is_false(json_object_get(graph, "found")));
    g_assert_cmpint(json_integer_value(json_object_get(graph, "path")), ==, 0);
    json_decref(answer);
    /* The page computes it, too. */
    g_assert_cmphex(page_graph_key(PAGE_GRAPH_ROOT, page_name_hash("main")), ==,
                    G_GUINT64_CONSTANT(0x1a61fe70fa45f2b7));
}

/* A stack counts once, from the outermost recursion on. */
static void
test_function(void)
{
    g_auto(Fixture) now = {0};
    ReportOptions options;

    fixture_init(&now, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    options.page.function = "recurse";
    json_t *answer = page(&now, NULL, &options);
    json_t *callers = json_object_get(answer, "callers");
    json_t *callees = json_object_get(answer, "callees");
    g_assert_true(json_is_true(json_object_get(answer, "known")));
    g_assert_null(json_object_get(answer, "graph"));
    check_sums(callers, "total");
    check_sums(callees, "total");
    g_assert_cmpuint(rows_of(callers, "parent"), ==, 3);
    g_assert_cmpstr(name_of(answer, at(callers, "frame", 2)), ==, "main");
    g_assert_cmpuint(rows_of(callees, "parent"), ==, 3);
    g_assert_cmpstr(name_of(answer, at(callees, "frame", 2)), ==, "recurse");
    g_assert_cmpint(at(callers, "total", 2), ==, 200);
    g_assert_cmpint(at(callees, "total", 2), ==, 200);
    json_decref(answer);

    options.page.function = "no such function";
    answer = page(&now, NULL, &options);
    g_assert_true(json_is_false(json_object_get(answer, "known")));
    json_decref(answer);
}

static const char other_text[] = "--- symbol\n"
                                 "binary=/bin/app\n"
                                 "0x0000000000001000 malloc\n"
                                 "0x0000000000003000 main\n"
                                 "0x0000000000004000 recurse\n"
                                 "0x0000000000007000 gone\n"
                                 "---\n"
                                 "--- heap\n"
                                 "heap profile: 3: 700 [3: 700] @ heapprofile\n"
                                 "2: 200 [2: 200] @ 0x1000 0x4001 0x4001 0x3001\n"
                                 "1: 500 [1: 500] @ 0x1000 0x7001 0x3001\n"
                                 "\n"
                                 "MAPPED_LIBRARIES:\n"
                                 "00001000-00008000 r-xp 00000000 08:01 17 /bin/app\n";

static void
test_difference(void)
{
    g_auto(Fixture) now = {0}, base = {0};
    ReportOptions options;

    fixture_init(&now, fixture_text, PROFILE_READ_DEFAULT);
    fixture_init(&base, other_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    json_t *answer = page(&now, &base, &options);
    json_t *graph = json_object_get(answer, "graph");
    gsize gone = find(answer, graph, "gone");
    check_sums(graph, "extent");
    /* Without sampling there is no error, so that every change is one. */
    g_assert_cmpint(at(graph, "base", gone), ==, 500);
    g_assert_cmpint(at(graph, "total", gone), ==, 0);
    g_assert_cmpint(at(graph, "extent", gone), ==, 500);
    g_assert_cmpfloat(json_number_value(json_array_get(json_object_get(graph, "significance"), gone)), ==, -1000);
    g_assert_cmpint(at(graph, "extent", 0), ==, 640 + 500);
    g_assert_cmpfloat(
        json_number_value(json_array_get(json_object_get(graph, "significance"), find(answer, graph, "recurse"))), ==,
        0);
    g_assert_nonnull(json_object_get(json_object_get(answer, "table"), "flat_significance"));
    json_decref(answer);
}

static void
test_table_and_stacks(void)
{
    g_auto(Fixture) now = {0};
    ReportOptions options;

    fixture_init(&now, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    options.page.part = REPORT_PART_TABLE;
    options.limit = 2;
    json_t *answer = page(&now, NULL, &options);
    json_t *table = json_object_get(answer, "table");
    g_assert_null(json_object_get(answer, "graph"));
    g_assert_cmpint(at(table, "flat", 0), ==, 300);
    g_assert_cmpint(at(table, "flat", 1), ==, 200);
    g_assert_cmpint(json_integer_value(json_object_get(json_object_get(table, "hidden"), "total")), ==, 140);
    json_decref(answer);

    options.page.part = REPORT_PART_STACKS;
    answer = page(&now, NULL, &options);
    json_t *stacks = json_object_get(answer, "stacks");
    g_assert_cmpint(at(stacks, "total", 0), ==, 300);
    g_assert_cmpint(at(stacks, "other", 0), ==, 3);
    g_assert_cmpint(json_integer_value(json_object_get(json_object_get(stacks, "hidden"), "count")), ==, 2);
    json_t *frames = json_array_get(json_object_get(stacks, "frames"), 1);
    g_assert_cmpstr(name_of(answer, json_integer_value(json_array_get(frames, 2))), ==, "main");
    json_decref(answer);
}

static void
test_nothing(void)
{
    g_auto(Fixture) now = {0};
    ReportOptions options;
    g_autoptr(GRegex) nothing = g_regex_new("no such frame", 0, 0, NULL);

    fixture_init(&now, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    options.focus = nothing;
    json_t *answer = page(&now, NULL, &options);
    g_assert_nonnull(json_string_value(json_object_get(answer, "empty")));
    g_assert_cmpuint(rows_of(json_object_get(answer, "graph"), "parent"), ==, 1);
    json_decref(answer);
}

/* ---- page trees ---- */

static char *
cut(GBytes *tree, const ReportOptions *options, GError **error)
{
    g_autoptr(PageMaterial) material = page_material_open(tree, "a tree", error);
    const PageCut cut = {&options->page, options->limit, PAGE_ROWS_MAX};
    g_autoptr(GOutputStream) out = NULL;
    Writer *writer;

    if (!material)
        return NULL;
    out = g_memory_output_stream_new_resizable();
    writer = writer_new(out);
    page_write_cut(material, &cut, writer);
    g_assert_true(writer_finish(writer, NULL));
    return g_strndup(g_memory_output_stream_get_data(G_MEMORY_OUTPUT_STREAM(out)),
                     g_memory_output_stream_get_data_size(G_MEMORY_OUTPUT_STREAM(out)));
}

/* Pages that are cut from a tree are those of the report itself. */
static void
test_tree(void)
{
    static const ReportPage pages[] = {
        {.width = 1000, .depth = 256, .part = REPORT_PART_WHOLE},
        {.width = 1000, .depth = 2, .part = REPORT_PART_GRAPH},
        {.width = 10, .depth = 256, .part = REPORT_PART_ALL},
        {.width = 1000, .depth = 256, .part = REPORT_PART_STACKS},
        {.width = 1000, .depth = 256, .part = REPORT_PART_TABLE},
        {.width = 1000, .depth = 256, .part = REPORT_PART_GRAPH, .zoom = 1},
    };
    g_auto(Fixture) now = {0}, base = {0};
    ReportOptions options;

    fixture_init(&now, fixture_text, PROFILE_READ_DEFAULT);
    fixture_init(&base, other_text, PROFILE_READ_DEFAULT);
    for (guint with_base = 0; with_base < 2; with_base++) {
        report_options_init(&options);
        g_autoptr(GBytes) tree = fixture_report_bytes(&now, with_base ? &base : NULL, "page-tree", &options);
        for (guint i = 0; i < G_N_ELEMENTS(pages); i++) {
            options.page = pages[i];
            options.limit = i == 3 ? 2 : 0;
            g_autofree char *direct = fixture_report(&now, with_base ? &base : NULL, "page", &options);
            g_autofree char *from_tree = cut(tree, &options, NULL);
            g_assert_cmpstr(from_tree, ==, direct);
        }
    }
}

static void
test_damaged_tree(void)
{
    g_auto(Fixture) now = {0};
    ReportOptions options;

    fixture_init(&now, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    g_autoptr(GBytes) tree = fixture_report_bytes(&now, NULL, "page-tree", &options);
    gsize size = g_bytes_get_size(tree);
    for (gsize shorter = 0; shorter < size; shorter += 8) {
        g_autoptr(GBytes) part = g_bytes_new_from_bytes(tree, 0, shorter);
        g_autoptr(GError) error = NULL;
        g_assert_null(cut(part, &options, &error));
        g_assert_error(error, REPORT_ERROR, REPORT_ERROR_UNSUPPORTED);
    }
    /* Whatever one byte says, it is a page or an error. */
    for (gsize at = 0; at < size; at++) {
        g_autofree guint8 *bytes = g_memdup2(g_bytes_get_data(tree, NULL), size);
        bytes[at] ^= 0xff;
        g_autoptr(GBytes) damaged = g_bytes_new_take(g_steal_pointer(&bytes), size);
        g_autofree char *text = cut(damaged, &options, NULL);
        g_assert_true(text == NULL || *text == '{');
    }
}

/* A file of a few megabytes, in which thousands of runs had the same million labels, took minutes. */
static void
test_shared_labels(void)
{
    static const PageWeight weights[] = {{2, 1}, {1, 1}, {1, 1}};
    static const gdouble others[G_N_ELEMENTS(weights)];
    const guint32 labels[] = {0, 0, 0};
    PageRun runs[] = {{.parent = PROFILE_NONE, .after = 3, .end = PROFILE_NONE},
                      {.first = 0, .n = 2, .parent = 0, .after = 2, .depth = 2, .end = PROFILE_NONE},
                      {.first = 2, .n = 1, .parent = 0, .after = 3, .depth = 1, .end = PROFILE_NONE}};
    const PageTree tree = {.n_sides = 1,
                           .n_labels = G_N_ELEMENTS(labels),
                           .n_runs = G_N_ELEMENTS(runs),
                           .labels = labels,
                           .runs = runs,
                           .sides = {weights},
                           .ends = {weights}, /* none of them */
                           .others = others,
                           .end_others = others};

    g_assert_true(page_tree_is_sound(&tree, 1));
    runs[2].first = 1;
    g_assert_false(page_tree_is_sound(&tree, 1));
}

/* The minimum width of what is shown was doubled two thousand times, each of which took as long as the file is. */
static void
test_small_root(void)
{
    enum { CHILDREN = 100000, RUNS = CHILDREN + 1 };
    g_autofree guint32 *labels = g_new0(guint32, CHILDREN);
    g_autofree PageRun *runs = g_new0(PageRun, RUNS);
    g_autofree PageWeight *weights = g_new0(PageWeight, RUNS);
    g_autofree gdouble *others = g_new0(gdouble, RUNS);
    const PageGraphOptions options = {.width = 1000, .depth = 100, .rows_max = CHILDREN / 2};
    runs[0] = (PageRun){.parent = PROFILE_NONE, .after = RUNS, .end = PROFILE_NONE};
    weights[0].total = 1e-300;
    for (guint32 i = 1; i < RUNS; i++) {
        runs[i] = (PageRun){.first = i - 1, .n = 1, .after = i + 1, .depth = 1, .end = PROFILE_NONE};
        weights[i].total = 1e308;
    }
    const PageTree tree = {.n_sides = 1,
                           .n_labels = CHILDREN,
                           .n_runs = RUNS,
                           .labels = labels,
                           .runs = runs,
                           .sides = {weights},
                           .ends = {weights}, /* none of them */
                           .others = others,
                           .end_others = others};
    g_assert_true(page_tree_is_sound(&tree, 1));
    const gint64 begun_us = thread_time_us();
    PageGraph *graph = page_graph_new(&tree, NULL, &options);
    g_assert_cmpint(thread_time_us() - begun_us, <, G_USEC_PER_SEC);
    page_graph_free(graph);
}

static guint
count(const char *text, const char *part)
{
    guint n = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static const char hostile_text[] = "--- symbol\n"
                                   "binary=/bin/</script>app\n"
                                   "0x0000000000001000 malloc\n"
                                   "0x0000000000003000 </script><script>evil\x1b\xe2\x80\xae\n"
                                   "---\n"
                                   "--- heap\n"
                                   "heap profile: 1: 500 [1: 500] @ heapprofile\n"
                                   "1: 500 [1: 500] @ 0x1000 0x3001\n"
                                   "\n"
                                   "MAPPED_LIBRARIES:\n"
                                   "00001000-00008000 r-xp 00000000 08:01 17 /bin/</script>app\n";

/* The file runs its own script alone, whatever the names in it. */
static void
test_file(void)
{
    g_auto(Fixture) now = {0};
    ReportOptions options;
    g_autoptr(GBytes) built = page_part(PAGE_SCRIPT);

    if (!built) {
        g_test_skip("jescope was built without its page: esbuild is not installed");
        return;
    }
    fixture_init(&now, hostile_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    g_autofree char *text = fixture_report(&now, NULL, "html", &options);
    g_autofree char *script = g_strndup(g_bytes_get_data(built, NULL), g_bytes_get_size(built));
    g_assert_nonnull(strstr(text, script));
    g_assert_cmpuint(count(text, "<script"), ==, 2 + count(script, "<script"));
    g_assert_cmpuint(count(text, "</script"), ==, 2);
    g_assert_nonnull(strstr(text, "script-src 'sha256-"));
    g_assert_null(strstr(text, "unsafe"));
    g_assert_null(strstr(text, "/assets/"));
    char *data = strstr(text, "id=\"data\">") + strlen("id=\"data\">");
    *strstr(data, "</script>") = '\0';
    json_t *page = json_loads(data, JSON_REJECT_DUPLICATES, NULL);
    g_assert_nonnull(page);
    g_assert_nonnull(json_object_get(page, "graph"));
    g_assert_nonnull(json_object_get(page, "table"));
    g_assert_nonnull(json_object_get(page, "stacks"));
    g_assert_cmpstr(name_of(page, 0), ==, "</script><script>evil\\u{001B}\\u{202E}");
    json_decref(page);
}

enum {
    FUNCTIONS = 400,
    MARKS = 4000,      /* in the name of each */
    MOST_SECONDS = 10, /* of processor time; it took more than a minute */
};

/* A dump of another user has names of his choice, each of which is escaped. */
static void
test_file_with_many_marks(void)
{
    g_auto(Fixture) now = {0};
    ReportOptions options;
    g_autofree char *marks = g_strnfill(MARKS, '<');
    g_autoptr(GString) dump = g_string_new("--- symbol\nbinary=/bin/app\n");
    g_autoptr(GBytes) built = page_part(PAGE_SCRIPT);

    if (!built) {
        g_test_skip("jescope was built without its page: esbuild is not installed");
        return;
    }
    for (guint i = 1; i <= FUNCTIONS; i++)
        g_string_append_printf(dump, "0x%016x f%u%s\n", i << 12, i, marks);
    g_string_append(dump, "---\n--- heap\nheap profile: 1: 500 [1: 500] @ heapprofile\n");
    for (guint i = 1; i <= FUNCTIONS; i++)
        g_string_append_printf(dump, "1: 500 [1: 500] @ 0x%x\n", i << 12);
    g_string_append(dump, "\nMAPPED_LIBRARIES:\n00001000-00800000 r-xp 00000000 08:01 17 /bin/app\n");
    fixture_init(&now, dump->str, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    const gint64 begin_us = thread_time_us();
    g_autofree char *text = fixture_report(&now, NULL, "html", &options);
    g_assert_cmpint(thread_time_us() - begin_us, <, MOST_SECONDS * G_USEC_PER_SEC);
    g_assert_nonnull(strstr(text, "f400\\u003c\\u003c"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/page/graph", test_graph);
    g_test_add_func("/page/hidden", test_hidden);
    g_test_add_func("/page/zoom", test_zoom);
    g_test_add_func("/page/function", test_function);
    g_test_add_func("/page/difference", test_difference);
    g_test_add_func("/page/table-and-stacks", test_table_and_stacks);
    g_test_add_func("/page/tree", test_tree);
    g_test_add_func("/page/damaged-tree", test_damaged_tree);
    g_test_add_func("/page/shared-labels", test_shared_labels);
    g_test_add_func("/page/small-root", test_small_root);
    g_test_add_func("/page/nothing", test_nothing);
    g_test_add_func("/page/file", test_file);
    g_test_add_func("/page/file-with-many-marks", test_file_with_many_marks);
    return g_test_run();
}
