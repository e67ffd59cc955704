/* SPDX-License-Identifier: Apache-2.0 */
/* The targets: one row each, sorted, filtered, or grouped by control group. */
#include "confine/keyed-hash.h"
#include "tui/amount.h"
#include "tui/draw.h"
#include "tui/tui.h"
#include "tui/view.h"

#include "routes/unprofiled.h"

#include <string.h>

enum {
    NAME_MIN = 20,
    TREND_COLUMNS = 8,
};

/* The text of one cell. */
typedef struct {
    char *text;
    CellStyle style;
} ColumnText;

typedef struct {
    const char *word; /* sort key */
    const char *title;
    guint columns; /* 0: the remaining width */
    guint rank;    /* columns of higher rank are hidden first */
    gboolean right;
    ColumnText (*text)(const Model *model, const FeedTarget *target);
    /* Larger values sort first unless ascending. */
    gint (*compare)(const Model *model, const FeedTarget *one, const FeedTarget *other);
} Column;

static gint
compare_numbers(double one, double other)
{
    return (one > other) - (one < other);
}

static double
figure_or_none(const FeedTarget *target, StatusFigure figure)
{
    guint64 value = target->status.figures[figure];
    return value == STATUS_UNKNOWN ? -1 : (double)value;
}

/* The figure whose gain is shown: allocated memory if known. */
static StatusFigure
gain_figure(const FeedTarget *target)
{
    return target->status.figures[STATUS_ALLOCATED] != STATUS_UNKNOWN ? STATUS_ALLOCATED : STATUS_RSS;
}

static gboolean
gain_of(const Model *model, const FeedTarget *target, double *gain)
{
    const Track *track = model_track(model, target);
    return track != NULL && !target->gone && track_gain(track, gain_figure(target), gain);
}

static ColumnText
pid_text(const Model *model, const FeedTarget *target)
{
    char *pid = g_strdup_printf("%" G_GINT64_FORMAT, target->status.pid);
    if (target->status.pid == 0)
        g_snprintf(pid, 2, "-");
    return (ColumnText){pid, CELL_PLAIN};
}

static ColumnText
user_text(const Model *model, const FeedTarget *target)
{
    return (ColumnText){g_strdup(target->status.user), CELL_PLAIN};
}

static ColumnText
rss_text(const Model *model, const FeedTarget *target)
{
    return (ColumnText){amount_size(target->status.figures[STATUS_RSS]), CELL_PLAIN};
}

static ColumnText
allocated_text(const Model *model, const FeedTarget *target)
{
    return (ColumnText){amount_size(target->status.figures[STATUS_ALLOCATED]), CELL_PLAIN};
}

static ColumnText
resident_text(const Model *model, const FeedTarget *target)
{
    return (ColumnText){amount_size(target->status.figures[STATUS_RESIDENT]), CELL_PLAIN};
}

static ColumnText
gain_text(const Model *model, const FeedTarget *target)
{
    double gain;
    if (!gain_of(model, target, &gain))
        return (ColumnText){g_strdup("-"), CELL_FAINT};
    return (ColumnText){amount_change(gain), gain >= 1024 ? CELL_GROWN : gain <= -1024 ? CELL_SHRUNK : CELL_PLAIN};
}

static ColumnText
trend_text(const Model *model, const FeedTarget *target)
{
    const Track *track = model_track(model, target);
    return (ColumnText){track != NULL ? draw_spark(track, gain_figure(target), TREND_COLUMNS) : g_strdup(""),
                        CELL_BAR_1};
}

