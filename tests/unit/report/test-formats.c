/* SPDX-License-Identifier: Apache-2.0 */
/* The formats for other programs, as those would read them; tests/live/test_formats.py hands them to the programs. */
#include "fixture.h"

#include "cli/report-arguments.h"
#include "report/callgraph.h"
#include "report/layout.h"

#include <jansson.h>
#include <string.h>

static json_t *
parse(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &error);

    g_assert_cmpstr(value ? "" : error.text, ==, "");
    return value;
}

static gint64
at(json_t *object, const char *first, const char *second, const char *third)
{
    json_t *value = json_object_get(object, first);

    value = second ? json_object_get(value, second) : value;
    value = third ? json_object_get(value, third) : value;
    g_assert_nonnull(value);
    return json_integer_value(value);
}

static void
test_names(void)
{
    g_auto(GStrv) words = g_strsplit(REPORT_FORMAT_WORDS, "|", -1);
    ReportGranularity by = REPORT_BY_FUNCTION;
    ReportSort sort = REPORT_SORT_FLAT;
    ProfileValue value = PROFILE_INUSE_SPACE;

    g_assert_cmpuint(g_strv_length(words), ==, report_n_formats);
    for (guint i = 0; i < report_n_formats; i++) {
        g_assert_cmpstr(words[i], ==, report_formats[i].name);
        g_assert_true(report_format_find(words[i]) == &report_formats[i]);
    }
    g_assert_true(report_granularity_by_name("object", &by) && by == REPORT_BY_OBJECT);
    g_assert_true(report_sort_by_name("change", &sort) && sort == REPORT_SORT_CHANGE);
    g_assert_true(report_value_by_name("alloc_objects", &value) && value == PROFILE_ALLOC_OBJECTS);
    g_assert_false(report_value_by_name("rss", &value));
    g_assert_cmpint(value, ==, PROFILE_ALLOC_OBJECTS);
}

static void
test_suffixes(void)
{
    static const struct {
        const char *path, *wanted, *format;
    } cases[] = {
        {"a.txt", NULL, "text"},
        {"a.collapsedstack.txt", NULL, "folded"},
        {"a.pb.gz", NULL, "pprof"},
        {"a.svg", NULL, "flamegraph"},
        {"a.svg", "callgraph", "callgraph-svg"},
        {"a.dot", "callgraph", "callgraph"},
        {"a.gv", NULL, "callgraph"},
        {"a.speedscope.json", NULL, "speedscope"},
        {"a.json", NULL, "json"},
        {"a.json", "folded", "folded"},
        {"a.xyz", NULL, NULL},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const ReportFormat *wanted = cases[i].wanted ? report_format_find(cases[i].wanted) : NULL;
        const ReportFormat *format = report_format_by_path(cases[i].path, wanted);
        g_assert_cmpstr(format ? format->name : NULL, ==, cases[i].format);
    }
}

