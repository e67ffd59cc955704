/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines annotated with memory: of the functions that focus matches, or of the heaviest ones. */
#include "confine/keyed-hash.h"
#include "report/format.h"
#include "report/table.h"
#include "report/units.h"
#include "text/printable.h"

#include <math.h>
#include <string.h>

enum {
    SOURCE_DEFAULT_FUNCTIONS = 10,
    SOURCE_CONTEXT = 3, /* lines around a non-empty one */
};

typedef struct {
    const char *function, *file;
    GArray *rows; /* TableRow, by line */
    gdouble flat, cumulative;
} Listing;

typedef struct {
    const Report *report;
    Writer *writer;
    GHashTable *files; /* path -> GStrv of lines, empty if unreadable */
} Source;

static void
listing_free(gpointer listing)
{
    g_array_unref(((Listing *)listing)->rows);
    g_free(listing);
}

static char **
read_lines(const Source *source, const char *file)
{
    const ReportOptions *options = source->report->options;
    g_autofree char *path = g_strconcat(options->root ? options->root : "", "/", file, NULL);
    g_autofree char *text = options->files ? target_files_open_text(options->files, path, NULL) : NULL;

    return text ? g_strsplit(text, "\n", -1) : g_new0(char *, 1);
}

static char **
get_lines(const Source *source, const char *file)
{
    char **lines = g_hash_table_lookup(source->files, file);

    if (!lines) {
        lines = read_lines(source, file);
        g_hash_table_insert(source->files, g_strdup(file), lines);
    }
    return lines;
}

static gboolean
is_wanted(const Source *source, const ViewNode *node)
{
    const GRegex *focus = source->report->options->focus;

    if (!node->file || node->line == 0)
        return FALSE;
    return !focus || g_regex_match(focus, node->function, 0, NULL) || g_regex_match(focus, node->file, 0, NULL);
}

static Listing *
get_listing(GHashTable *listings, const ViewNode *node)
{
    g_autofree char *key = g_strdup_printf("%s\n%s", node->function, node->file);
    Listing *listing = g_hash_table_lookup(listings, key);

    if (!listing) {
        listing = g_new0(Listing, 1);
        listing->function = node->function;
        listing->file = node->file;
        listing->rows = g_array_new(FALSE, FALSE, sizeof(TableRow));
        g_hash_table_insert(listings, g_steal_pointer(&key), listing);
    }
    return listing;
}

static gint
compare_listings(gconstpointer a, gconstpointer b)
{
    const Listing *left = *(Listing *const *)a;
    const Listing *right = *(Listing *const *)b;

    if (left->flat != right->flat)
        return left->flat > right->flat ? -1 : 1;
    if (left->cumulative != right->cumulative)
        return left->cumulative > right->cumulative ? -1 : 1;
    return strcmp(left->function, right->function);
}

static gint
compare_lines(gconstpointer a, gconstpointer b, gpointer user)
{
    const View *view = ((const Source *)user)->report->view;
    guint32 left = view_node(view, ((const TableRow *)a)->node)->line;
    guint32 right = view_node(view, ((const TableRow *)b)->node)->line;

    return left < right ? -1 : left > right;
}

/* The rows by function, heaviest first. */
static GPtrArray *
collect(const Source *source, GHashTable *listings)
{
    g_autoptr(GArray) table = table_new(source->report->view, source->report->options);
    ProfileValue value = source->report->options->value;
    GPtrArray *sorted = g_ptr_array_new();
    GHashTableIter iter;
    gpointer listing;

    for (guint i = 0; i < table->len; i++) {
        const TableRow *row = &g_array_index(table, TableRow, i);
        const ViewNode *node = view_node(source->report->view, row->node);
        if (!is_wanted(source, node))
            continue;
        Listing *found = get_listing(listings, node);
        g_array_append_val(found->rows, *row);
        found->flat += fabs(table_change(row->flat, value));
        found->cumulative += fabs(table_change(row->cumulative, value));
    }
    g_hash_table_iter_init(&iter, listings);
    while (g_hash_table_iter_next(&iter, NULL, &listing))
        g_ptr_array_add(sorted, listing);
    g_ptr_array_sort(sorted, compare_listings);
    return sorted;
}

