/* SPDX-License-Identifier: Apache-2.0 */
/* Sites: the functions, lines or stacks that hold a target's memory, from a heap dump. */
#include "tui/amount.h"
#include "tui/explore.h"
#include "tui/view.h"

#include <math.h>
#include <string.h>

enum {
    VALUE_COLUMNS = 11,
    ERROR_COLUMNS = 12,
    COUNT_COLUMNS = 9,
    SIGNIFICANCE_COLUMNS = 6,
    NARROW = 60, /* width in columns below which only values and names are shown */
    FRAMES_SHOWN = 8,
};

static const char *const mode_names[SITES_MODES] = {
    [SITES_FUNCTIONS] = "functions", [SITES_LINES] = "lines", [SITES_STACKS] = "stacks"};

static void
put_value(Cells *cells, CellSpan span, CellStyle style, char *text)
{
    cells_put_right(cells, (CellSpan){span.row, span.column, span.columns - 1}, style, text);
    g_free(text);
}

/* A column of the list. */
typedef struct {
    const char *title;
    guint columns;
    guint rank; /* columns of higher rank are hidden first */
    gboolean of_difference;
    gboolean of_stacks;
    gboolean of_functions; /* shown for functions and lines */
    void (*put)(const Sites *sites, const SiteRow *row, Cells *cells, CellSpan span);
} SiteColumn;

static void
put_own(const Sites *sites, const SiteRow *row, Cells *cells, CellSpan span)
{
    put_value(cells, span, CELL_STRONG, amount_value(sites->value, row->own, UNITS_PLAIN));
}

static void
put_error(const Sites *sites, const SiteRow *row, Cells *cells, CellSpan span)
{
    g_autofree char *error = amount_value(sites->value, row->own_error, UNITS_PLAIN);
    put_value(cells, span, CELL_FAINT, isnan(row->own_error) ? g_strdup("-") : g_strconcat("\u00b1 ", error, NULL));
}

static void
put_total(const Sites *sites, const SiteRow *row, Cells *cells, CellSpan span)
{
    put_value(cells, span, CELL_PLAIN, amount_value(sites->value, row->total, UNITS_PLAIN));
}

static void
put_objects(const Sites *sites, const SiteRow *row, Cells *cells, CellSpan span)
{
    put_value(cells, span, CELL_PLAIN, isnan(row->objects) ? g_strdup("-") : g_strdup_printf("%.0f", row->objects));
}

/* A change within the sampling error has the plain style. */
static CellStyle
gain_style(const Sites *sites, const SiteRow *row)
{
    if (fabs(row->significance) <= sites->noise)
        return CELL_FAINT;
    return row->gain > 0 ? CELL_GROWN : CELL_SHRUNK;
}

static void
put_gain(const Sites *sites, const SiteRow *row, Cells *cells, CellSpan span)
{
    put_value(cells, span, gain_style(sites, row), amount_value(sites->value, row->gain, UNITS_SIGNED));
}

static void
put_significance(const Sites *sites, const SiteRow *row, Cells *cells, CellSpan span)
{
    gboolean noise = fabs(row->significance) <= sites->noise;
    put_value(cells, span, gain_style(sites, row),
              noise ? g_strdup("noise") : g_strdup_printf("%.1f", fabs(row->significance)));
}

static void
put_share(const Sites *sites, const SiteRow *row, Cells *cells, CellSpan span)
{
    put_value(cells, span, CELL_PLAIN,
              sites->total > 0 && !value_is_mean(sites->value)
                  ? g_strdup_printf("%.1f%%", row->own / sites->total * 100)
                  : g_strdup("-"));
}

static const SiteColumn columns[] = {
    {"OWN", VALUE_COLUMNS, 0, FALSE, FALSE, FALSE, put_own},
    {"ERROR", ERROR_COLUMNS, 2, FALSE, FALSE, FALSE, put_error},
    {"SHARE", SIGNIFICANCE_COLUMNS + 1, 3, FALSE, FALSE, FALSE, put_share},
    {"TOTAL", VALUE_COLUMNS, 4, FALSE, FALSE, TRUE, put_total},
    {"OBJECTS", COUNT_COLUMNS, 4, FALSE, TRUE, FALSE, put_objects},
    {"OBJECTS", COUNT_COLUMNS, 7, FALSE, FALSE, TRUE, put_objects},
    {"GAIN", VALUE_COLUMNS, 1, TRUE, FALSE, FALSE, put_gain},
    {"SIGMA", SIGNIFICANCE_COLUMNS, 2, TRUE, FALSE, FALSE, put_significance},
};

