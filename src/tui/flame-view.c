/* SPDX-License-Identifier: Apache-2.0 */
/* A flame graph in cells: callers on top, one row per level, boxes as wide as their share of the memory. */
#include "tui/amount.h"
#include "tui/explore.h"
#include "tui/view.h"

#include <math.h>
#include <string.h>

enum {
    LABEL_MIN = 3, /* minimum width of a box with a name */
};

static const FlameRow *
row_at(const Flame *flame, guint row)
{
    return &g_array_index(flame->rows, FlameRow, row);
}

/* The style depends on the position, so that adjacent boxes differ. */
static CellStyle
box_style(const Flame *flame, guint index)
{
    static const CellStyle styles[] = {CELL_BOX_1, CELL_BOX_2, CELL_BOX_3, CELL_BOX_4};
    const FlameRow *row = row_at(flame, index);
    if (!flame->difference)
        return styles[(index + row->level) % G_N_ELEMENTS(styles)];
    if (fabs(row->significance) <= flame->noise)
        return CELL_BOX_SAME;
    return row->change > 0 ? CELL_BOX_GROWN : CELL_BOX_SHRUNK;
}

/* The columns [*from, *to) of row INDEX of the graph. */
static void
span_of(const Flame *flame, guint index, guint width, guint *from, guint *to)
{
    const FlameRow *row = row_at(flame, index);
    double whole = row_at(flame, 0)->extent;
    *from = whole > 0 ? (guint)MIN(lround(row->begin / whole * width), width) : 0;
    *to = whole > 0 ? (guint)MIN(lround((row->begin + row->extent) / whole * width), width) : 0;
}

static void
draw_box(const Flame *flame, guint index, Cells *cells, guint at, gboolean chosen, gboolean found)
{
    guint from;
    guint to;
    span_of(flame, index, cells->columns, &from, &to);
    if (to <= from)
        return;
    CellStyle style = chosen ? CELL_SELECTED : found ? CELL_FOUND : box_style(flame, index);
    cells_set_style(cells, (CellSpan){at, from, to - from}, style);
    if (to - from >= LABEL_MIN)
        cells_put(cells, (CellSpan){at, from, to - from - 1}, style, row_at(flame, index)->name);
}

static gboolean
is_found(const Explore *explore, const FlameRow *row)
{
    if (explore->search == NULL || explore->search[0] == '\0')
        return FALSE;
    g_autofree char *name = g_utf8_casefold(row->name, -1);
    g_autofree char *sought = g_utf8_casefold(explore->search, -1);
    return strstr(name, sought) != NULL;
}

static void
draw_summary(const Explore *explore, Cells *cells, guint at)
{
    const Flame *flame = explore->flame;
    const FlameRow *row = row_at(flame, explore->flame_row);
    double whole = row_at(flame, 0)->total;
    g_autofree char *value = amount_value(flame->value, row->shown, UNITS_PLAIN);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, "%s%s ", value, explore_value_note(flame->value));
    if (whole > 0)
        g_string_append_printf(text, "%.1f%%", row->total / whole * 100);
    if (flame->difference) {
        g_autofree char *change = amount_value(flame->value, row->change, UNITS_SIGNED);
        gboolean noise = fabs(row->significance) <= flame->noise;
        g_string_append_printf(text, "  %s since the mark%s", change, noise ? ", within the sampling error" : "");
    }
    g_string_append_printf(text, "  %s", row->name);
    cells_put(cells, (CellSpan){at, 0, cells->columns}, CELL_STRONG, text->str);
}

static void
draw(Model *model, Cells *cells, guint first, guint limit)
{
    Explore *explore = model->explore;
    const Flame *flame = explore != NULL ? explore->flame : NULL;
    const CellSpan whole = {first, 0, cells->columns};
    if (explore != NULL)
        explore->flame_columns = cells->columns;
    if (flame == NULL || flame->rows->len == 0) {
        const char *trouble = explore != NULL ? explore->trouble : NULL;
        cells_put(cells, whole, trouble != NULL ? CELL_TROUBLE : CELL_FAINT,
                  trouble != NULL ? trouble
                  : flame != NULL ? "no stack has samples, or passes the filters"
                                  : "waiting for the report");
        return;
    }
    draw_summary(explore, cells, first++);
    model->page = limit - first;
    list_show(&explore->flame_top, row_at(flame, explore->flame_row)->level, flame->levels, model->page);
    for (guint i = 0; i < flame->rows->len; i++) {
        guint level = row_at(flame, i)->level;
        if (level >= explore->flame_top && level < explore->flame_top + model->page)
            draw_box(flame, i, cells, first + level - explore->flame_top, i == explore->flame_row,
                     is_found(explore, row_at(flame, i)));
    }
}

/* ---- keys ---- */

/* The first child, or the next or previous box of the same level; ROW itself if there is none. */
static guint
first_child(const Flame *flame, guint row)
{
    return row + 1 < flame->rows->len && row_at(flame, row + 1)->parent == row ? row + 1 : row;
}

static guint
beside(const Flame *flame, guint row, gboolean forward)
{
    guint level = row_at(flame, row)->level;
    for (guint i = row; forward ? i + 1 < flame->rows->len : i > 0;) {
        i += forward ? 1 : -1u;
        if (row_at(flame, i)->level == level)
            return i;
    }
    return row;
}

