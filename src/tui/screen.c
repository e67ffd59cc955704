/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/screen.h"

#include "tui/terminal-type.h"

#define NCURSES_WIDECHAR 1
#include <ncurses.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

enum {
    DOUBLE_CLICK_US = 500000,
    ESCAPE_DELAY_MS = 25, /* after which an escape is a key of its own and not the beginning of one */
    CONTROL_L = 'L' & 0x1f,
    DELETE = 0x7f,
    COLORS_MANY = 256,
    COLORS_THEME = 16, /* of those, which the user's theme chooses */
    CUBE_SIDE = 6,
    CUBE_END = COLORS_THEME + CUBE_SIDE * CUBE_SIDE * CUBE_SIDE, /* greys follow */
};

struct Screen {
    SCREEN *terminal;
    ScreenOptions options;
    attr_t attributes[CELL_STYLES];
    short pairs[CELL_STYLES];
    Key pressed; /* by the mouse, the last time */
    gint64 pressed_us;
};

G_DEFINE_QUARK(jescope - screen - error, screen_error)

/* How a style looks: colours of 16 and of 256, -1 for the terminal's own; attributes always. So that it can be read on
 * a light and on a dark background, text has colours of 16 that themes choose, boxes set both, and bars have colours
 * with a contrast of 3 to white and to black. */
typedef struct {
    short fore, back;
    short many_fore, many_back;
    attr_t attributes;
    attr_t alone; /* attributes where there is no colour */
} Look;

static const Look looks[CELL_STYLES] = {
    [CELL_PLAIN] = {-1, -1, -1, -1, A_NORMAL, A_NORMAL},
    [CELL_TITLE] = {-1, -1, -1, -1, A_BOLD, A_BOLD},
    [CELL_HEADING] = {-1, -1, -1, -1, A_REVERSE, A_REVERSE},
    [CELL_SORTED] = {-1, -1, -1, -1, A_REVERSE | A_BOLD, A_REVERSE | A_BOLD},
    [CELL_SELECTED] = {COLOR_BLACK, COLOR_CYAN, 16, 117, A_NORMAL, A_REVERSE},
    [CELL_STRONG] = {-1, -1, -1, -1, A_BOLD, A_BOLD},
    [CELL_FAINT] = {-1, -1, -1, -1, A_DIM, A_DIM},
    [CELL_GROWN] = {COLOR_RED, -1, COLOR_RED, -1, A_NORMAL, A_BOLD},
    [CELL_SHRUNK] = {COLOR_GREEN, -1, COLOR_GREEN, -1, A_NORMAL, A_NORMAL},
    [CELL_TROUBLE] = {COLOR_RED, -1, COLOR_RED, -1, A_BOLD, A_BOLD},
    [CELL_ACTIVE] = {COLOR_GREEN, -1, COLOR_GREEN, -1, A_BOLD, A_BOLD},
    [CELL_KEY] = {COLOR_CYAN, -1, COLOR_CYAN, -1, A_BOLD, A_BOLD},
    [CELL_FOUND] = {COLOR_BLACK, COLOR_YELLOW, 16, 227, A_NORMAL, A_REVERSE | A_BOLD},
    [CELL_BAR_1] = {COLOR_BLUE, -1, 33, -1, A_NORMAL, A_NORMAL},
    [CELL_BAR_2] = {COLOR_CYAN, -1, 30, -1, A_NORMAL, A_NORMAL},
    [CELL_BAR_3] = {COLOR_YELLOW, -1, 136, -1, A_NORMAL, A_NORMAL},
    [CELL_BAR_4] = {COLOR_MAGENTA, -1, 133, -1, A_NORMAL, A_NORMAL},
    [CELL_BAR_5] = {COLOR_RED, -1, 167, -1, A_NORMAL, A_BOLD},
    [CELL_BOX_1] = {COLOR_BLACK, COLOR_YELLOW, 16, 222, A_NORMAL, A_REVERSE},
    [CELL_BOX_2] = {COLOR_BLACK, COLOR_CYAN, 16, 153, A_NORMAL, A_UNDERLINE},
    [CELL_BOX_3] = {COLOR_BLACK, COLOR_GREEN, 16, 151, A_NORMAL, A_REVERSE},
    [CELL_BOX_4] = {COLOR_BLACK, COLOR_MAGENTA, 16, 182, A_NORMAL, A_UNDERLINE},
    [CELL_BOX_GROWN] = {COLOR_BLACK, COLOR_RED, 16, 210, A_NORMAL, A_REVERSE | A_BOLD},
    [CELL_BOX_SHRUNK] = {COLOR_BLACK, COLOR_GREEN, 16, 114, A_NORMAL, A_UNDERLINE},
    [CELL_BOX_SAME] = {COLOR_BLACK, COLOR_WHITE, 16, 252, A_NORMAL, A_REVERSE},
};