static gboolean
is_shown(const Explore *explore, const Cells *cells, const SiteColumn *column)
{
    gboolean difference = explore->sites->difference;
    if ((column->of_difference && !difference) || (column->of_stacks && explore->mode != SITES_STACKS) ||
        (column->of_functions && explore->mode == SITES_STACKS))
        return FALSE;
    /* The change columns also need space. */
    guint rank = column->rank + (difference ? 2 : 0);
    return column->rank == 0 || column->of_difference ||
           cells->columns >= NARROW + rank * VALUE_COLUMNS / 2 - VALUE_COLUMNS;
}

static const SiteRow *
row_at(const Explore *explore, guint row)
{
    return &g_array_index(explore->sites->rows, SiteRow, row);
}

static gboolean
is_found(const Explore *explore, const SiteRow *row)
{
    if (explore->search == NULL || explore->search[0] == '\0')
        return FALSE;
    g_autofree char *name = g_utf8_casefold(row->name, -1);
    g_autofree char *sought = g_utf8_casefold(explore->search, -1);
    return strstr(name, sought) != NULL;
}

static void
draw_row(const Explore *explore, Cells *cells, guint at, guint row)
{
    guint column = 0;
    const SiteRow *site = row_at(explore, row);
    for (gsize i = 0; i < G_N_ELEMENTS(columns); i++) {
        if (!is_shown(explore, cells, &columns[i]))
            continue;
        columns[i].put(explore->sites, site, cells, (CellSpan){at, column, columns[i].columns});
        column += columns[i].columns;
    }
    if (column < cells->columns)
        cells_put(cells, (CellSpan){at, column, cells->columns - column},
                  is_found(explore, site) ? CELL_FOUND : CELL_PLAIN, site->name);
}

static void
draw_heading(const Explore *explore, Cells *cells, guint at)
{
    guint column = 0;
    cells_set_style(cells, (CellSpan){at, 0, cells->columns}, CELL_HEADING);
    for (gsize i = 0; i < G_N_ELEMENTS(columns); i++) {
        if (!is_shown(explore, cells, &columns[i]))
            continue;
        cells_put_right(cells, (CellSpan){at, column, columns[i].columns - 1}, CELL_HEADING, columns[i].title);
        column += columns[i].columns;
    }
    if (column < cells->columns)
        cells_put(cells, (CellSpan){at, column, cells->columns - column}, CELL_HEADING,
                  explore->mode == SITES_STACKS ? "STACK, ALLOCATION FIRST" : "NAME");
}

static char *
clock_of(gint64 time_us)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(time_us / G_USEC_PER_SEC);
    return time != NULL ? g_date_time_format(time, "%H:%M:%S") : g_strdup("?");
}

/* Draws the value, the times of the dump and the mark, and the filters. */
static void
draw_summary(const Explore *explore, Cells *cells, guint at)
{
    const Sites *sites = explore->sites;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *now = clock_of(explore->now.time_us);
    g_autofree char *total = amount_value(sites->value, sites->total, UNITS_PLAIN);
    g_string_append(text, total);
    if (!isnan(sites->error)) {
        g_autofree char *error = amount_value(sites->value, sites->error, UNITS_PLAIN);
        g_string_append_printf(text, " \u00b1 %s", error);
    }
    g_string_append_printf(text, "%s in %u %s at %s", explore_value_note(sites->value),
                           sites->rows->len + sites->hidden, mode_names[explore->mode], now);
    if (sites->difference) {
        g_autofree char *mark = clock_of(explore->mark.time_us);
        g_string_append_printf(text, ", gain since %s", mark);
    }
    if (explore->focus != NULL && explore->focus[0] != '\0')
        g_string_append_printf(text, ", focus %s", explore->focus);
    if (explore->ignore != NULL && explore->ignore[0] != '\0')
        g_string_append_printf(text, ", ignore %s", explore->ignore);
    if (explore->wrappers)
        g_string_append(text, ", with wrappers");
    cells_put(cells, (CellSpan){at, 0, cells->columns}, CELL_PLAIN, text->str);
}

