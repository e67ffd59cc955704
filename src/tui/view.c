/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/view.h"

#include "text/printable.h"
#include "tui/explore.h"
#include "tui/replay-key.h"

#include <string.h>
#include <time.h>

enum {
    DATED = 60, /* minimum width in columns to show the date */
};

static const ViewKey common_keys[] = {
    {"Enter", "open", VIEW_KEY_BRIEF},
    {"Esc, left", "back", VIEW_KEY_BRIEF},
    {"up, down, k, j", "move; PgUp, PgDn, Home, End, g, G as well", VIEW_KEY_HELP},
    {"space, Z", "pause, and go on", VIEW_KEY_HELP},
    {"?, h, F1", "keys", VIEW_KEY_BRIEF},
    {"Ctrl-L", "draw the screen again", VIEW_KEY_HELP},
    {"q, F10, Ctrl-C", "quit", VIEW_KEY_BRIEF},
    {0},
};

static const View help_view;

static const View *const views[VIEWS] = {
    [VIEW_TARGETS] = &targets_view, [VIEW_TARGET] = &target_view, [VIEW_SITES] = &sites_view,
    [VIEW_FLAME] = &flame_view,     [VIEW_HELP] = &help_view,
};

/* ---- help: the keys of the screen it was opened from, and the common keys ---- */

static const ViewKey replay_keys[] = {
    {"t, T", "one sample on, back", VIEW_KEY_BRIEF},
    {"j, J", "jump on, back by a time", VIEW_KEY_BRIEF},
    {0},
};

static gboolean
is_replay(const Model *model)
{
    return model->feed != NULL && model->feed->ops->replays;
}

static gboolean
is_offered(const Model *model, const ViewKey *key)
{
    return (key->flags & VIEW_KEY_CHANGES) == 0 || !is_replay(model);
}

/* Whether TAKEN has the key: the screen's own meaning takes precedence. */
static gboolean
is_taken(const ViewKey *taken, const char *name)
{
    for (; taken != NULL && taken->keys != NULL; taken++) {
        g_auto(GStrv) names = g_strsplit(taken->keys, ", ", -1);
        if (g_strv_contains((const char *const *)names, name))
            return TRUE;
    }
    return FALSE;
}

/* KEYS ("t, F5") without those in TAKEN. */
static char *
keys_left(const ViewKey *taken, const char *keys)
{
    g_auto(GStrv) names = g_strsplit(keys, ", ", -1);
    g_autoptr(GString) left = g_string_new(NULL);
    for (guint i = 0; names[i] != NULL; i++)
        if (!is_taken(taken, names[i]))
            g_string_append_printf(left, "%s%s", left->len > 0 ? ", " : "", names[i]);
    return g_string_free(g_steal_pointer(&left), FALSE);
}

static guint
draw_list(const Model *model, Cells *cells, guint row, guint limit, const ViewKey *keys)
{
    enum { ABOUT_AT = 18 };
    const ViewKey *taken = is_replay(model) && keys != replay_keys ? replay_keys : NULL;
    for (; keys->keys != NULL && row < limit; keys++) {
        if (!is_offered(model, keys))
            continue;
        g_autofree char *own = keys_left(taken, keys->keys);
        guint used = cells_put(cells, (CellSpan){row, 2, cells->columns}, CELL_KEY, own) + 2;
        guint at = MAX(used + 1, ABOUT_AT);
        if (at < cells->columns)
            cells_put(cells, (CellSpan){row, at, cells->columns - at}, CELL_PLAIN, keys->about);
        row++;
    }
    return row;
}

static void
draw_help(Model *model, Cells *cells, guint first, guint limit)
{
    const View *below = views[model->depth > 0 ? model->views[model->depth - 1] : VIEW_TARGETS];
    cells_print(cells, (CellSpan){first, 0, cells->columns}, CELL_STRONG, "Keys of this screen: %s", below->name);
    guint row = draw_list(model, cells, first + 1, limit, below->keys);
    if (row + 1 >= limit)
        return;
    cells_put(cells, (CellSpan){row + 1, 0, cells->columns}, CELL_STRONG, "Everywhere");
    row = draw_list(model, cells, row + 2, limit, common_keys);
    if (is_replay(model))
        draw_list(model, cells, row, limit, replay_keys);
}

static gboolean
leave_help(Model *model, const Key *pressed)
{
    if (pressed->code == KEY_IS_LETTER && pressed->letter == 'q')
        return FALSE;
    model_leave(model);
    return TRUE;
}

/* Any key leaves the help, including the common keys. */
static const ViewKey help_keys[] = {{"any key, Enter, Esc, ?", "back", VIEW_KEY_BRIEF}, {0}};

static const View help_view = {.name = "keys", .keys = help_keys, .draw = draw_help, .key = leave_help};

/* ---- frames ---- */