static void
zoom(Model *model)
{
    Explore *explore = model->explore;
    if (explore->flame_row == 0)
        return;
    guint64 key = row_at(explore->flame, explore->flame_row)->key;
    g_array_append_val(explore->zooms, key);
    explore_refresh(model);
}

static void
zoom_out(Model *model, guint levels)
{
    Explore *explore = model->explore;
    g_array_set_size(explore->zooms, explore->zooms->len - MIN(explore->zooms->len, levels));
    explore_refresh(model);
}

static gboolean
move(Explore *explore, const Key *pressed)
{
    const Flame *flame = explore->flame;
    gunichar letter = pressed->code == KEY_IS_LETTER ? pressed->letter : 0;
    guint row = explore->flame_row;
    if (pressed->code == KEY_IS_DOWN || letter == 'j')
        explore->flame_row = first_child(flame, row);
    else if (pressed->code == KEY_IS_UP || letter == 'k')
        explore->flame_row = row > 0 ? row_at(flame, row)->parent : 0;
    else if (pressed->code == KEY_IS_RIGHT || letter == 'l')
        explore->flame_row = beside(flame, row, TRUE);
    else if (pressed->code == KEY_IS_LEFT || letter == 'h')
        explore->flame_row = beside(flame, row, FALSE);
    else
        return FALSE;
    return TRUE;
}

static void
find(Model *model, gboolean backwards)
{
    Explore *explore = model->explore;
    guint count = explore->flame->rows->len;
    for (guint i = 1; i <= count; i++) {
        guint row = (explore->flame_row + (backwards ? count - i : i)) % count;
        if (is_found(explore, row_at(explore->flame, row))) {
            explore->flame_row = row;
            return;
        }
    }
}

static void
set_search(Model *model, const char *text)
{
    g_free(model->explore->search);
    model->explore->search = g_strdup(text);
    if (model->explore->flame != NULL && model->explore->flame->rows->len > 0)
        find(model, FALSE);
}

/* Selects the box at the position of the click. */
static void
click(Model *model, const Key *pressed)
{
    Explore *explore = model->explore;
    gboolean is_box = FALSE;
    for (guint i = 0; pressed->row >= 2 && i < explore->flame->rows->len; i++) {
        guint from;
        guint to;
        span_of(explore->flame, i, explore->flame_columns, &from, &to);
        if (row_at(explore->flame, i)->level == pressed->row - 2 + explore->flame_top && pressed->column >= from &&
            pressed->column < to) {
            explore->flame_row = i;
            is_box = TRUE;
        }
    }
    if (is_box && pressed->code == KEY_IS_DOUBLE)
        zoom(model);
}

static gboolean
change_key(Model *model, const Key *pressed)
{
    Explore *explore = model->explore;
    gunichar letter = pressed->code == KEY_IS_LETTER ? pressed->letter : 0;
    if (letter == 'i')
        explore->inverted = !explore->inverted, g_array_set_size(explore->zooms, 0);
    else if (letter == 'd' && explore->mark.id == explore->now.id)
        return model_show_message(model, "no difference: M marks this dump, D takes the next one"), TRUE;
    else if (letter == 'd')
        explore->plain = !explore->plain;
    else if (letter == 'w')
        explore->wrappers = !explore->wrappers;
    else
        return FALSE;
    explore_refresh(model);
    return TRUE;
}

static gboolean
key(Model *model, const Key *pressed)
{
    Explore *explore = model->explore;
    gunichar letter = pressed->code == KEY_IS_LETTER ? pressed->letter : 0;
    gboolean drawn = explore != NULL && explore->flame != NULL && explore->flame->rows->len > 0;
    if (explore == NULL)
        return FALSE;
    if (pressed->code == KEY_IS_ESCAPE && explore->zooms->len > 0)
        zoom_out(model, 1);
    else if (letter == 'r')
        zoom_out(model, G_MAXUINT);
    else if (drawn && pressed->code == KEY_IS_ENTER)
        zoom(model);
    else if (drawn && (pressed->code == KEY_IS_CLICK || pressed->code == KEY_IS_DOUBLE))
        click(model, pressed);
    else if (letter == '/')
        model_type(model, "search", explore->search, set_search);
    else if (drawn && (letter == 'n' || letter == 'N'))
        find(model, letter == 'N');
    else
        return change_key(model, pressed) || (drawn && move(explore, pressed)) || explore_key(model, pressed);
    return TRUE;
}

static const ViewKey keys[] = {
    {"Enter", "zoom", VIEW_KEY_BRIEF},
    {"Esc", "zoom out, back", VIEW_KEY_HELP},
    {"r", "zoom out of all", VIEW_KEY_HELP},
    {"i", "invert", VIEW_KEY_BRIEF},
    {"d", "difference to the mark", VIEW_KEY_BRIEF},
    {"h, j, k, l", "move, as with arrows", VIEW_KEY_HELP},
    {"/, n, N", "search, next, previous", VIEW_KEY_BRIEF},
    {"w", "show or fold allocator wrappers", VIEW_KEY_HELP},
    EXPLORE_KEYS,
    {0},
};

const View flame_view = {.name = "flame graph", .keys = keys, .draw = draw, .key = key};