/* Red, green and blue of COLOR of 256, as xterm has them; one of the theme stays a number of the theme. */
static int
direct_color(int color)
{
    if (color < COLORS_THEME)
        return color;
    if (color >= CUBE_END)
        return (8 + 10 * (color - CUBE_END)) * 0x10101;
    int direct = 0;
    for (int side = CUBE_SIDE * CUBE_SIDE; side > 0; side /= CUBE_SIDE) {
        int step = (color - COLORS_THEME) / side % CUBE_SIDE;
        direct = direct << 8 | (step > 0 ? 55 + 40 * step : 0);
    }
    return direct;
}

/* A terminal of true colour, where numbers beyond those of the theme are red, green and blue. */
static gboolean
is_direct(void)
{
    return COLORS > COLORS_MANY;
}

static void
choose_looks(Screen *screen, gboolean colored)
{
    gboolean many = colored && COLORS >= COLORS_MANY;
    for (short style = 0; style < CELL_STYLES; style++) {
        const Look *look = &looks[style];
        screen->attributes[style] = colored ? look->attributes : look->alone;
        screen->pairs[style] = 0;
        if (!colored || (look->fore < 0 && look->back < 0))
            continue;
        screen->pairs[style] = style;
        if (is_direct())
            init_extended_pair(style, direct_color(look->many_fore), direct_color(look->many_back));
        else
            init_pair(style, many ? look->many_fore : look->fore, many ? look->many_back : look->back);
    }
}

static void
set_modes(Screen *screen)
{
    gboolean colored = screen->options.colored && has_colors();
    cbreak();
    noecho();
    nonl();
    nodelay(stdscr, TRUE);
    keypad(stdscr, TRUE);
    set_escdelay(ESCAPE_DELAY_MS);
    if (colored) {
        start_color();
        use_default_colors();
    }
    choose_looks(screen, colored);
    if (screen->options.mouse)
        mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    mouseinterval(0);
}

Screen *
screen_open(const ScreenOptions *options, GError **error)
{
    if (!terminal_type_check(options->type, fileno(options->out), error))
        return NULL;
    g_autofree Screen *screen = g_new0(Screen, 1);
    screen->options = *options;
    use_tioctl(TRUE);
    screen->terminal = newterm(options->type, options->out, options->in);
    if (screen->terminal == NULL) {
        g_set_error(error, SCREEN_ERROR, SCREEN_ERROR_TERMINAL,
                    "terminal type '%s' cannot show a screen; use --once or --json", options->type);
        return NULL;
    }
    set_term(screen->terminal);
    /* ncurses' own handler would run on whatever thread gets the signal. */
    signal(SIGTSTP, SIG_DFL);
    if (options->rows != 0)
        resizeterm((int)options->rows, (int)options->columns);
    set_modes(screen);
    return g_steal_pointer(&screen);
}

void
screen_close(Screen *screen)
{
    if (screen == NULL)
        return;
    endwin();
    delscreen(screen->terminal);
    g_free(screen);
}

guint
screen_rows(const Screen *screen)
{
    return (guint)MAX(LINES, 1);
}

