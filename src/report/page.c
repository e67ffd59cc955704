/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a profile's page in browsers, as columns of numbers: docs/formats.md, "Page JSON". */
#include "report/page.h"
#include "report/format.h"
#include "report/page-graph.h"
#include "report/page-material.h"
#include "report/table.h"

#include <math.h>

enum {
    PAGE_VERSION = 1,
    PAGE_TABLE_ROWS = 2000,
    PAGE_STACKS = 100,
};

typedef struct {
    const PageMaterial *material;
    const PageCut *cut;
    PageFrames *frames;
    Writer *writer;
    gboolean difference;
} Page;

/* ---- graphs ---- */

static void
write_tree(const Page *page, const char *name, const PageTree *tree)
{
    const ReportPage *asked = page->cut->asked;
    const PageGraphOptions options = {asked->width, asked->depth, asked->zoom, page->cut->rows_max};
    g_autoptr(PageGraph) graph = page_graph_new(tree, page->material->names, &options);

    page_graph_write(graph, name, page->frames, page->writer);
    writer_text(page->writer, ",\n");
}

static void
write_graph(const Page *page)
{
    write_tree(page, "graph", page->material->tree);
}

/* ---- the table ---- */

typedef struct {
    const char *name;
    gboolean cumulative;
    void (*write)(const Page *page, const PageWeight weights[VIEW_N_SIDES]);
    gboolean of_difference;
} TableColumn;

static void
write_now(const Page *page, const PageWeight weights[VIEW_N_SIDES])
{
    writer_amount(page->writer, weights[VIEW_NOW].total);
}

static void
write_error(const Page *page, const PageWeight weights[VIEW_N_SIDES])
{
    writer_amount(page->writer, sqrt(weights[VIEW_NOW].variance));
}

static void
write_base(const Page *page, const PageWeight weights[VIEW_N_SIDES])
{
    writer_amount(page->writer, weights[VIEW_BASE].total);
}

static void
write_base_error(const Page *page, const PageWeight weights[VIEW_N_SIDES])
{
    writer_amount(page->writer, sqrt(weights[VIEW_BASE].variance));
}

static void
write_significance(const Page *page, const PageWeight weights[VIEW_N_SIDES])
{
    table_write_significance(page->writer, weights[VIEW_NOW].total - weights[VIEW_BASE].total,
                             weights[VIEW_NOW].variance + weights[VIEW_BASE].variance);
}

static const TableColumn table_columns[] = {
    {"flat", FALSE, write_now, FALSE},
    {"flat_error", FALSE, write_error, FALSE},
    {"cum", TRUE, write_now, FALSE},
    {"cum_error", TRUE, write_error, FALSE},
    {"flat_base", FALSE, write_base, TRUE},
    {"flat_base_error", FALSE, write_base_error, TRUE},
    {"flat_significance", FALSE, write_significance, TRUE},
    {"cum_base", TRUE, write_base, TRUE},
    {"cum_base_error", TRUE, write_base_error, TRUE},
    {"cum_significance", TRUE, write_significance, TRUE},
};

static void
write_table_column(const Page *page, const TableColumn *column, guint n)
{
    writer_format(page->writer, "\"%s\":[", column->name);
    for (guint i = 0; i < n; i++) {
        const PageRow *row = &page->material->rows[i];
        writer_text(page->writer, i ? "," : "");
        column->write(page, column->cumulative ? row->cumulative : row->flat);
    }
    writer_text(page->writer, "],\n");
}

/* Writes the values of value_other(), of the present side. */
static void
write_row_others(const Page *page, const char *name, gboolean cumulative, guint n)
{
    writer_format(page->writer, "\"%s\":[", name);
    for (guint i = 0; i < n; i++) {
        const PageRow *row = &page->material->rows[i];
        writer_text(page->writer, i ? "," : "");
        writer_amount(page->writer, cumulative ? row->cumulative_other : row->flat_other);
    }
    writer_text(page->writer, "],\n");
}

static guint
limit_of(const Page *page, guint usual, guint most)
{
    return MIN(page->cut->limit == 0 ? usual : page->cut->limit, most);
}

