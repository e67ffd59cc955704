/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page-material.h"

#include "report/coverage.h"
#include "report/table.h"
#include "report/units.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- the head ---- */

static void
write_weight(Writer *writer, const ProfileWeight *weight, ProfileValue value)
{
    writer_text(writer, "{\"total\":");
    writer_amount(writer, weight->estimate[value]);
    writer_text(writer, ",\"error\":");
    writer_amount(writer, sqrt(weight->variance[value]));
    writer_text(writer, "}");
}

static void
write_values(Writer *writer, const char *name, const ProfileWeight *weight)
{
    writer_format(writer, ",\"%s\":{", name);
    for (ProfileValue value = 0; value < PROFILE_N_VALUES; value++) {
        writer_format(writer, "%s\"%s\":", value ? "," : "", report_value_name(value));
        write_weight(writer, weight, value);
    }
    writer_text(writer, "}");
}

/* The values that a page can select. */
static void
write_value_names(const View *view, Writer *writer)
{
    const char *separator = "\"values\":[\"";

    for (ProfileValue value = 0; value < PROFILE_N_VALUES; value++) {
        if (view_carries(view, value)) {
            writer_format(writer, "%s%s\"", separator, report_value_name(value));
            separator = ",\"";
        }
    }
    writer_text(writer, "],\n");
}

static void
write_input(const View *view, const char *name, ViewSide side, Writer *writer)
{
    const ReportInput *input = view_input(view, side);

    writer_format(writer, "\"%s\":{\"name\":", name);
    writer_json(writer, input->name);
    if (input->time)
        writer_format(writer, ",\"time\":%" G_GINT64_FORMAT, input->time);
    writer_format(writer, ",\"period\":%" G_GUINT64_FORMAT ",\"stacks\":%u",
                  MIN(profile_period(input->profile), G_MAXINT64), profile_n_stacks(input->profile));
    write_values(writer, "whole", view_whole(view, side));
    write_values(writer, "shown", view_total(view, side));
    writer_text(writer, "},\n");
}

static void
write_notes(const ReportOptions *options, Writer *writer)
{
    const char *separator = "";

    writer_text(writer, "\"notes\":[");
    for (const char *const *note = options->notes; note && *note; note++, separator = ",") {
        writer_text(writer, separator);
        writer_json(writer, *note);
    }
    writer_text(writer, "],\n");
}

static void
write_why_empty(const Report *report, Writer *writer)
{
    gboolean difference = view_n_sides(report->view) == 2;
    const ReportInput *base = difference ? view_input(report->view, VIEW_BASE) : NULL;
    g_autofree char *why = coverage_why_empty(view_input(report->view, VIEW_NOW), base, report->options, report->view);

    if (!why)
        return;
    writer_text(writer, "\"empty\":");
    writer_json(writer, why);
    writer_text(writer, ",\n");
}

static void
write_head(const Report *report, Writer *writer)
{
    const ReportOptions *options = report->options;

    writer_format(writer, "\"value\":\"%s\",\"unit\":\"%s\",\"by\":\"%s\",\"inverted\":%s,\"noise\":",
                  report_value_name(options->value), value_unit(options->value), report_granularity_name(options->by),
                  options->flags & REPORT_CALLERS ? "true" : "false");
    writer_number(writer, TABLE_NOISE, 2);
    writer_text(writer, ",\n");
    write_value_names(report->view, writer);
    write_input(report->view, "source", VIEW_NOW, writer);
    if (view_n_sides(report->view) == 2)
        write_input(report->view, "base", VIEW_BASE, writer);
    write_notes(options, writer);
    write_why_empty(report, writer);
}

static void
add_head(PageMaterial *material, const Report *report)
{
    g_autoptr(GOutputStream) out = g_memory_output_stream_new_resizable();
    Writer *writer = writer_new(out);

    write_head(report, writer);
    writer_finish(writer, NULL);
    g_output_stream_close(out, NULL, NULL);
    material->n_head = (guint32)g_memory_output_stream_get_data_size(G_MEMORY_OUTPUT_STREAM(out));
    material->head = g_memory_output_stream_steal_data(G_MEMORY_OUTPUT_STREAM(out));
}