guint
screen_columns(const Screen *screen)
{
    return (guint)MAX(COLS, 1);
}

void
screen_resize(Screen *screen, guint rows, guint columns)
{
    struct winsize size;
    if (rows == 0 && ioctl(fileno(screen->options.out), TIOCGWINSZ, &size) == 0) {
        rows = size.ws_row;
        columns = size.ws_col;
    }
    if (rows > 0 && columns > 0)
        resizeterm((int)MIN(rows, CELLS_MAX), (int)MIN(columns, CELLS_MAX));
}

/* ---- painting ---- */

/* What stands for LETTER in ASCII: lines, blocks by how full they are, braille by its dots. */
static wchar_t
ascii_of(gunichar letter)
{
    static const char blocks[] = "_..--==#";
    if (letter < 0x80)
        return (wchar_t)letter;
    if (letter == 0x2026)
        return '~';
    if (letter == 0x2500)
        return '-';
    if (letter == 0x2502 || letter == 0x251c)
        return '|';
    if (letter == 0x2514)
        return '`';
    if (letter >= 0x2581 && letter <= 0x2588)
        return blocks[letter - 0x2581];
    if (letter >= 0x2589 && letter <= 0x258f)
        return letter <= 0x258c ? '#' : ' ';
    if (letter == 0x2591)
        return ':';
    if (letter == 0x2592 || letter == 0x2593)
        return '%';
    if (letter == 0x25b2)
        return '^';
    if (letter == 0x25bc)
        return 'v';
    if (letter == 0xb1)
        return '~';
    if (letter >= 0x2800 && letter <= 0x28ff)
        return letter == 0x2800 ? ' ' : (letter & 0xc0) != 0 || (letter & 0x09) == 0 ? '.' : '\'';
    return '?';
}

/* A letter whose width the C library sees otherwise would shift the rest of its row. */
static wchar_t
fit_letter(const Screen *screen, const Cell *cell)
{
    if (screen->options.ascii)
        return ascii_of(cell->letters[0]);
    return wcwidth((wchar_t)cell->letters[0]) == cell->width ? (wchar_t)cell->letters[0] : L'?';
}

static void
paint_cell(const Screen *screen, const Cell *cell, guint row, guint column)
{
    wchar_t letters[CELL_LETTERS + 1] = {fit_letter(screen, cell)};
    cchar_t letter;
    for (guint i = 1; i < CELL_LETTERS && !screen->options.ascii && cell->letters[i] != 0; i++)
        if (wcwidth((wchar_t)cell->letters[i]) == 0)
            letters[wcslen(letters)] = (wchar_t)cell->letters[i];
    setcchar(&letter, letters, screen->attributes[cell->style], screen->pairs[cell->style], NULL);
    mvadd_wch((int)row, (int)column, &letter);
    if (cell->width == 2 && wcwidth(letters[0]) != 2)
        mvaddch((int)row, (int)column + 1,
                ' ' | screen->attributes[cell->style] | COLOR_PAIR(screen->pairs[cell->style]));
}

void
screen_paint(Screen *screen, const Cells *cells)
{
    erase();
    for (guint row = 0; row < cells->rows && row < (guint)LINES; row++)
        for (guint column = 0; column < cells->columns && column < (guint)COLS; column++) {
            const Cell *cell = cells_at(cells, row, column);
            gboolean plain_blank = cell->letters[0] == ' ' && cell->style == CELL_PLAIN;
            if (cell->width != 0 && !plain_blank && column + cell->width <= (guint)COLS)
                paint_cell(screen, cell, row, column);
        }
    gboolean cursor = cells->cursor_row >= 0 && cells->cursor_row < LINES && cells->cursor_column < COLS;
    curs_set(cursor ? 1 : 0);
    if (cursor)
        move(cells->cursor_row, cells->cursor_column);
    refresh();
}

void
screen_leave(Screen *screen)
{
    def_prog_mode();
    endwin();
}

void
screen_return(Screen *screen)
{
    reset_prog_mode();
    clearok(curscr, TRUE);
    screen_resize(screen, 0, 0);
    refresh();
}