/* The end of a list: count and sum of what it omits. */
static void
write_rest(const Page *page, guint64 count, gdouble total)
{
    writer_format(page->writer, "],\n\"hidden\":{\"count\":%" G_GUINT64_FORMAT ",\"total\":", count);
    writer_amount(page->writer, total);
    writer_text(page->writer, "}},\n");
}

static void
write_table(const Page *page)
{
    const PageMaterial *material = page->material;
    guint n = limit_of(page, PAGE_TABLE_ROWS, material->n_rows);
    PageRest rest = material->table_rest;

    writer_text(page->writer, "\"table\":{");
    for (guint i = 0; i < G_N_ELEMENTS(table_columns); i++)
        if (!table_columns[i].of_difference || page->difference)
            write_table_column(page, &table_columns[i], n);
    write_row_others(page, "flat_other", FALSE, n);
    write_row_others(page, "cum_other", TRUE, n);
    writer_text(page->writer, "\"frame\":[");
    for (guint i = 0; i < n; i++) {
        writer_text(page->writer, i ? "," : "");
        writer_integer(page->writer, page_frames_number(page->frames, (guint32)material->rows[i].node));
    }
    for (guint i = n; i < material->n_rows; i++)
        rest.total += material->rows[i].flat[VIEW_NOW].total;
    write_rest(page, rest.count + material->n_rows - n, rest.total);
}

/* ---- stacks ---- */

/* Innermost first. */
static void
write_stack_frames(const Page *page, guint32 run)
{
    const PageTree *tree = page->material->tree;
    const char *separator = "[";

    writer_text(page->writer, run == 0 ? separator : "");
    for (guint32 at = run; at != 0; at = tree->runs[at].parent) {
        for (guint32 i = tree->runs[at].n; i-- > 0; separator = ",") {
            writer_text(page->writer, separator);
            writer_integer(page->writer, page_frames_number(page->frames, tree->labels[tree->runs[at].first + i]));
        }
    }
    writer_text(page->writer, "]");
}

static void
write_others(const Page *page, guint n)
{
    const PageTree *tree = page->material->tree;

    writer_text(page->writer, "\"other\":[");
    for (guint i = 0; i < n; i++) {
        guint32 end = tree->runs[page->material->heaviest[i]].end;
        writer_text(page->writer, i ? "," : "");
        writer_amount(page->writer, end != PROFILE_NONE ? tree->end_others[end] : 0);
    }
    writer_text(page->writer, "],\n");
}

static void
write_stack_column(const Page *page, const TableColumn *column, guint n)
{
    const PageTree *tree = page->material->tree;

    writer_format(page->writer, "\"%s\":[", column->name);
    for (guint i = 0; i < n; i++) {
        guint32 run = page->material->heaviest[i];
        const PageWeight weights[VIEW_N_SIDES] = {page_tree_self(tree, run, VIEW_NOW),
                                                  page_tree_self(tree, run, VIEW_BASE)};
        writer_text(page->writer, i ? "," : "");
        column->write(page, weights);
    }
    writer_text(page->writer, "],\n");
}

static void
write_stacks(const Page *page)
{
    static const TableColumn columns[] = {
        {"total", FALSE, write_now, FALSE},
        {"error", FALSE, write_error, FALSE},
        {"base", FALSE, write_base, TRUE},
        {"base_error", FALSE, write_base_error, TRUE},
        {"significance", FALSE, write_significance, TRUE},
    };
    const PageMaterial *material = page->material;
    guint n = limit_of(page, PAGE_STACKS, material->n_heaviest);
    PageRest rest = material->stacks_rest;

    writer_text(page->writer, "\"stacks\":{");
    for (guint column = 0; column < G_N_ELEMENTS(columns); column++)
        if (!columns[column].of_difference || page->difference)
            write_stack_column(page, &columns[column], n);
    write_others(page, n);
    writer_text(page->writer, "\"frames\":[");
    for (guint i = 0; i < n; i++) {
        writer_text(page->writer, i ? ",\n" : "");
        write_stack_frames(page, material->heaviest[i]);
    }
    for (guint i = n; i < material->n_heaviest; i++)
        rest.total += page_tree_self(material->tree, material->heaviest[i], VIEW_NOW).total;
    write_rest(page, rest.count + material->n_heaviest - n, rest.total);
}