/* ---- table and tree ---- */

static PageWeight
weight_of(const ProfileWeight *weight, ProfileValue value)
{
    return (PageWeight){weight->estimate[value], weight->variance[value]};
}

static void
add_table(PageMaterial *material, const Report *report)
{
    g_autoptr(GArray) table = table_new(report->view, report->options);
    PageRow *rows = g_new0(PageRow, MIN(table->len, PAGE_TABLE_ROWS_MAX) + 1);
    ProfileValue other = value_other(material->value);

    material->rows = rows;
    material->n_rows = MIN(table->len, PAGE_TABLE_ROWS_MAX);
    for (guint i = 0; i < material->n_rows; i++) {
        const TableRow *row = &g_array_index(table, TableRow, i);
        rows[i].node = row->node;
        for (ViewSide side = VIEW_NOW; side < VIEW_N_SIDES; side++) {
            rows[i].flat[side] = weight_of(&row->flat[side], material->value);
            rows[i].cumulative[side] = weight_of(&row->cumulative[side], material->value);
        }
        rows[i].flat_other = row->flat[VIEW_NOW].estimate[other];
        rows[i].cumulative_other = row->cumulative[VIEW_NOW].estimate[other];
    }
    material->table_rest.count = table->len - material->n_rows;
    for (guint i = material->n_rows; i < table->len; i++)
        material->table_rest.total += g_array_index(table, TableRow, i).flat[VIEW_NOW].estimate[material->value];
}

static void
add_heaviest(PageMaterial *material)
{
    GArray *found = page_tree_heaviest(material->tree);

    material->n_heaviest = MIN(found->len, PAGE_STACKS_MAX);
    material->stacks_rest.count = found->len - material->n_heaviest;
    for (guint i = material->n_heaviest; i < found->len; i++)
        material->stacks_rest.total += page_tree_self(material->tree, g_array_index(found, guint32, i), VIEW_NOW).total;
    g_array_set_size(found, material->n_heaviest);
    material->heaviest = (guint32 *)(gpointer)g_array_free(found, FALSE);
}

typedef struct {
    PageMaterial *material;
    const Report *report;
} TableJob;

static gpointer
make_table(gpointer data)
{
    const TableJob *job = data;

    add_table(job->material, job->report);
    return NULL;
}

/* Runs in parallel to the tree if that is worth a thread; NULL: it is done already. */
static GThread *
begin_table(TableJob *job)
{
    enum { FEW_STACKS = 20000 };
    gboolean few = profile_n_stacks(view_input(job->report->view, VIEW_NOW)->profile) < FEW_STACKS;
    GThread *thread = few ? NULL : g_thread_try_new("table", make_table, job, NULL);

    if (!thread)
        make_table(job);
    return thread;
}

PageMaterial *
page_material_new(const Report *report, PageMaterialParts parts)
{
    const ReportOptions *options = report->options;
    CallTreeOrder order = options->flags & REPORT_CALLERS ? CALLTREE_BOTTOM_UP : CALLTREE_TOP_DOWN;
    PageMaterial *material = g_new0(PageMaterial, 1);

    material->value = options->value;
    material->n_sides = view_n_sides(report->view);
    add_head(material, report);
    material->names = page_names_new(report->view);
    TableJob job = {material, report};
    GThread *table = parts & PAGE_MATERIAL_TABLE ? begin_table(&job) : NULL;
    if (parts & PAGE_MATERIAL_TREE) {
        g_autoptr(CallTree) tree = calltree_new(report->view, order, options->value);
        material->tree = page_tree_new(tree, options->value);
        add_heaviest(material);
    }
    if (table)
        g_thread_join(table);
    return material;
}