static ColumnText
profiling_text(const Model *model, const FeedTarget *target)
{
    const RouteStatus *status = &target->status;
    gboolean active = status->has_hello && (status->hello.flags & WIRE_FLAG_PROF_ACTIVE) != 0;
    if (target->gone)
        return (ColumnText){g_strdup("ended"), CELL_TROUBLE};
    if (status->trouble[0] != '\0')
        return (ColumnText){g_strdup("silent"), CELL_TROUBLE};
    if (target->late)
        return (ColumnText){g_strdup("late"), CELL_FAINT};
    if (!status->has_hello)
        return (ColumnText){g_strdup(strcmp(status->reach, "history") == 0 ? "-" : status->reach), CELL_FAINT};
    if (status->is_recording || status->hello.lease.id != 0)
        return (ColumnText){g_strdup(status->is_recording ? "record" : "lease"), CELL_ACTIVE};
    if (active)
        return (ColumnText){g_strdup("active"), CELL_ACTIVE};
    return (ColumnText){g_strdup(unprofiled_applies(&status->hello) ? "off" : "ready"), CELL_PLAIN};
}

/* The share of held memory that the last report of a dump explained. */
static ColumnText
coverage_text(const Model *model, const FeedTarget *target)
{
    double share = model_coverage(model, target);
    return (ColumnText){share < 0 ? g_strdup("-") : g_strdup_printf("%.0f%%", share * 100),
                        share < 0 ? CELL_FAINT : CELL_PLAIN};
}

static ColumnText
name_text(const Model *model, const FeedTarget *target)
{
    const char *blank = target->arguments[0] != '\0' ? " " : "";
    return (ColumnText){g_strconcat(target->status.name, blank, target->arguments, NULL),
                        target->gone ? CELL_FAINT : CELL_PLAIN};
}

/* ---- the part of the arguments that distinguishes targets of one name ---- */

/* The length of the common prefix of TEXT and OTHER, shortened to the start of a word. */
static gsize
alike(const char *text, const char *other)
{
    gsize length = 0, begin = 0;
    while (text[length] != '\0' && text[length] == other[length]) {
        length++;
        if (strchr(" /=:,", text[length - 1]) != NULL)
            begin = length;
    }
    return begin;
}

static gint
compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The arguments of the targets of each name (name -> GPtrArray of borrowed texts), sorted, each once: who has most in
 * common with others is next to them, and who has least is at an end, whatever the number of targets. */
