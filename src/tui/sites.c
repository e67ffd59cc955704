/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/sites.h"

#include "report/options.h"
#include "report/page-graph.h"
#include "report/units.h"
#include "target/target.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* ---- columns ---- */

static double
number_at(const json_t *block, const char *name, gsize row)
{
    return json_number_value(json_array_get(json_object_get(block, name), row));
}

static gsize
rows_of(const json_t *block, const char *name)
{
    return MIN(json_array_size(json_object_get(block, name)), SITE_ROWS_MAX);
}

/* Copies names from a document, with a limit: many rows could repeat a long name and exhaust memory. */
typedef struct {
    const json_t *document;
    gsize left; /* bytes left */
} Names;

/* The name of frame INDEX; "?" if it has none. */
static const char *
frame_name(const json_t *document, const json_t *index)
{
    const json_t *names = json_object_get(json_object_get(document, "frames"), "name");
    json_int_t at = json_is_integer(index) ? json_integer_value(index) : -1;
    const char *name = at >= 0 ? json_string_value(json_array_get(names, (gsize)at)) : NULL;
    return name != NULL ? name : "?";
}

static const char *
take_name(Names *names, const json_t *index)
{
    const char *name = frame_name(names->document, index);
    gsize length = strlen(name) + 1;
    if (length > names->left)
        return "...";
    names->left -= length;
    return name;
}

static ProfileValue
value_of(const json_t *document)
{
    ProfileValue value = PROFILE_INUSE_SPACE;
    const char *name = json_string_value(json_object_get(document, "value"));
    if (name != NULL)
        report_value_by_name(name, &value);
    return value;
}

/* The number to show for SUM of VALUE: SUM itself, or for a mean, SUM divided by OTHER. */
static double
shown_of(ProfileValue value, double sum, double other)
{
    if (!value_is_mean(value))
        return sum;
    return other > 0 ? sum / other : NAN;
}

static gboolean
check(const json_t *document, GError **error)
{
    if (g_strcmp0(json_string_value(json_object_get(document, "format")), "jescope-page") == 0)
        return TRUE;
    g_set_error_literal(error, TARGET_ERROR, OUTCOME_PROTOCOL,
                        "the answer is not a report for a page; is the server another version of jescope?");
    return FALSE;
}

/* ---- sites ---- */

static void
clear_row(gpointer data)
{
    g_free(((SiteRow *)data)->name);
}

void
sites_free(Sites *sites)
{
    if (sites == NULL)
        return;
    g_array_unref(sites->rows);
    g_ptr_array_unref(sites->notes);
    g_free(sites);
}

static void
read_table(Sites *sites, Names *names, const json_t *table)
{
    const gboolean mean = value_is_mean(sites->value);
    const gboolean objects =
        value_other(sites->value) == value_objects(sites->value) && json_object_get(table, "flat_other") != NULL;
    for (gsize i = 0; i < rows_of(table, "flat"); i++) {
        const json_t *frame = json_array_get(json_object_get(table, "frame"), i);
        SiteRow row = {.name = g_strdup(take_name(names, frame)),
                       .own = shown_of(sites->value, number_at(table, "flat", i), number_at(table, "flat_other", i)),
                       .own_error = mean ? NAN : number_at(table, "flat_error", i),
                       .total = shown_of(sites->value, number_at(table, "cum", i), number_at(table, "cum_other", i)),
                       .objects = objects ? number_at(table, "flat_other", i) : NAN};
        if (sites->difference) {
            row.gain = row.own - number_at(table, "flat_base", i);
            row.significance = number_at(table, "flat_significance", i);
        }
        g_array_append_val(sites->rows, row);
    }
}

static char *
stack_name(Names *names, const json_t *frames)
{
    GString *name = g_string_new(NULL);
    for (gsize i = 0; i < json_array_size(frames); i++) {
        g_string_append(name, i > 0 ? " < " : "");
        g_string_append(name, take_name(names, json_array_get(frames, i)));
    }
    return g_string_free(name, FALSE);
}

static void
read_stacks(Sites *sites, Names *names, const json_t *stacks)
{
    const gboolean mean = value_is_mean(sites->value);
    const gboolean objects = value_other(sites->value) == value_objects(sites->value);
    for (gsize i = 0; i < rows_of(stacks, "total"); i++) {
        SiteRow row = {.name = stack_name(names, json_array_get(json_object_get(stacks, "frames"), i)),
                       .own = shown_of(sites->value, number_at(stacks, "total", i), number_at(stacks, "other", i)),
                       .own_error = mean ? NAN : number_at(stacks, "error", i),
                       .objects = objects ? number_at(stacks, "other", i) : NAN};
        row.total = row.own;
        if (sites->difference) {
            row.gain = row.own - number_at(stacks, "base", i);
            row.significance = number_at(stacks, "significance", i);
        }
        g_array_append_val(sites->rows, row);
    }
}

static void
read_notes(Sites *sites, const json_t *document)
{
    const json_t *notes = json_object_get(document, "notes");
    for (gsize i = 0; i < json_array_size(notes); i++)
        if (json_is_string(json_array_get(notes, i)))
            g_ptr_array_add(sites->notes, g_strdup(json_string_value(json_array_get(notes, i))));
}

static double
sum_of(const json_t *document, ProfileValue value, const char *member)
{
    const json_t *shown = json_object_get(json_object_get(document, "source"), "shown");
    return json_number_value(json_object_get(json_object_get(shown, report_value_name(value)), member));
}