void
page_material_free(PageMaterial *material)
{
    if (!material->file) {
        g_free((gpointer)(guintptr)material->head);
        g_free((gpointer)(guintptr)material->rows);
        g_free((gpointer)(guintptr)material->heaviest);
        g_clear_pointer(&material->names, page_names_free);
        g_clear_pointer(&material->tree, page_tree_free);
    }
    g_free(material->names);
    g_free(material->tree);
    g_clear_pointer(&material->file, g_bytes_unref);
    g_free(material);
}

/* ---- the file ---- */

#define MAGIC       "jescope-pages\n"
#define FILE_MARKER G_GUINT64_CONSTANT(0x0102030405060708) /* in the byte order of the machine */

enum { FILE_VERSION = 1, ALIGNMENT = 8 };

typedef enum {
    COUNT_HEAD,
    COUNT_NAMES,
    COUNT_TEXTS,
    COUNT_ROWS,
    COUNT_HEAVIEST,
    COUNT_LABELS,
    COUNT_RUNS,
    COUNT_ENDS,
    N_COUNTS,
} Count;

typedef struct {
    char magic[16];
    guint64 marker;
    guint32 version, value, n_sides, reserved;
    PageRest table_rest, stacks_rest;
    guint32 counts[N_COUNTS];
} FileHead;

static void
list_counts(PageMaterial *material, guint32 *counts[N_COUNTS])
{
    counts[COUNT_HEAD] = &material->n_head;
    counts[COUNT_NAMES] = &material->names->n_names;
    counts[COUNT_TEXTS] = &material->names->n_texts;
    counts[COUNT_ROWS] = &material->n_rows;
    counts[COUNT_HEAVIEST] = &material->n_heaviest;
    counts[COUNT_LABELS] = &material->tree->n_labels;
    counts[COUNT_RUNS] = &material->tree->n_runs;
    counts[COUNT_ENDS] = &material->tree->n_ends;
}

/* An array of the file, and the member for its address. */
typedef struct {
    gconstpointer *data;
    gsize size; /* of an element */
    Count count;
    gboolean of_difference;
} Section;

enum { N_SECTIONS = 14 };

#define SECTION(pointer, count, of_difference)                                                                         \
    {                                                                                                                  \
        (gconstpointer *)&(pointer), sizeof(*(pointer)), count, of_difference                                          \
    }

static void
list_sections(PageMaterial *material, Section sections[N_SECTIONS])
{
    PageNames *names = material->names;
    PageTree *tree = material->tree;
    const Section all[N_SECTIONS] = {
        SECTION(material->head, COUNT_HEAD, FALSE),
        SECTION(names->names, COUNT_NAMES, FALSE),
        SECTION(names->texts, COUNT_TEXTS, FALSE),
        SECTION(material->rows, COUNT_ROWS, FALSE),
        SECTION(material->heaviest, COUNT_HEAVIEST, FALSE),
        SECTION(tree->labels, COUNT_LABELS, FALSE),
        SECTION(tree->runs, COUNT_RUNS, FALSE),
        SECTION(tree->sides[VIEW_NOW], COUNT_RUNS, FALSE),
        SECTION(tree->sides[VIEW_BASE], COUNT_RUNS, TRUE),
        SECTION(tree->others, COUNT_RUNS, FALSE),
        SECTION(tree->extents, COUNT_RUNS, TRUE),
        SECTION(tree->ends[VIEW_NOW], COUNT_ENDS, FALSE),
        SECTION(tree->ends[VIEW_BASE], COUNT_ENDS, TRUE),
        SECTION(tree->end_others, COUNT_ENDS, FALSE),
    };

    memcpy(sections, all, sizeof(all));
}

static gsize
padding(gsize size)
{
    return (ALIGNMENT - size % ALIGNMENT) % ALIGNMENT;
}