static GHashTable *
sort_arguments(const Model *model)
{
    GHashTable *names = g_hash_table_new_full(keyed_hash_string, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
    GHashTableIter iterator;
    gpointer value;
    for (guint i = 0; model->frame != NULL && i < model->frame->targets->len; i++) {
        const FeedTarget *target = model->frame->targets->pdata[i];
        GPtrArray *texts = g_hash_table_lookup(names, target->status.name);
        if (texts == NULL) {
            texts = g_ptr_array_new();
            g_hash_table_insert(names, (gpointer)(guintptr)target->status.name, texts);
        }
        g_ptr_array_add(texts, (gpointer)(guintptr)target->arguments);
    }
    g_hash_table_iter_init(&iterator, names);
    while (g_hash_table_iter_next(&iterator, NULL, &value)) {
        GPtrArray *texts = value;
        guint kept = 0;
        g_ptr_array_sort(texts, compare_texts);
        for (guint i = 0; i < texts->len; i++)
            if (kept == 0 || strcmp(texts->pdata[i], texts->pdata[kept - 1]) != 0)
                texts->pdata[kept++] = texts->pdata[i];
        g_ptr_array_set_size(texts, (gint)kept);
    }
    return names;
}

/* The index of TEXT in the sorted TEXTS, which have it. */
static guint
place_of(const GPtrArray *texts, const char *text)
{
    guint low = 0, high = texts->len;
    while (high - low > 1) {
        const guint middle = low + (high - low) / 2;
        if (strcmp(text, texts->pdata[middle]) < 0)
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* The offsets at which the arguments of TARGET first differ from those of any target of the same name (*FIRST), and
 * from the most similar ones (*LAST). FALSE if there is no other target, or none with other arguments. */
static gboolean
find_difference(GHashTable *names, const FeedTarget *target, gsize *first, gsize *last)
{
    const GPtrArray *texts = g_hash_table_lookup(names, target->status.name);
    const guint place = place_of(texts, target->arguments), end = texts->len - 1;
    const guint others[] = {0, place > 0 ? place - 1 : 0, MIN(place + 1, end), end};
    *first = G_MAXSIZE;
    *last = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++) {
        if (others[i] == place)
            continue;
        gsize begin = alike(target->arguments, texts->pdata[others[i]]);
        *first = MIN(*first, begin);
        *last = MAX(*last, begin);
    }
    return *first != G_MAXSIZE;
}

/* The name with all arguments if they fit into COLUMNS; else without the arguments common to the targets of this
 * name. */
static ColumnText
name_text_in(const Model *model, GHashTable *names, const FeedTarget *target, guint columns)
{
    ColumnText whole = name_text(model, target);
    gsize begins[2];
    if (cells_text_width(whole.text) <= columns || !find_difference(names, target, &begins[0], &begins[1]))
        return whole;
    for (gsize i = 0; i < G_N_ELEMENTS(begins); i++) {
        g_autofree char *text =
            g_strconcat(target->status.name, begins[i] > 0 ? " \u2026" : " ", target->arguments + begins[i], NULL);
        if (cells_text_width(text) <= columns || i + 1 == G_N_ELEMENTS(begins)) {
            g_free(whole.text);
            whole.text = g_steal_pointer(&text);
            break;
        }
    }
    return whole;
}

static gint
compare_pid(const Model *model, const FeedTarget *one, const FeedTarget *other)
{
    return compare_numbers((double)other->status.pid, (double)one->status.pid);
}

static gint
compare_user(const Model *model, const FeedTarget *one, const FeedTarget *other)
{
    return strcmp(other->status.user, one->status.user);
}

static gint
compare_rss(const Model *model, const FeedTarget *one, const FeedTarget *other)
{
    return compare_numbers(figure_or_none(one, STATUS_RSS), figure_or_none(other, STATUS_RSS));
}

static gint
compare_allocated(const Model *model, const FeedTarget *one, const FeedTarget *other)
{
    return compare_numbers(figure_or_none(one, STATUS_ALLOCATED), figure_or_none(other, STATUS_ALLOCATED));
}

static gint
compare_resident(const Model *model, const FeedTarget *one, const FeedTarget *other)
{
    return compare_numbers(figure_or_none(one, STATUS_RESIDENT), figure_or_none(other, STATUS_RESIDENT));
}

static gint
compare_gain(const Model *model, const FeedTarget *one, const FeedTarget *other)
{
    double gains[2] = {-G_MAXDOUBLE, -G_MAXDOUBLE};
    gain_of(model, one, &gains[0]);
    gain_of(model, other, &gains[1]);
    return compare_numbers(gains[0], gains[1]);
}

static gint
compare_profiling(const Model *model, const FeedTarget *one, const FeedTarget *other)
{
    g_autofree char *left = profiling_text(model, one).text;
    g_autofree char *right = profiling_text(model, other).text;
    return strcmp(right, left);
}

static gint
compare_coverage(const Model *model, const FeedTarget *one, const FeedTarget *other)
{
    return compare_numbers(model_coverage(model, one), model_coverage(model, other));
}

static gint
compare_name(const Model *model, const FeedTarget *one, const FeedTarget *other)
{
    gint order = strcmp(other->status.name, one->status.name);
    return order != 0 ? order : strcmp(other->arguments, one->arguments);
}

static const Column columns[] = {
    {"pid", "PID", 7, 0, TRUE, pid_text, compare_pid},
    {"user", "USER", 8, 6, FALSE, user_text, compare_user},
    {"rss", "RSS", 10, 1, TRUE, rss_text, compare_rss},
    {"allocated", "ALLOCATED", 10, 3, TRUE, allocated_text, compare_allocated},
    {"resident", "RESIDENT", 10, 7, TRUE, resident_text, compare_resident},
    {"gain", "GAIN/min", 11, 2, TRUE, gain_text, compare_gain},
    {"trend", "TREND", TREND_COLUMNS, 5, FALSE, trend_text, compare_gain},
    {"profiling", "PROFILE", 7, 4, FALSE, profiling_text, compare_profiling},
    {"coverage", "COVER", 6, 8, TRUE, coverage_text, compare_coverage},
    {"name", "NAME", 0, 0, FALSE, name_text, compare_name},
};

const char *const targets_sort_words[] = {"pid",   "user",      "rss",      "allocated", "resident", "gain",
                                          "trend", "profiling", "coverage", "name",      NULL};
G_STATIC_ASSERT(G_N_ELEMENTS(targets_sort_words) == G_N_ELEMENTS(columns) + 1);

/* ---- rows ---- */

/* A target, or the heading of a group. */
typedef struct {
    FeedTarget *target; /* NULL: a group */
    char *group;        /* owned; NULL: a target */
    guint64 rss;        /* for a group: the sum */
} Row;

static void
clear_row(gpointer row)
{
    g_free(((Row *)row)->group);
}

static GArray *
new_rows(void)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(Row));
    g_array_set_clear_func(rows, clear_row);
    return rows;
}

