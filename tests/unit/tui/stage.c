/* SPDX-License-Identifier: Apache-2.0 */
#include "stage.h"

#include <string.h>
#include <unistd.h>
#include <vterm.h>

struct Stage {
    VTerm *terminal;
    VTermScreen *cells;
    Screen *screen;
    FILE *out;
    FILE *in;
    long read; /* of out */
    guint rows;
    guint columns;
};

Stage *
stage_new(const StageOptions *options)
{
    g_autoptr(GError) error = NULL;
    Stage *stage = g_new0(Stage, 1);
    stage->rows = options->rows;
    stage->columns = options->columns;
    stage->terminal = vterm_new((int)options->rows, (int)options->columns);
    vterm_set_utf8(stage->terminal, 1);
    stage->cells = vterm_obtain_screen(stage->terminal);
    vterm_screen_enable_altscreen(stage->cells, 1);
    vterm_screen_reset(stage->cells, 1);
    stage->out = tmpfile();
    stage->in = fopen("/dev/null", "r");
    const ScreenOptions setup = {.type = options->type,
                                 .in = stage->in,
                                 .out = stage->out,
                                 .colored = !options->plain,
                                 .ascii = options->ascii,
                                 .rows = options->rows,
                                 .columns = options->columns};
    stage->screen = screen_open(&setup, &error);
    g_assert_no_error(error);
    return stage;
}

void
stage_free(Stage *stage)
{
    screen_close(stage->screen);
    vterm_free(stage->terminal);
    fclose(stage->out);
    fclose(stage->in);
    g_free(stage);
}

Screen *
stage_screen(Stage *stage)
{
    return stage->screen;
}

void
stage_resize(Stage *stage, guint rows, guint columns)
{
    stage->rows = rows;
    stage->columns = columns;
    vterm_set_size(stage->terminal, (int)rows, (int)columns);
    screen_resize(stage->screen, rows, columns);
}

gsize
stage_paint(Stage *stage, const Cells *cells)
{
    char bytes[4096];
    g_autoptr(GString) all = g_string_new(NULL);
    ssize_t n;
    screen_paint(stage->screen, cells);
    fflush(stage->out);
    while ((n = pread(fileno(stage->out), bytes, sizeof(bytes), stage->read)) > 0) {
        g_string_append_len(all, bytes, n);
        stage->read += n;
    }
    gsize sent = all->len;
    /* Of ISO 8613-6 libvterm does not know the colour space, which may be empty, before red. */
    g_string_replace(all, "8:2::", "8:2:", 0);
    vterm_input_write(stage->terminal, all->str, all->len);
    vterm_screen_flush_damage(stage->cells);
    return sent;
}

static void
append_color(GString *text, const char *name, const VTermColor *color)
{
    if (VTERM_COLOR_IS_DEFAULT_FG(color) || VTERM_COLOR_IS_DEFAULT_BG(color))
        return;
    if (VTERM_COLOR_IS_INDEXED(color))
        g_string_append_printf(text, " %s %u", name, color->indexed.idx);
    else
        g_string_append_printf(text, " %s #%02x%02x%02x", name, color->rgb.red, color->rgb.green, color->rgb.blue);
}

static char *
style_of(const VTermScreenCell *cell)
{
    GString *text = g_string_new(NULL);
    g_string_append(text, cell->attrs.bold ? " bold" : "");
    g_string_append(text, cell->attrs.underline ? " underline" : "");
    g_string_append(text, cell->attrs.reverse ? " reverse" : "");
    append_color(text, "text", &cell->fg);
    append_color(text, "on", &cell->bg);
    return g_string_free(text, FALSE);
}

/* Styles by their letter: the first is plain, '.'. */
static char
letter_of(GPtrArray *styles, const VTermScreenCell *cell)
{
    g_autofree char *style = style_of(cell);
    guint index;
    if (style[0] == '\0')
        return '.';
    if (!g_ptr_array_find_with_equal_func(styles, style, g_str_equal, &index)) {
        index = styles->len;
        g_ptr_array_add(styles, g_steal_pointer(&style));
    }
    return (char)('a' + index);
}