/* Draws the frames of the stack under the cursor, one per row. */
static void
draw_frames(const Explore *explore, Cells *cells, guint first, guint limit)
{
    g_auto(GStrv) frames = g_strsplit(row_at(explore, explore->row)->name, " < ", -1);
    for (guint i = 0; frames[i] != NULL && first + i < limit; i++)
        cells_print(cells, (CellSpan){first + i, 0, cells->columns}, i == 0 ? CELL_STRONG : CELL_PLAIN, "%s%s",
                    i == 0 ? "" : "  ", frames[i]);
}

/* Why the list is empty. */
static const char *
nothing_shown(const Explore *explore)
{
    if (explore->focus != NULL && explore->focus[0] != '\0')
        return "no stack matches the focus; F changes it, empty ends it";
    if (explore->ignore != NULL && explore->ignore[0] != '\0')
        return "the rest is ignored; x changes that, empty ends it";
    return explore->sites->difference ? "nothing has changed since the mark" : "the dump has no samples";
}

static void
draw_list(Model *model, Cells *cells, guint first, guint limit)
{
    Explore *explore = model->explore;
    gboolean frames =
        explore->mode == SITES_STACKS && explore->sites->rows->len > 0 && limit - first > 2 * FRAMES_SHOWN;
    guint end = frames ? limit - FRAMES_SHOWN - 1 : limit;
    draw_heading(explore, cells, first);
    explore->first = first + 1;
    model->page = end - first - 1;
    list_show(&explore->top, explore->row, explore->sites->rows->len, model->page);
    if (explore->sites->rows->len == 0 && model->page > 0)
        cells_put(cells, (CellSpan){first + 1, 0, cells->columns}, CELL_FAINT, nothing_shown(explore));
    for (guint i = 0; i < model->page && explore->top + i < explore->sites->rows->len; i++) {
        draw_row(explore, cells, first + 1 + i, explore->top + i);
        if (explore->top + i == explore->row)
            cells_set_style(cells, (CellSpan){first + 1 + i, 0, cells->columns}, CELL_SELECTED);
    }
    if (frames)
        draw_frames(explore, cells, end + 1, limit);
}

static void
draw(Model *model, Cells *cells, guint first, guint limit)
{
    const Explore *explore = model->explore;
    const CellSpan whole = {first, 0, cells->columns};
    if (explore == NULL || explore->sites == NULL) {
        const char *trouble = explore != NULL ? explore->trouble : NULL;
        cells_put(cells, whole, trouble != NULL ? CELL_TROUBLE : CELL_FAINT,
                  trouble != NULL ? trouble : "waiting for the report");
        return;
    }
    draw_summary(explore, cells, first);
    if (explore->sites->notes->len > 0 && limit - first > 6)
        cells_put(cells, (CellSpan){++first, 0, cells->columns}, CELL_FAINT, explore->sites->notes->pdata[0]);
    if (limit - first > 2)
        draw_list(model, cells, first + 1, limit);
}

/* ---- keys ---- */

static void
set_text(Model *model, char **place, const char *text)
{
    g_free(*place);
    *place = g_strdup(text);
}

static void
set_focus(Model *model, const char *text)
{
    set_text(model, &model->explore->focus, text);
    explore_refresh(model);
}

static void
set_ignore(Model *model, const char *text)
{
    set_text(model, &model->explore->ignore, text);
    explore_refresh(model);
}

/* Moves to the next matching row after the cursor, or the previous one. */
static void
find(Model *model, gboolean backwards)
{
    Explore *explore = model->explore;
    guint count = explore->sites != NULL ? explore->sites->rows->len : 0;
    for (guint i = 1; i <= count; i++) {
        guint row = (explore->row + (backwards ? count - i : i)) % count;
        if (is_found(explore, row_at(explore, row))) {
            explore->row = row;
            return;
        }
    }
    if (explore->search != NULL && explore->search[0] != '\0')
        model_show_message(model, "not found: %s", explore->search);
}

static void
set_search(Model *model, const char *text)
{
    set_text(model, &model->explore->search, text);
    find(model, FALSE);
}