/* ---- keys ---- */

static const struct {
    wint_t code;
    gboolean special;
    KeyCode key;
} codes[] = {
    {KEY_UP, TRUE, KEY_IS_UP},           {KEY_DOWN, TRUE, KEY_IS_DOWN},     {KEY_LEFT, TRUE, KEY_IS_LEFT},
    {KEY_RIGHT, TRUE, KEY_IS_RIGHT},     {KEY_PPAGE, TRUE, KEY_IS_PAGE_UP}, {KEY_NPAGE, TRUE, KEY_IS_PAGE_DOWN},
    {KEY_HOME, TRUE, KEY_IS_HOME},       {KEY_END, TRUE, KEY_IS_END},       {KEY_ENTER, TRUE, KEY_IS_ENTER},
    {KEY_BACKSPACE, TRUE, KEY_IS_ERASE}, {KEY_RESIZE, TRUE, KEY_IS_REDRAW}, {KEY_F(5), TRUE, KEY_IS_TREE},
    {'\r', FALSE, KEY_IS_ENTER},         {'\n', FALSE, KEY_IS_ENTER},       {'\t', FALSE, KEY_IS_TAB},
    {'\b', FALSE, KEY_IS_ERASE},         {DELETE, FALSE, KEY_IS_ERASE},     {0x1b, FALSE, KEY_IS_ESCAPE},
    {CONTROL_L, FALSE, KEY_IS_REDRAW},
};

/* Function keys are letters as in htop. */
static const struct {
    guint number;
    char letter;
} function_keys[] = {{1, '?'}, {3, '/'}, {4, '\\'}, {6, '>'}, {10, 'q'}};

/* ncurses would wait for a second click before it tells of the first. */
static KeyCode
click_code(Screen *screen, const Key *key)
{
    gint64 now_us = g_get_monotonic_time();
    gboolean again = now_us - screen->pressed_us < DOUBLE_CLICK_US && screen->pressed.row == key->row &&
                     screen->pressed.column == key->column;
    screen->pressed = *key;
    screen->pressed_us = again ? 0 : now_us;
    return again ? KEY_IS_DOUBLE : KEY_IS_CLICK;
}

static void
read_mouse(Screen *screen, Key *key)
{
    MEVENT event;
    *key = (Key){.code = KEY_IS_OTHER};
    if (getmouse(&event) != OK)
        return;
    key->row = (guint)MAX(event.y, 0);
    key->column = (guint)MAX(event.x, 0);
    if ((event.bstate & BUTTON4_PRESSED) != 0)
        key->code = KEY_IS_UP;
    else if ((event.bstate & BUTTON5_PRESSED) != 0)
        key->code = KEY_IS_DOWN;
    else if ((event.bstate & BUTTON1_PRESSED) != 0)
        key->code = click_code(screen, key);
}

static void
translate(wint_t code, gboolean special, Key *key)
{
    *key = (Key){.code = special ? KEY_IS_OTHER : KEY_IS_LETTER, .letter = special ? 0 : code};
    for (gsize i = 0; i < G_N_ELEMENTS(codes); i++)
        if (codes[i].code == code && codes[i].special == special)
            *key = (Key){.code = codes[i].key};
    for (gsize i = 0; special && i < G_N_ELEMENTS(function_keys); i++)
        if (code == (wint_t)KEY_F(function_keys[i].number))
            *key = (Key){.code = KEY_IS_LETTER, .letter = (gunichar)function_keys[i].letter};
}

gboolean
screen_read_key(Screen *screen, Key *key)
{
    wint_t code;
    int result = wget_wch(stdscr, &code);
    if (result == ERR)
        return FALSE;
    if (result == KEY_CODE_YES && code == KEY_MOUSE)
        read_mouse(screen, key);
    else
        translate(code, result == KEY_CODE_YES, key);
    if (key->code == KEY_IS_REDRAW)
        clearok(curscr, TRUE);
    return TRUE;
}