static char *
clock_text(gint64 time_us, gboolean brief)
{
    g_autoptr(GDateTime) utc = g_date_time_new_from_unix_utc(time_us / G_USEC_PER_SEC);
    g_autoptr(GDateTime) local = utc != NULL ? g_date_time_to_local(utc) : NULL;
    return local != NULL ? g_date_time_format(local, brief ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S") : g_strdup("");
}

/* "jescope > redis-server (4711) > help". */
static char *
breadcrumb(const Model *model)
{
    GString *text = g_string_new("jescope");
    for (guint i = 0; i <= model->depth; i++) {
        const FeedTarget *target = model_opened(model);
        g_string_append(text, i == 0 ? " " : " > ");
        gboolean named = model->views[i] == VIEW_TARGET && target != NULL;
        g_string_append(text, named ? target->status.name : views[model->views[i]]->name);
        if (named && target->status.pid != 0)
            g_string_append_printf(text, " (%" G_GINT64_FORMAT ")", target->status.pid);
    }
    return g_string_free(text, FALSE);
}

static char *
state_text(const Model *model, gboolean brief)
{
    char *doing = explore_state(model);
    if (doing != NULL)
        return doing;
    g_autofree char *time = clock_text(model->frame != NULL ? model->frame->time_us : 0, brief);
    const char *state = model->paused ? "PAUSED " : model->feed != NULL && model->feed->ops->replays ? "REPLAY " : "";
    return g_strconcat(state, model->frame != NULL ? time : "", NULL);
}

static void
draw_title(const Model *model, Cells *cells)
{
    g_autofree char *where = breadcrumb(model);
    g_autofree char *state = state_text(model, cells->columns < DATED);
    guint width = (guint)g_utf8_strlen(state, -1);
    gboolean both = cells->columns > width + 12;
    cells_put(cells, (CellSpan){0, 0, both ? cells->columns - width - 1 : cells->columns}, CELL_TITLE, where);
    if (both)
        cells_put_right(cells, (CellSpan){0, cells->columns - width, width}, model->paused ? CELL_FOUND : CELL_FAINT,
                        state);
}

static guint
draw_keys(const Model *model, Cells *cells, CellSpan from, const ViewKey *keys, const ViewKey *left_out)
{
    const guint row = from.row;
    guint column = from.column;
    for (; keys->keys != NULL; keys++) {
        g_autofree char *first = g_strndup(keys->keys, strcspn(keys->keys, ","));
        guint needed = (guint)(g_utf8_strlen(first, -1) + g_utf8_strlen(keys->about, -1)) + 3;
        if ((keys->flags & VIEW_KEY_BRIEF) == 0 || !is_offered(model, keys) || column + needed > cells->columns ||
            is_taken(left_out, first))
            continue;
        column += cells_put(cells, (CellSpan){row, column, needed}, CELL_KEY, first) + 1;
        column += cells_put(cells, (CellSpan){row, column, needed}, CELL_PLAIN, keys->about) + 2;
    }
    return column;
}

static void
draw_all_keys(const Model *model, Cells *cells, guint row)
{
    const ViewKey *keys = views[model_view(model)]->keys;
    guint column = is_replay(model) ? draw_keys(model, cells, (CellSpan){row, 0, 0}, replay_keys, NULL) : 0;
    column = draw_keys(model, cells, (CellSpan){row, column, 0}, keys, is_replay(model) ? replay_keys : NULL);
    draw_keys(model, cells, (CellSpan){row, column, 0}, common_keys, keys);
}

static void
draw_typed(const Model *model, Cells *cells, guint row)
{
    guint used = cells_print(cells, (CellSpan){row, 0, cells->columns}, CELL_KEY, "%s: ", model->line.prompt);
    used += cells_put(cells, (CellSpan){row, used, cells->columns - MIN(used, cells->columns)}, CELL_PLAIN,
                      model->line.typed->str);
    cells->cursor_row = (int)row;
    cells->cursor_column = (int)MIN(used, cells->columns - 1);
}

/* Draws TEXT in the last rows, as many as it needs. */
static void
draw_said(Cells *cells, CellStyle style, const char *text)
{
    enum { ROWS_MAX = 4 };
    g_autofree char *printable = text_printable(text);
    g_auto(GStrv) lines = text_wrap(printable, cells->columns);
    guint count = MIN(g_strv_length(lines), (guint)ROWS_MAX);
    count = MIN(count, cells->rows - 1);
    for (guint i = 0; i < count; i++) {
        const CellSpan whole = {cells->rows - count + i, 0, cells->columns};
        cells_clear(cells, whole);
        cells_put(cells, whole, style, lines[i]);
    }
}

/* Draws the last rows: a question or line of input takes precedence. */
static void
draw_bottom(const Model *model, Cells *cells)
{
    const char *trouble = model->frame != NULL ? model->frame->trouble : NULL;
    if (model->question.text != NULL) {
        g_autofree char *question = g_strconcat(model->question.text, " y/N", NULL);
        draw_said(cells, CELL_FOUND, question);
    } else if (model->line.prompt != NULL) {
        draw_typed(model, cells, cells->rows - 1);
    } else if (model->message != NULL) {
        draw_said(cells, CELL_STRONG, model->message);
    } else if (trouble != NULL) {
        draw_said(cells, CELL_TROUBLE, trouble);
    } else {
        draw_all_keys(model, cells, cells->rows - 1);
    }
}

void
view_draw(Model *model, Cells *cells)
{
    draw_title(model, cells);
    if (cells->rows > 2)
        views[model_view(model)]->draw(model, cells, 1, cells->rows - 1);
    if (cells->rows > 1)
        draw_bottom(model, cells);
}

void
view_key(Model *model, const Key *key)
{
    if (key->code == KEY_IS_REDRAW)
        return;
    if (!model_key_first(model, key) && !replay_key(model, key) && !views[model_view(model)]->key(model, key))
        model_key_common(model, key);
    if (model_view(model) == VIEW_TARGETS)
        explore_close(model);
}

void
view_draw_list(Model *model, Cells *cells)
{
    views[model_view(model)]->draw(model, cells, 0, cells->rows);
}