/* Opens the flame graph of the stacks that contain the selected function. */
static void
open_flame(Model *model)
{
    Explore *explore = model->explore;
    if (explore->sites == NULL || explore->sites->rows->len == 0)
        return;
    if (explore->mode == SITES_FUNCTIONS) {
        g_autofree char *name = g_regex_escape_string(row_at(explore, explore->row)->name, -1);
        set_text(model, &explore->focus, name);
    }
    g_array_set_size(explore->zooms, 0);
    model_enter(model, VIEW_FLAME);
    explore_refresh(model);
}

static gboolean
letter_key(Model *model, gunichar letter)
{
    Explore *explore = model->explore;
    switch (letter) {
    case 'v':
        explore->mode = (explore->mode + 1) % SITES_MODES;
        break;
    case 'o':
        explore_next_value(model);
        return TRUE;
    case 's':
        explore->sort = (explore->sort + 1) % SITES_SORTS;
        break;
    case 'w':
        explore->wrappers = !explore->wrappers;
        break;
    case '/':
        model_type(model, "search", explore->search, set_search);
        return TRUE;
    case 'F':
        model_type(model, "focus on stacks with (regex)", explore->focus, set_focus);
        return TRUE;
    case 'x':
        model_type(model, "ignore stacks with (regex)", explore->ignore, set_ignore);
        return TRUE;
    case 'n':
    case 'N':
        find(model, letter == 'N');
        return TRUE;
    case 'f':
        g_array_set_size(explore->zooms, 0);
        model_enter(model, VIEW_FLAME);
        break;
    default:
        return FALSE;
    }
    explore_refresh(model);
    return TRUE;
}

/* A click on a row selects it; a click on the heading changes the sort order. */
static void
click(Model *model, const Key *pressed)
{
    Explore *explore = model->explore;
    guint count = explore->sites != NULL ? explore->sites->rows->len : 0;
    if (count == 0 || pressed->row + 1 < explore->first || pressed->row >= explore->first + model->page)
        return;
    if (pressed->row + 1 == explore->first) {
        letter_key(model, 's');
        return;
    }
    explore->row = MIN(explore->top + pressed->row - explore->first, count - 1);
    if (pressed->code == KEY_IS_DOUBLE)
        open_flame(model);
}

static gboolean
key(Model *model, const Key *pressed)
{
    Explore *explore = model->explore;
    if (explore == NULL)
        return FALSE;
    if (pressed->code == KEY_IS_CLICK || pressed->code == KEY_IS_DOUBLE) {
        click(model, pressed);
        return TRUE;
    }
    if (pressed->code == KEY_IS_LETTER && letter_key(model, pressed->letter))
        return TRUE;
    if (pressed->code == KEY_IS_ENTER || pressed->code == KEY_IS_RIGHT) {
        open_flame(model);
        return TRUE;
    }
    return explore_key(model, pressed) ||
           list_move(&explore->row, pressed, explore->sites != NULL ? explore->sites->rows->len : 0, model->page);
}

static const ViewKey keys[] = {
    {"v", "functions, lines, stacks", VIEW_KEY_BRIEF},
    {"D", "take the next dump", VIEW_KEY_BRIEF | VIEW_KEY_CHANGES},
    {"M", "mark: gains are since this dump", VIEW_KEY_BRIEF},
    {"Enter", "flame graph of the stacks through this function", VIEW_KEY_HELP},
    {"f", "flame graph", VIEW_KEY_BRIEF},
    {"s", "sort by gain, own, total, name", VIEW_KEY_HELP},
    {"o", "bytes, objects; age, allocated, freed, churn, lifetime if known", VIEW_KEY_HELP},
    {"w", "show or fold allocator wrappers", VIEW_KEY_HELP},
    {"/, n, N", "search, next, previous", VIEW_KEY_HELP},
    {"F", "focus: only stacks with a frame that matches", VIEW_KEY_HELP},
    {"x", "ignore: no stacks with a frame that matches", VIEW_KEY_HELP},
    {"R, E, P", "record, enable, purge", VIEW_KEY_CHANGES},
    {0},
};

const View sites_view = {.name = "sites", .keys = keys, .draw = draw, .key = key};