static gboolean
contains(const char *text, const char *folded)
{
    g_autofree char *own = g_utf8_casefold(text, -1);
    return strstr(own, folded) != NULL;
}

static gboolean
passes(const Model *model, const FeedTarget *target)
{
    char pid[24];
    if (model->filter[0] == '\0')
        return TRUE;
    g_autofree char *folded = g_utf8_casefold(model->filter, -1);
    g_snprintf(pid, sizeof(pid), "%" G_GINT64_FORMAT, target->status.pid);
    const char *const texts[] = {target->status.name, target->arguments, target->status.user,
                                 target->status.control_group, pid};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        if (contains(texts[i], folded))
            return TRUE;
    return FALSE;
}

static gint
compare_targets(gconstpointer a, gconstpointer b, gpointer data)
{
    const Model *model = data;
    const FeedTarget *one = ((const Row *)a)->target;
    const FeedTarget *other = ((const Row *)b)->target;
    gint order = columns[model->sort].compare(model, other, one);
    if (order == 0)
        order = (one->status.pid > other->status.pid) - (one->status.pid < other->status.pid);
    return model->ascending ? -order : order;
}

/* The innermost service or scope in the path of a control group. */
static char *
unit_of(const char *group)
{
    g_auto(GStrv) parts = g_strsplit(group, "/", -1);
    for (guint i = g_strv_length(parts); i > 0; i--)
        if (g_str_has_suffix(parts[i - 1], ".service") || g_str_has_suffix(parts[i - 1], ".scope"))
            return g_strdup(parts[i - 1]);
    return g_strdup("(no unit)");
}

static char *
group_of(const Model *model, const FeedTarget *target)
{
    const char *group = target->status.control_group;
    if (model->tree == TREE_UNITS)
        return unit_of(group);
    return g_strdup(group[0] != '\0' ? group : "(no control group)");
}

static guint64
known_rss(const FeedTarget *target)
{
    guint64 rss = target->status.figures[STATUS_RSS];
    return rss != STATUS_UNKNOWN && !target->gone ? rss : 0;
}

/* Groups the rows: groups in the order of their first members, members in their previous order. Users choose the number
 * of groups. */
static GArray *
below_groups(const Model *model, const GArray *flat)
{
    GArray *rows = new_rows();
    g_autoptr(GPtrArray) groups =
        g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);              /* of Row: the heading first */
    g_autoptr(GHashTable) known = g_hash_table_new(keyed_hash_string, g_str_equal); /* group -> its array */
    for (guint i = 0; i < flat->len; i++) {
        const Row *row = &g_array_index(flat, Row, i);
        g_autofree char *name = group_of(model, row->target);
        GArray *group = g_hash_table_lookup(known, name);
        if (group == NULL) {
            const Row head = {.group = g_steal_pointer(&name)};
            group = g_array_new(FALSE, FALSE, sizeof(Row));
            g_array_append_val(group, head);
            g_ptr_array_add(groups, group);
            g_hash_table_insert(known, head.group, group);
        }
        g_array_index(group, Row, 0).rss += known_rss(row->target);
        g_array_append_vals(group, row, 1);
    }
    for (guint i = 0; i < groups->len; i++) {
        const GArray *group = groups->pdata[i];
        g_array_append_vals(rows, group->data, group->len);
    }
    return rows;
}