static void
append_row(GString *text, Stage *stage, guint row, GPtrArray *styles)
{
    GString *letters = g_string_new(NULL);
    gboolean styled = FALSE;
    for (guint column = 0; column < stage->columns; column++) {
        VTermScreenCell cell;
        vterm_screen_get_cell(stage->cells, (VTermPos){.row = (int)row, .col = (int)column}, &cell);
        for (guint i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell.chars[i] != 0 && cell.chars[i] != (uint32_t)-1; i++)
            g_string_append_unichar(text, cell.chars[i]);
        if (cell.chars[0] == 0)
            g_string_append_c(text, ' ');
        char letter = styles != NULL ? letter_of(styles, &cell) : '.';
        styled = styled || letter != '.';
        g_string_append_c(letters, letter);
        if (cell.width == 2)
            column++, g_string_append_c(letters, letter);
    }
    if (styles != NULL)
        g_string_append_c(text, '|');
    if (styled)
        g_string_append_printf(text, "\n %s", letters->str);
    g_string_free(letters, TRUE);
}

char *
stage_picture(Stage *stage)
{
    GString *text = g_string_new(NULL);
    g_autoptr(GPtrArray) styles = g_ptr_array_new_with_free_func(g_free);
    for (guint row = 0; row < stage->rows; row++) {
        g_string_append_c(text, '|');
        append_row(text, stage, row, styles);
        g_string_append_c(text, '\n');
    }
    for (guint i = 0; i < styles->len; i++)
        g_string_append_printf(text, "%c:%s\n", 'a' + (int)i, (const char *)styles->pdata[i]);
    return g_string_free(text, FALSE);
}

/* The colours from 16 on as xterm has them; libvterm's are others. */
static VTermColor
color_of_number(guint number)
{
    static const guint8 steps[] = {0, 95, 135, 175, 215, 255};
    enum { CUBE = 16, SIDE = G_N_ELEMENTS(steps), GREYS = CUBE + SIDE * SIDE * SIDE };
    VTermColor color;
    guint8 grey = (guint8)(8 + 10 * (number - GREYS));
    guint place = number - CUBE;
    if (number >= GREYS)
        vterm_color_rgb(&color, grey, grey, grey);
    else
        vterm_color_rgb(&color, steps[place / (SIDE * SIDE)], steps[place / SIDE % SIDE], steps[place % SIDE]);
    return color;
}

static StageColor
color_of(Stage *stage, const VTermColor *color)
{
    enum { THEME = 16 };
    StageColor result = {.is_default = VTERM_COLOR_IS_DEFAULT_FG(color) || VTERM_COLOR_IS_DEFAULT_BG(color),
                         .is_theme = VTERM_COLOR_IS_INDEXED(color) && color->indexed.idx < THEME};
    VTermColor direct = *color;
    if (result.is_default)
        return result;
    if (result.is_theme)
        result.number = color->indexed.idx;
    if (VTERM_COLOR_IS_INDEXED(color) && !result.is_theme)
        direct = color_of_number(color->indexed.idx);
    vterm_screen_convert_color_to_rgb(stage->cells, &direct);
    result.red = direct.rgb.red;
    result.green = direct.rgb.green;
    result.blue = direct.rgb.blue;
    return result;
}

void
stage_colors(Stage *stage, guint row, guint column, StageColor *text, StageColor *background)
{
    VTermScreenCell cell;
    vterm_screen_get_cell(stage->cells, (VTermPos){.row = (int)row, .col = (int)column}, &cell);
    *text = color_of(stage, &cell.fg);
    *background = color_of(stage, &cell.bg);
}

gboolean
stage_is_bold(Stage *stage, guint row, guint column)
{
    VTermScreenCell cell;
    vterm_screen_get_cell(stage->cells, (VTermPos){.row = (int)row, .col = (int)column}, &cell);
    return cell.attrs.bold;
}

char *
stage_text(Stage *stage)
{
    GString *text = g_string_new(NULL);
    for (guint row = 0; row < stage->rows; row++) {
        append_row(text, stage, row, NULL);
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}

void
stage_compare(Stage *stage, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(g_getenv("JESCOPE_SCREENS"), name, NULL);
    g_autofree char *picture = stage_picture(stage);
    g_autofree char *golden = NULL;
    if (g_strcmp0(g_getenv("JESCOPE_GOLDEN"), "write") == 0)
        g_file_set_contents(path, picture, -1, &error);
    g_assert_no_error(error);
    g_file_get_contents(path, &golden, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(picture, ==, golden);
}