/* ---- around a function ---- */

static guint32
find_function(const PageNames *names, const char *display)
{
    for (guint32 i = 0; i < names->n_names; i++)
        if (g_str_equal(page_names_display(names, i), display))
            return i;
    return PROFILE_NONE;
}

/* The callers and callees of one function; none if no stack contains it. */
static void
write_around(const Page *page, const Report *report)
{
    static const struct {
        const char *name;
        CallTreeOrder order;
    } sides[] = {{"callers", CALLTREE_BOTTOM_UP}, {"callees", CALLTREE_TOP_DOWN}};
    const char *function = report->options->page.function;
    guint32 pivot = find_function(page->material->names, function);

    writer_text(page->writer, "\"function\":");
    writer_json(page->writer, function);
    writer_text(page->writer, pivot == PROFILE_NONE ? ",\"known\":false,\n" : ",\"known\":true,\n");
    for (guint i = 0; i < G_N_ELEMENTS(sides) && pivot != PROFILE_NONE; i++) {
        ProfileValue value = report->options->value;
        g_autoptr(CallTree) stacks = calltree_new_around(report->view, sides[i].order, value, pivot);
        g_autoptr(PageTree) tree = page_tree_new(stacks, value);
        write_tree(page, sides[i].name, tree);
    }
}

/* ---- the whole ---- */

#define IN(part) (1u << REPORT_PART_##part)

static const struct {
    void (*write)(const Page *page);
    unsigned parts; /* set of ReportPart */
    PageMaterialParts needed;
} blocks[] = {
    {write_graph, IN(ALL) | IN(WHOLE) | IN(GRAPH), PAGE_MATERIAL_TREE},
    {write_table, IN(ALL) | IN(WHOLE) | IN(TABLE), PAGE_MATERIAL_TABLE},
    {write_stacks, IN(WHOLE) | IN(STACKS), PAGE_MATERIAL_TREE},
};

static gboolean
is_asked(const ReportPage *asked, guint block)
{
    return (blocks[block].parts & 1u << asked->part) != 0;
}

static PageMaterialParts
needed_for(const ReportPage *asked)
{
    PageMaterialParts parts = 0;

    for (guint i = 0; i < G_N_ELEMENTS(blocks); i++)
        parts |= is_asked(asked, i) && !(asked->function && blocks[i].write == write_graph) ? blocks[i].needed : 0;
    return parts;
}

/* AROUND: instead of the graph; may be NULL. */
static void
write_page(const PageMaterial *material, const PageCut *cut, const Report *around, Writer *writer)
{
    g_autoptr(PageFrames) frames = page_frames_new(material->names);
    const Page page = {
        .material = material, .cut = cut, .frames = frames, .writer = writer, .difference = material->n_sides == 2};

    writer_format(writer, "{\"format\":\"jescope-page\",\"version\":%d,", PAGE_VERSION);
    writer_data(writer, material->head, material->n_head);
    for (guint i = 0; i < G_N_ELEMENTS(blocks); i++) {
        if (!is_asked(cut->asked, i))
            continue;
        if (around && blocks[i].write == write_graph)
            write_around(&page, around);
        else
            blocks[i].write(&page);
    }
    page_frames_write(frames, writer);
    writer_text(writer, "}\n");
}

void
page_write_cut(const PageMaterial *material, const PageCut *cut, Writer *writer)
{
    write_page(material, cut, NULL, writer);
}

void
page_write_rows(const Report *report, guint32 rows_max, Writer *writer)
{
    const ReportOptions *options = report->options;
    g_autoptr(PageMaterial) material = page_material_new(report, needed_for(&options->page));
    const PageCut cut = {&options->page, options->limit, rows_max};

    write_page(material, &cut, options->page.function ? report : NULL, writer);
}

gboolean
page_write(const Report *report, Writer *writer, GError **error)
{
    page_write_rows(report, PAGE_ROWS_MAX, writer);
    return TRUE;
}