static GArray *
list_rows(Model *model)
{
    GArray *rows = new_rows();
    for (guint i = 0; model->frame != NULL && i < model->frame->targets->len; i++) {
        Row row = {.target = model->frame->targets->pdata[i]};
        if (passes(model, row.target))
            g_array_append_val(rows, row);
    }
    g_array_sort_with_data(rows, compare_targets, model);
    if (model->tree == TREE_NONE)
        return rows;
    GArray *grouped = below_groups(model, rows);
    g_array_unref(rows);
    return grouped;
}

static const char *
row_key(const Row *row)
{
    return row->target != NULL ? row->target->key : row->group;
}

/* The row of the cursor: the row with its key, or its last position. */
static guint
cursor_row(const Model *model, const GArray *rows)
{
    for (guint i = 0; model->place.key != NULL && i < rows->len; i++)
        if (strcmp(row_key(&g_array_index(rows, Row, i)), model->place.key) == 0)
            return i;
    return MIN(model->place.row, rows->len > 0 ? rows->len - 1 : 0);
}

FeedTarget *
targets_chosen(Model *model)
{
    g_autoptr(GArray) rows = list_rows(model);
    return rows->len > 0 ? g_array_index(rows, Row, cursor_row(model, rows)).target : NULL;
}

/* ---- drawing ---- */

/* The columns that fit, as bits; the name takes the remaining width. */
static guint
fitting_columns(guint width)
{
    guint shown = (1u << G_N_ELEMENTS(columns)) - 1;
    for (;;) {
        guint needed = NAME_MIN;
        guint worst = 0;
        for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
            if ((shown & 1u << i) == 0)
                continue;
            needed += columns[i].columns > 0 ? columns[i].columns + 1 : 0;
            worst = columns[i].rank > columns[worst].rank || (shown & 1u << worst) == 0 ? i : worst;
        }
        if (needed <= width || columns[worst].rank == 0)
            return shown;
        shown &= ~(1u << worst);
    }
}

static void
put_field(Cells *cells, CellSpan span, const Column *column, const ColumnText *field)
{
    if (column->right)
        cells_put_right(cells, span, field->style, field->text);
    else
        cells_put(cells, span, field->style, field->text);
}

static CellSpan
span_of(const Cells *cells, guint row, guint at, const Column *column)
{
    guint rest = cells->columns > at ? cells->columns - at : 0;
    return (CellSpan){row, at, column->columns > 0 ? MIN(column->columns, rest) : rest};
}

static void
draw_heading(const Model *model, Cells *cells, guint row, guint shown)
{
    guint at = 0;
    cells_set_style(cells, (CellSpan){row, 0, cells->columns}, CELL_HEADING);
    for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
        if ((shown & 1u << i) == 0)
            continue;
        CellSpan span = span_of(cells, row, at, &columns[i]);
        gboolean sorted = i == model->sort;
        g_autofree char *title = g_strconcat(columns[i].title,
                                             !sorted            ? ""
                                             : model->ascending ? "\u25b2"
                                                                : "\u25bc",
                                             NULL);
        const ColumnText field = {title, sorted ? CELL_SORTED : CELL_HEADING};
        at += span.columns + 1;
        /* The sort mark may use the blank between columns. */
        if (sorted && !columns[i].right && at <= cells->columns)
            span.columns++;
        put_field(cells, span, &columns[i], &field);
    }
}

static void
draw_group(Cells *cells, guint row, const Row *group)
{
    g_autofree char *size = amount_size(group->rss);
    cells_print(cells, (CellSpan){row, 0, cells->columns}, CELL_STRONG, "%s  %s", group->group, size);
}