void
page_material_write(const PageMaterial *material, Writer *writer)
{
    static const char zeros[ALIGNMENT] = {0};
    PageMaterial copy = *material;
    FileHead head = {.magic = MAGIC,
                     .marker = FILE_MARKER,
                     .version = FILE_VERSION,
                     .value = material->value,
                     .n_sides = material->n_sides,
                     .table_rest = material->table_rest,
                     .stacks_rest = material->stacks_rest};
    guint32 *counts[N_COUNTS];
    Section sections[N_SECTIONS];

    list_counts(&copy, counts);
    list_sections(&copy, sections);
    for (Count i = 0; i < N_COUNTS; i++)
        head.counts[i] = *counts[i];
    writer_data(writer, &head, sizeof(head));
    for (guint i = 0; i < N_SECTIONS; i++) {
        gsize size = head.counts[sections[i].count] * sections[i].size;
        if (sections[i].of_difference && head.n_sides < 2)
            continue;
        if (size > 0)
            writer_data(writer, *sections[i].data, size);
        writer_data(writer, zeros, padding(size));
    }
}

gboolean
page_material_is_in(int fd)
{
    char begin[sizeof(MAGIC)];

    return pread(fd, begin, sizeof(begin), 0) == sizeof(begin) && memcmp(begin, MAGIC, sizeof(begin)) == 0;
}

/* Points the sections of MATERIAL into the file, which has SIZE bytes. FALSE: their sizes do not add up to it. */
static gboolean
place_sections(PageMaterial *material, const FileHead *head, gsize size)
{
    gsize at = sizeof(*head);
    guint32 *counts[N_COUNTS];
    Section sections[N_SECTIONS];

    list_counts(material, counts);
    list_sections(material, sections);
    for (Count i = 0; i < N_COUNTS; i++)
        *counts[i] = head->counts[i];
    for (guint i = 0; i < N_SECTIONS; i++) {
        gsize length = head->counts[sections[i].count] * sections[i].size;
        if (sections[i].of_difference && head->n_sides < 2)
            continue;
        if (length > size - at || padding(length) > size - at - length)
            return FALSE;
        *sections[i].data = (const char *)head + at;
        at += length + padding(length);
    }
    return at == size;
}

static gboolean
are_lists_sound(const PageMaterial *material)
{
    for (guint32 i = 0; i < material->n_rows; i++) {
        const PageRow *row = &material->rows[i];
        const gdouble *numbers = &row->flat[0].total;
        for (gsize j = 0; j < (sizeof(*row) - G_STRUCT_OFFSET(PageRow, flat)) / sizeof(*numbers); j++)
            if (row->node >= material->names->n_names || !isfinite(numbers[j]))
                return FALSE;
    }
    for (guint32 i = 0; i < material->n_heaviest; i++)
        if (material->heaviest[i] >= material->tree->n_runs)
            return FALSE;
    return isfinite(material->table_rest.total) && isfinite(material->stacks_rest.total);
}

static gboolean
read_file(PageMaterial *material)
{
    gsize size;
    const FileHead *head = g_bytes_get_data(material->file, &size);

    if (size < sizeof(*head) || memcmp(head->magic, MAGIC, sizeof(MAGIC)) != 0 || head->marker != FILE_MARKER ||
        head->version != FILE_VERSION || head->value >= PROFILE_N_VALUES || head->n_sides - 1 >= VIEW_N_SIDES)
        return FALSE;
    material->value = head->value;
    material->n_sides = material->tree->n_sides = head->n_sides;
    material->table_rest = head->table_rest;
    material->stacks_rest = head->stacks_rest;
    return place_sections(material, head, size) && page_names_are_sound(material->names) &&
           page_tree_is_sound(material->tree, material->names->n_names) && are_lists_sound(material);
}

PageMaterial *
page_material_open(GBytes *file, const char *name, GError **error)
{
    g_autoptr(PageMaterial) material = g_new0(PageMaterial, 1);

    material->file = g_bytes_ref(file);
    material->names = g_new0(PageNames, 1);
    material->tree = g_new0(PageTree, 1);
    if (!read_file(material)) {
        g_set_error(error, REPORT_ERROR, REPORT_ERROR_UNSUPPORTED,
                    "%s: damaged, or written by another version of jescope; write it again from the dump", name);
        return NULL;
    }
    return g_steal_pointer(&material);
}