static void
read_sums(Sites *sites, const json_t *document)
{
    const json_t *names = json_object_get(document, "values");
    double other = sum_of(document, value_other(sites->value), "total");
    sites->total = shown_of(sites->value, sum_of(document, sites->value, "total"), other);
    sites->error = value_is_mean(sites->value) ? NAN : sum_of(document, sites->value, "error");
    for (gsize i = 0; i < MIN(json_array_size(names), PROFILE_N_VALUES); i++) {
        ProfileValue value;
        const char *name = json_string_value(json_array_get(names, i));
        if (name != NULL && report_value_by_name(name, &value))
            sites->known[value] = TRUE;
    }
}

Sites *
sites_read(const json_t *document, GError **error)
{
    if (!check(document, error))
        return NULL;
    const json_t *table = json_object_get(document, "table");
    const json_t *stacks = json_object_get(document, "stacks");
    Sites *sites = g_new0(Sites, 1);
    sites->rows = g_array_new(FALSE, FALSE, sizeof(SiteRow));
    g_array_set_clear_func(sites->rows, clear_row);
    sites->notes = g_ptr_array_new_with_free_func(g_free);
    sites->value = value_of(document);
    sites->difference = json_is_object(json_object_get(document, "base"));
    sites->noise = json_number_value(json_object_get(document, "noise"));
    read_sums(sites, document);
    const json_t *hidden = json_object_get(stacks != NULL ? stacks : table, "hidden");
    sites->hidden = (guint)CLAMP(json_number_value(json_object_get(hidden, "count")), 0, G_MAXINT);
    Names names = {document, SITE_NAMES_BYTES};
    if (stacks != NULL)
        read_stacks(sites, &names, stacks);
    else
        read_table(sites, &names, table);
    read_notes(sites, document);
    return sites;
}

/* ---- flame graphs ---- */

static void
clear_flame_row(gpointer data)
{
    g_free(((FlameRow *)data)->name);
}

void
flame_free(Flame *flame)
{
    if (flame == NULL)
        return;
    g_array_unref(flame->rows);
    g_free(flame);
}

/* Sets the members of ROW that depend on its parent: its position after its previous siblings, and the key of its path.
 * FALSE: the rows are not in order. */
static gboolean
place_row(GArray *rows, GArray *used, FlameRow *row, json_int_t parent)
{
    double *taken;
    if (rows->len == 0) {
        row->parent = G_MAXUINT;
        row->key = PAGE_GRAPH_ROOT;
        return parent < 0;
    }
    if (parent < 0 || parent >= rows->len)
        return FALSE;
    const FlameRow *above = &g_array_index(rows, FlameRow, parent);
    taken = &g_array_index(used, double, parent);
    row->parent = (guint)parent;
    row->level = above->level + 1;
    row->begin = above->begin + *taken;
    row->key = page_graph_key(above->key, page_name_hash(row->name));
    *taken += row->extent;
    return TRUE;
}

static gboolean
read_flame_row(Flame *flame, GArray *used, Names *names, gsize i)
{
    const json_t *document = names->document;
    const json_t *graph = json_object_get(document, "graph");
    const json_t *frame = json_array_get(json_object_get(graph, "frame"), i);
    const json_t *origins = json_object_get(json_object_get(document, "frames"), "origin");
    const json_t *parent = json_array_get(json_object_get(graph, "parent"), i);
    const double nothing = 0;
    FlameRow row = {.total = number_at(graph, "total", i)};
    row.shown = shown_of(flame->value, row.total, number_at(graph, "other", i));
    row.extent = flame->difference ? number_at(graph, "extent", i) : row.total;
    row.name = g_strdup(json_integer_value(frame) < 0 ? "all" : take_name(names, frame));
    row.origin =
        (guint)CLAMP(json_integer_value(json_array_get(origins, (gsize)MAX(json_integer_value(frame), 0))), 0, 3);
    if (flame->difference) {
        row.change = row.total - number_at(graph, "base", i);
        row.significance = number_at(graph, "significance", i);
    }
    if (row.extent < 0 || !json_is_integer(parent) || !place_row(flame->rows, used, &row, json_integer_value(parent))) {
        g_free(row.name);
        return FALSE;
    }
    flame->levels = MAX(flame->levels, row.level + 1);
    g_array_append_val(flame->rows, row);
    g_array_append_val(used, nothing);
    return TRUE;
}

Flame *
flame_read(const json_t *document, GError **error)
{
    const json_t *graph = json_object_get(document, "graph");
    g_autoptr(GArray) used = g_array_new(FALSE, FALSE, sizeof(double));
    Names names = {document, SITE_NAMES_BYTES};
    if (!check(document, error))
        return NULL;
    Flame *flame = g_new0(Flame, 1);
    flame->value = value_of(document);
    flame->difference = json_is_object(json_object_get(document, "base"));
    flame->noise = json_number_value(json_object_get(document, "noise"));
    flame->path = (guint)CLAMP(json_number_value(json_object_get(graph, "path")), 0, SITE_ROWS_MAX);
    flame->rows = g_array_new(FALSE, FALSE, sizeof(FlameRow));
    g_array_set_clear_func(flame->rows, clear_flame_row);
    for (gsize i = 0; i < rows_of(graph, "total"); i++)
        if (!read_flame_row(flame, used, &names, i)) {
            g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL, "row %zu of the graph is malformed", i);
            flame_free(flame);
            return NULL;
        }
    return flame;
}