static void
draw_target(const Model *model, Cells *cells, guint row, const FeedTarget *target, GHashTable *names)
{
    guint shown = fitting_columns(cells->columns);
    guint at = 0;
    for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
        if ((shown & 1u << i) == 0)
            continue;
        CellSpan span = span_of(cells, row, at, &columns[i]);
        if (model->tree != TREE_NONE && columns[i].columns == 0)
            span.column += cells_put(cells, span, CELL_FAINT, "\u2514 "), span.columns -= MIN(span.columns, 2);
        ColumnText field =
            columns[i].columns == 0 ? name_text_in(model, names, target, span.columns) : columns[i].text(model, target);
        put_field(cells, span, &columns[i], &field);
        at += span_of(cells, row, at, &columns[i]).columns + 1;
        g_free(field.text);
    }
}

static void
draw_empty(const Model *model, Cells *cells, guint row)
{
    const char *trouble = model->frame != NULL ? model->frame->trouble : NULL;
    const char *why = trouble != NULL                                 ? trouble
                      : model->frame == NULL || model->frame->looking ? "looking for processes that use jemalloc"
                      : model->filter[0] != '\0' ? "no target matches the filter; \\ and Enter clear it"
                                                 : "no process uses jemalloc, of those that this user may see";
    cells_put(cells, (CellSpan){row, 0, cells->columns}, CELL_FAINT, why);
}

static void
draw(Model *model, Cells *cells, guint first, guint limit)
{
    g_autoptr(GArray) rows = list_rows(model);
    g_autoptr(GHashTable) names = sort_arguments(model);
    guint cursor = cursor_row(model, rows);
    model->columns = cells->columns;
    model->page = limit - first - 1;
    list_show(&model->place.top, cursor, rows->len, model->page);
    draw_heading(model, cells, first, fitting_columns(cells->columns));
    if (rows->len == 0 && model->page > 0)
        draw_empty(model, cells, first + 1);
    for (guint i = 0; i < model->page && model->place.top + i < rows->len; i++) {
        const Row *row = &g_array_index(rows, Row, model->place.top + i);
        guint at = first + 1 + i;
        if (row->target != NULL)
            draw_target(model, cells, at, row->target, names);
        else
            draw_group(cells, at, row);
        if (model->place.top + i == cursor && !model->still)
            cells_set_style(cells, (CellSpan){at, 0, cells->columns}, CELL_SELECTED);
    }
}

/* ---- keys ---- */

static void
set_place(Model *model, const GArray *rows, guint row)
{
    g_free(model->place.key);
    model->place.row = row;
    model->place.key = row < rows->len ? g_strdup(row_key(&g_array_index(rows, Row, row))) : NULL;
}

static void
follow(Model *model, gpointer data)
{
    const FeedTarget *target = model_find(model, data);
    g_autoptr(GError) error = NULL;
    if (target != NULL && !model->feed->ops->follow(model->feed, target, &error))
        model_show_message(model, "%s", error->message);
    if (target != NULL && error == NULL)
        model_open(model, data);
}

/* A target without an agent has to be stopped for a moment to be read. */
static void
ask_to_follow(Model *model, const FeedTarget *target)
{
    Question question = {
        .text = g_strdup_printf("%s (%" G_GINT64_FORMAT
                                ") has no agent: stop one of its threads for a moment every %u s to read statistics?",
                                target->status.name, target->status.pid, MAX(model->every_ms / 1000, 1)),
        .yes = follow,
        .data = g_strdup(target->key),
        .free_data = g_free};
    model_ask(model, &question);
}

static void
enter(Model *model)
{
    const FeedTarget *target = targets_chosen(model);
    if (target == NULL)
        return;
    gboolean unasked = strcmp(target->status.reach, "attach") == 0 && !target->status.has_hello && !target->gone;
    if (!unasked || model->feed == NULL || model->feed->ops->follow == NULL)
        model_open(model, target->key);
    else if (model->readonly)
        model_show_message(model, "--readonly: statistics of %s need a stop of one of its threads",
                           target->status.name);
    else
        ask_to_follow(model, target);
}

static void
sort_by(Model *model, guint column)
{
    model->sort = column % G_N_ELEMENTS(columns);
    model->ascending = FALSE;
}