static void
test_json(void)
{
    g_auto(Fixture) fixture;
    g_autofree char *text = NULL;
    ReportOptions options;
    json_t *root, *row, *stacks;

    fixture_init(&fixture, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    text = fixture_report(&fixture, NULL, "json", &options);
    root = parse(text);
    g_assert_cmpstr(json_string_value(json_object_get(root, "format")), ==, "jescope-report");
    g_assert_cmpint(at(json_object_get(root, "source"), "shown", "inuse_space", "estimate"), ==, 640);
    row = json_array_get(json_object_get(root, "rows"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(row, "name")), ==, "shop::Cart<int>::push_back(int const&)");
    g_assert_cmpint(at(row, "flat", "inuse_objects", "estimate"), ==, 3);
    g_assert_cmpint(at(row, "flat", "alloc_space", "estimate"), ==, 600);
    stacks = json_object_get(root, "stacks");
    g_assert_cmpuint(json_array_size(stacks), ==, 4);
    g_assert_cmpint(json_integer_value(json_array_get(json_object_get(json_array_get(stacks, 0), "frames"), 0)), ==,
                    at(row, "id", NULL, NULL));
    json_decref(root);
}

static void
test_speedscope(void)
{
    g_auto(Fixture) fixture;
    g_autofree char *text = NULL;
    ReportOptions options;
    json_t *root, *profile;

    fixture_init(&fixture, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    text = fixture_report(&fixture, &fixture, "speedscope", &options);
    root = parse(text);
    g_assert_cmpuint(json_array_size(json_object_get(root, "profiles")), ==, 2 * PROFILE_N_PPROF_VALUES);
    profile = json_array_get(json_object_get(root, "profiles"), (size_t)at(root, "activeProfileIndex", NULL, NULL));
    g_assert_cmpstr(json_string_value(json_object_get(profile, "name")), ==, "inuse_space (after)");
    g_assert_cmpint(at(profile, "endValue", NULL, NULL), ==, 640);
    g_assert_cmpuint(json_array_size(json_object_get(profile, "samples")), ==, 4);
    json_decref(root);
}

/* Written profiles can be read back with the same result, repeatedly. */
static void
test_symbolized(void)
{
    g_auto(Fixture) fixture;
    g_auto(Fixture) again;
    g_autofree char *text = NULL;
    g_autofree char *twice = NULL;
    g_autofree char *before = NULL;
    g_autofree char *after = NULL;
    ReportOptions options;

    fixture_init(&fixture, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    text = fixture_report(&fixture, NULL, "symbolized", &options);
    fixture_init(&again, text, PROFILE_READ_DEFAULT);
    twice = fixture_report(&again, NULL, "symbolized", &options);
    g_assert_cmpstr(text, ==, twice);
    before = fixture_report(&fixture, NULL, "folded", &options);
    after = fixture_report(&again, NULL, "folded", &options);
    g_assert_cmpstr(before, ==, after);
}

/* Filtered, the dump cannot be copied: its estimates are written, and read back unscaled. */
static void
test_symbolized_filtered(void)
{
    g_auto(Fixture) fixture;
    g_auto(Fixture) again;
    g_autoptr(GRegex) focus = g_regex_new("recurse|make_node", 0, 0, NULL);
    g_autofree char *text = NULL;
    g_autofree char *folded = NULL;
    ReportOptions options;

    fixture_init(&fixture, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    options.focus = focus;
    text = fixture_report(&fixture, NULL, "symbolized", &options);
    fixture_init(&again, text, PROFILE_READ_DEFAULT);
    options.focus = NULL;
    folded = fixture_report(&again, NULL, "folded", &options);
    g_assert_cmpstr(folded, ==, "main;recurse;recurse 200\nmain;insert;make_node 100\n");
}

static void
test_no_difference_in_symbolized(void)
{
    g_autoptr(GOutputStream) out = g_memory_output_stream_new_resizable();
    g_autoptr(GError) error = NULL;
    g_auto(Fixture) fixture;
    ReportOptions options;

    fixture_init(&fixture, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    g_assert_false(
        report_write(report_format_find("symbolized"), &fixture.input, &fixture.input, &options, out, &error));
    g_assert_error(error, REPORT_ERROR, REPORT_ERROR_UNSUPPORTED);
}

/* The middle of main -> insert -> make_node is below the limit: its edge becomes an indirect one. */
static void
test_callgraph(void)
{
    g_auto(Fixture) fixture;
    g_autoptr(View) view = NULL;
    g_autoptr(CallGraph) graph = NULL;
    ReportOptions options;
    const CallEdge *heaviest;

    fixture_init(&fixture,
                 "--- symbol\n0x1000 leaf\n0x2000 middle\n0x3000 main\n---\n--- heap\n"
                 "heap profile: 3: 30 [0: 0] @ heapprofile\n1: 10 [0: 0] @ 0x1000 0x2001 0x3001\n"
                 "2: 20 [0: 0] @ 0x1000 0x3001\n\nMAPPED_LIBRARIES:\n",
                 PROFILE_READ_DEFAULT);
    report_options_init(&options);
    options.limit = 2;
    view = view_new(&fixture.input, NULL, &options, NULL);
    graph = callgraph_new(view, &options);
    g_assert_cmpuint(graph->rows->len, ==, 2);
    g_assert_cmpuint(graph->edges->len, ==, 1);
    heaviest = &g_array_index(graph->edges, CallEdge, 0);
    g_assert_cmpfloat(heaviest->weight[VIEW_NOW].estimate[PROFILE_INUSE_SPACE], ==, 30);
    g_assert_cmpstr(view_node(view, heaviest->callee)->name, ==, "leaf");
    g_assert_false(heaviest->indirect);
}

static void
test_layout(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) svg = layout_svg("digraph g { node [fontname=\"" LAYOUT_FONT "\"]; a -> b }", &error);

    g_assert_no_error(error);
    g_assert_nonnull(g_strstr_len(g_bytes_get_data(svg, NULL), (gssize)g_bytes_get_size(svg), "</svg>"));
    g_assert_null(layout_svg("this is no graph {", &error));
    g_assert_error(error, REPORT_ERROR, REPORT_ERROR_LAYOUT);
}

static void
test_flamegraph(void)
{
    g_auto(Fixture) fixture;
    g_autofree char *svg = NULL;
    ReportOptions options;

    fixture_init(&fixture, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    svg = fixture_report(&fixture, NULL, "flamegraph", &options);
    g_assert_nonnull(
        strstr(svg, "<title>shop::Cart&lt;int&gt;::push_back\n"
                    "shop::Cart&lt;int&gt;::push_back(int const&amp;)\nin /bin/app\n300 B ± 0 B, 3 objects (46.9%)"));
    g_assert_nonnull(strstr(svg, "<title>all\n640 B ± 0 B, 10 objects (100.0%)"));
    g_assert_nonnull(strstr(svg, "data-total=\"640\""));
}

static void
test_failed_write(void)
{
    char small[16];
    g_autoptr(GOutputStream) out = g_memory_output_stream_new(small, sizeof(small), NULL, NULL);
    g_autoptr(GError) error = NULL;
    g_auto(Fixture) fixture;
    ReportOptions options;

    fixture_init(&fixture, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    g_assert_false(report_write(report_format_find("folded"), &fixture.input, NULL, &options, out, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_NO_SPACE);
}

static guint64
pane_top(const char *picture)
{
    static const char pane[] = "<svg class=\"pane\" x=\"10\" y=\"";
    const char *at = strstr(picture, pane);

    g_assert_nonnull(at);
    return g_ascii_strtoull(at + strlen(pane), NULL, 10);
}

/* Notes are lines of their own that fit the picture, and the frames begin below them. */
static void
test_flamegraph_notes(void)
{
    enum { LINE = 16, WORD = 100 };
    g_auto(Fixture) fixture = {0};
    g_autofree char *word = g_strnfill(WORD, 'x');
    g_autofree char *note = g_strdup_printf("%s %s", word, word);
    g_autofree char *whole_line = g_strdup_printf(">%s</text>", word);
    const char *const notes[] = {note, NULL};
    ReportOptions options;

    fixture_init(&fixture, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    g_autofree char *without = fixture_report(&fixture, NULL, "flamegraph", &options);
    options.notes = notes;
    g_autofree char *with = fixture_report(&fixture, NULL, "flamegraph", &options);
    const char *first = strstr(with, whole_line);
    g_assert_nonnull(first);
    g_assert_nonnull(strstr(first + 1, whole_line));
    g_assert_cmpuint(pane_top(with), ==, pane_top(without) + 2 * LINE);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/formats/names", test_names);
    g_test_add_func("/report/formats/suffixes", test_suffixes);
    g_test_add_func("/report/formats/json", test_json);
    g_test_add_func("/report/formats/speedscope", test_speedscope);
    g_test_add_func("/report/formats/symbolized", test_symbolized);
    g_test_add_func("/report/formats/symbolized-filtered", test_symbolized_filtered);
    g_test_add_func("/report/formats/no-difference-in-symbolized", test_no_difference_in_symbolized);
    g_test_add_func("/report/formats/callgraph", test_callgraph);
    g_test_add_func("/report/formats/layout", test_layout);
    g_test_add_func("/report/formats/flamegraph", test_flamegraph);
    g_test_add_func("/report/formats/failed-write", test_failed_write);
    g_test_add_func("/report/formats/flamegraph-notes", test_flamegraph_notes);
    return g_test_run();
}