static void
write_amount(const Source *source, gdouble amount)
{
    UnitsFlags units = source->report->options->flags & REPORT_EXACT ? UNITS_EXACT : UNITS_PLAIN;
    char buffer[UNITS_BUFFER];

    if (view_n_sides(source->report->view) == 2)
        units |= UNITS_SIGNED;
    writer_format(source->writer, "%12s",
                  amount != 0 ? units_format(buffer, source->report->options->value, amount, units) : ".");
}

static void
write_line(const Source *source, const TableRow *row, guint32 number, const char *text)
{
    ProfileValue value = source->report->options->value;
    g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;

    write_amount(source, row ? table_shown_change(row->flat, value) : 0);
    write_amount(source, row ? table_shown_change(row->cumulative, value) : 0);
    for (char *c = valid; c && *c; c++)
        if ((guchar)*c < 0x20 && *c != '\t')
            *c = ' ';
    if (valid)
        text_clean(valid, strlen(valid) + 1);
    writer_format(source->writer, "%8u  %s\n", number, valid ? valid : "");
}

/* The lines of a file, and their number. */
typedef struct {
    char **lines;
    guint32 n;
} Text;

/* The lines around one row, up to the beginning of the next row's. */
static void
write_passage(const Source *source, const Listing *listing, guint index, guint32 *written, Text text)
{
    const TableRow *row = &g_array_index(listing->rows, TableRow, index);
    guint32 line = view_node(source->report->view, row->node)->line;
    char **lines = text.lines;
    guint32 n_lines = text.n;
    guint32 last = line;

    if (*written && line > *written + 1 + SOURCE_CONTEXT)
        writer_text(source->writer, "                        ...\n");
    for (guint32 i = MAX(*written + 1, line > SOURCE_CONTEXT ? line - SOURCE_CONTEXT : 1); i < line && i <= n_lines;
         i++)
        write_line(source, NULL, i, lines[i - 1]);
    write_line(source, row, line, line <= n_lines ? lines[line - 1] : NULL);
    if (index + 1 == listing->rows->len)
        for (; last < line + SOURCE_CONTEXT && last < n_lines; last++)
            write_line(source, NULL, last + 1, lines[last]);
    *written = line;
}

static void
write_listing(Source *source, Listing *listing)
{
    char **lines = get_lines(source, listing->file);
    guint32 written = 0;

    writer_format(source->writer, "%s  %s%s\n%12s%12s%8s\n", listing->function, listing->file,
                  *lines ? "" : "  (file not found: only its numbers are shown; see --sysroot)", "flat", "cum", "line");
    g_array_sort_with_data(listing->rows, compare_lines, source);
    const Text text = {lines, g_strv_length(lines)};
    for (guint i = 0; i < listing->rows->len; i++)
        write_passage(source, listing, i, &written, text);
    writer_text(source->writer, "\n");
}

gboolean
source_write(const Report *report, Writer *writer, GError **error)
{
    g_autoptr(GHashTable) listings = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, listing_free);
    g_autoptr(GHashTable) files =
        g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, (GDestroyNotify)g_strfreev);
    Source source = {.report = report, .writer = writer, .files = files};
    g_autoptr(GPtrArray) sorted = collect(&source, listings);
    guint32 limit = report->options->limit ? report->options->limit : SOURCE_DEFAULT_FUNCTIONS;

    text_write_header(report, writer);
    if (sorted->len == 0)
        writer_text(writer, "no line numbers: the program's debug information was not found, or nothing matches\n");
    for (guint i = 0; i < sorted->len && i < limit; i++)
        write_listing(&source, g_ptr_array_index(sorted, i));
    return TRUE;
}