static void
set_filter(Model *model, const char *text)
{
    g_free(model->filter);
    model->filter = g_strdup(text);
}

/* Sorts by the next visible column, in steps of STEP. */
static void
sort_by_next(Model *model, guint step)
{
    guint shown = fitting_columns(model->columns);
    do
        sort_by(model, model->sort + step);
    while ((shown & 1u << model->sort) == 0);
}

/* Sorts by the column whose heading is at COLUMN; reverses the order if it is the sort column already. */
static void
sort_at(Model *model, guint column)
{
    guint shown = fitting_columns(model->columns);
    guint at = 0;
    for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
        if ((shown & 1u << i) == 0)
            continue;
        if (column >= at && (columns[i].columns == 0 || column <= at + columns[i].columns)) {
            gboolean again = i == model->sort;
            gboolean ascending = model->ascending;
            sort_by(model, i);
            model->ascending = again && !ascending;
            return;
        }
        at += columns[i].columns + 1;
    }
}

/* A click on the heading sorts; a click on a row selects it. */
static void
click(Model *model, const GArray *rows, const Key *key)
{
    if (key->row == 1)
        sort_at(model, key->column);
    if (key->row < 2 || model->place.top + key->row - 2 >= rows->len)
        return;
    set_place(model, rows, model->place.top + key->row - 2);
    if (key->code == KEY_IS_DOUBLE)
        enter(model);
}

static gboolean
sort_key(Model *model, gunichar letter)
{
    static const struct {
        gunichar letter;
        guint column;
    } sorts[] = {{'N', 0}, {'U', 1}, {'M', 2}, {'A', 3}, {'R', 4}, {'+', 5}, {'O', 8}, {'C', 9}};
    for (gsize i = 0; i < G_N_ELEMENTS(sorts); i++)
        if (sorts[i].letter == letter) {
            sort_by(model, sorts[i].column);
            return TRUE;
        }
    return FALSE;
}

static gboolean
letter_key(Model *model, gunichar letter)
{
    switch (letter) {
    case '>':
    case '.':
        sort_by_next(model, 1);
        return TRUE;
    case '<':
    case ',':
        sort_by_next(model, G_N_ELEMENTS(columns) - 1);
        return TRUE;
    case 'I':
        model->ascending = !model->ascending;
        return TRUE;
    case '/':
    case '\\':
        model_type(model, "filter", model->filter, set_filter);
        return TRUE;
    case 't':
        model->tree = (model->tree + 1) % TREES;
        return TRUE;
    default:
        return sort_key(model, letter);
    }
}

static gboolean
key(Model *model, const Key *pressed)
{
    g_autoptr(GArray) rows = list_rows(model);
    guint row = cursor_row(model, rows);
    if (pressed->code == KEY_IS_LETTER && letter_key(model, pressed->letter))
        return TRUE;
    if (pressed->code == KEY_IS_TREE)
        model->tree = (model->tree + 1) % TREES;
    else if (pressed->code == KEY_IS_ENTER || pressed->code == KEY_IS_RIGHT)
        enter(model);
    else if (pressed->code == KEY_IS_CLICK || pressed->code == KEY_IS_DOUBLE)
        click(model, rows, pressed);
    else if (list_move(&row, pressed, rows->len, model->page))
        set_place(model, rows, row);
    else
        return FALSE;
    return TRUE;
}

static const ViewKey keys[] = {
    {"/, \\, F3, F4", "filter", VIEW_KEY_BRIEF},
    {">, <, F6", "sort by the next or the previous column", VIEW_KEY_HELP},
    {"I", "reverse the order", VIEW_KEY_HELP},
    {"M, A, R, +", "sort by RSS, allocated, resident, gain", VIEW_KEY_HELP},
    {"O, C, N, U", "sort by coverage, name, pid, user", VIEW_KEY_HELP},
    {"t, F5", "tree: by control group, by unit, none", VIEW_KEY_HELP},
    {0},
};

const View targets_view = {.name = "targets", .keys = keys, .draw = draw, .key = key};
