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
    ESCAPE_DELAY_MS = 25, /* time after which Escape counts as a key, not as the start of a sequence */
    CONTROL_L = 'L' & 0x1f,
    DELETE = 0x7f,
    EVENTS_MAX = 8, /* mouse events that ncurses keeps (EV_MAX, of its own) */
    COLORS_MANY = 256,
    COLORS_THEME = 16, /* the first colours, which the user's theme defines */
    CUBE_SIDE = 6,
    CUBE_END = COLORS_THEME + CUBE_SIDE * CUBE_SIDE * CUBE_SIDE, /* start of the greys */
};

struct Screen {
    SCREEN *terminal;
    ScreenOptions options;
    gboolean console; /* the Linux console, whose fonts have few letters */
    attr_t attributes[CELL_STYLES];
    short pairs[CELL_STYLES];
    MEVENT events[EVENTS_MAX]; /* read, not returned yet, the newest first */
    guint n_events;
    Key pressed; /* the last mouse click */
    gint64 pressed_us;
};

G_DEFINE_QUARK(jescope - screen - error, screen_error)

/* Foreground and background; -1: the terminal's default. */
typedef struct {
    short fore, back;
} Colors;

#define NO_COLORS                                                                                                      \
    {                                                                                                                  \
        -1, -1                                                                                                         \
    }

/* The look of a style: its colours with 8, 16 and 256 colours; its attributes with and without colour. The terminal's
 * background may be light or dark, and its theme defines the first 16 colours. A style without a background has a
 * colour with a contrast of 3 to the backgrounds of all common themes (of the 16, only bright red); other styles set a
 * pair of colours with that contrast. test-screens.c has the themes. Terminals may show bold text in the brighter
 * colour of the 16. */
typedef struct {
    Colors few, some, many;
    attr_t attributes;
    attr_t alone;
} Look;

static const Look looks[CELL_STYLES] = {
    [CELL_PLAIN] = {NO_COLORS, NO_COLORS, NO_COLORS, A_NORMAL, A_NORMAL},
    [CELL_TITLE] = {NO_COLORS, NO_COLORS, NO_COLORS, A_BOLD, A_BOLD},
    [CELL_HEADING] = {NO_COLORS, NO_COLORS, NO_COLORS, A_REVERSE, A_REVERSE},
    [CELL_SORTED] = {NO_COLORS, NO_COLORS, NO_COLORS, A_REVERSE | A_BOLD, A_REVERSE | A_BOLD},
    [CELL_SELECTED] = {{0, 6}, {0, 14}, {16, 117}, A_NORMAL, A_REVERSE},
    [CELL_STRONG] = {NO_COLORS, NO_COLORS, NO_COLORS, A_BOLD, A_BOLD},
    [CELL_FAINT] = {NO_COLORS, NO_COLORS, {244, -1}, A_NORMAL, A_NORMAL},
    [CELL_GROWN] = {NO_COLORS, {9, -1}, {167, -1}, A_NORMAL, A_BOLD},
    [CELL_SHRUNK] = {NO_COLORS, NO_COLORS, {65, -1}, A_NORMAL, A_NORMAL},
    [CELL_TROUBLE] = {{7, 1}, {9, -1}, {196, -1}, A_BOLD, A_BOLD},
    [CELL_ACTIVE] = {NO_COLORS, NO_COLORS, {65, -1}, A_BOLD, A_BOLD},
    [CELL_KEY] = {NO_COLORS, NO_COLORS, {32, -1}, A_BOLD, A_BOLD},
    [CELL_FOUND] = {{0, 3}, {0, 3}, {16, 227}, A_UNDERLINE, A_REVERSE | A_BOLD},
    [CELL_BAR_1] = {NO_COLORS, NO_COLORS, {33, -1}, A_NORMAL, A_NORMAL},
    [CELL_BAR_2] = {NO_COLORS, NO_COLORS, {66, -1}, A_NORMAL, A_NORMAL},
    [CELL_BAR_3] = {NO_COLORS, NO_COLORS, {100, -1}, A_NORMAL, A_NORMAL},
    [CELL_BAR_4] = {NO_COLORS, NO_COLORS, {133, -1}, A_NORMAL, A_NORMAL},
    [CELL_BAR_5] = {NO_COLORS, {9, -1}, {167, -1}, A_NORMAL, A_BOLD},
    [CELL_BOX_1] = {{0, 3}, {0, 3}, {16, 222}, A_NORMAL, A_REVERSE},
    [CELL_BOX_2] = {{7, 4}, {0, 12}, {16, 153}, A_NORMAL, A_UNDERLINE},
    [CELL_BOX_3] = {{0, 2}, {0, 2}, {16, 151}, A_NORMAL, A_REVERSE},
    [CELL_BOX_4] = {{0, 7}, {0, 7}, {16, 182}, A_NORMAL, A_UNDERLINE},
    [CELL_BOX_GROWN] = {{7, 1}, {15, 1}, {16, 210}, A_NORMAL, A_REVERSE | A_BOLD},
    [CELL_BOX_SHRUNK] = {{0, 2}, {0, 2}, {16, 114}, A_NORMAL, A_UNDERLINE},
    [CELL_BOX_SAME] = {{0, 7}, {0, 7}, {16, 252}, A_NORMAL, A_REVERSE},
};

/* Converts COLOR of xterm's 256 colours to RGB; colours of the theme keep their number. */
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

/* Whether the terminal has true colour: numbers above those of the theme are RGB values. */
static gboolean
is_direct(void)
{
    return COLORS > COLORS_MANY;
}

static Colors
choose_colors(const Look *look)
{
    return COLORS >= COLORS_MANY ? look->many : COLORS >= COLORS_THEME ? look->some : look->few;
}

static void
choose_looks(Screen *screen, gboolean colored)
{
    for (short style = 0; style < CELL_STYLES; style++) {
        const Look *look = &looks[style];
        const Colors colors = colored ? choose_colors(look) : (Colors)NO_COLORS;
        gboolean has_colors = colors.fore >= 0 || colors.back >= 0;
        screen->attributes[style] = has_colors ? look->attributes : look->alone;
        screen->pairs[style] = has_colors ? style : 0;
        if (has_colors && is_direct())
            init_extended_pair(style, direct_color(colors.fore), direct_color(colors.back));
        else if (has_colors)
            init_pair(style, colors.fore, colors.back);
    }
}

static void
set_modes(Screen *screen)
{
    /* Also what has no meaning: after an event that was not asked for, wget_wch() waits for another key, whatever
     * nodelay() says. */
    const mmask_t reported = BUTTON1_PRESSED | BUTTON1_RELEASED | BUTTON2_PRESSED | BUTTON2_RELEASED | BUTTON3_PRESSED |
                             BUTTON3_RELEASED | BUTTON4_PRESSED | BUTTON4_RELEASED | BUTTON5_PRESSED | BUTTON5_RELEASED;
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
        mousemask(reported, NULL);
    mouseinterval(0);
}

Screen *
screen_open(const ScreenOptions *options, GError **error)
{
    if (!terminal_type_check(options->type, fileno(options->out), error))
        return NULL;
    g_autofree Screen *screen = g_new0(Screen, 1);
    screen->options = *options;
    screen->console = g_str_has_prefix(options->type, "linux");
    use_tioctl(TRUE);
    screen->terminal = newterm(options->type, options->out, options->in);
    if (screen->terminal == NULL) {
        g_set_error(error, SCREEN_ERROR, SCREEN_ERROR_TERMINAL,
                    "terminal type '%s' cannot show a screen; use --once or --json", options->type);
        return NULL;
    }
    set_term(screen->terminal);
    /* ncurses' own handler would run on any thread. */
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

/* Replaces LETTER with ASCII: lines, blocks by how full they are, braille by its dots. */
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

/* Replaces LETTER for fonts that only have code page 437: braille by the halves that have dots. */
static wchar_t
console_of(gunichar letter)
{
    enum { UPPER_DOTS = 0x1b, LOWER_DOTS = 0xe4 };
    static const wchar_t halves[] = {' ', 0x2580, 0x2584, 0x2588};
    static const wchar_t blocks[] = {'_', '_', 0x2584, 0x2584, 0x2584, 0x2588, 0x2588, 0x2588};
    if (letter >= 0x2581 && letter <= 0x2588)
        return blocks[letter - 0x2581];
    if (letter >= 0x2589 && letter <= 0x258f)
        return letter <= 0x258c ? 0x258c : ' ';
    if (letter >= 0x2800 && letter <= 0x28ff)
        return halves[((letter & UPPER_DOTS) != 0) + 2 * ((letter & LOWER_DOTS) != 0)];
    return (wchar_t)letter;
}

/* Replaces letters whose width differs in the C library: they would shift the rest of the row. */
static wchar_t
fit_letter(const Screen *screen, const Cell *cell)
{
    if (screen->options.ascii)
        return ascii_of(cell->letters[0]);
    wchar_t letter = screen->console ? console_of(cell->letters[0]) : (wchar_t)cell->letters[0];
    return wcwidth(letter) == cell->width ? letter : L'?';
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

/* Function keys and the letters that they stand for, as in htop. */
static const struct {
    guint number;
    char letter;
} function_keys[] = {{1, '?'}, {3, '/'}, {4, '\\'}, {6, '>'}, {10, 'q'}};

/* Detects double clicks. ncurses would delay the first click to wait for a second. */
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

/* One KEY_MOUSE stands for all events that have arrived by then, such as a button's press and its release; getmouse()
 * returns the newest first. */
static void
read_mouse(Screen *screen)
{
    screen->n_events = 0;
    while (screen->n_events < EVENTS_MAX && getmouse(&screen->events[screen->n_events]) == OK)
        screen->n_events++;
}

static void
translate_event(Screen *screen, const MEVENT *event, Key *key)
{
    *key = (Key){.code = KEY_IS_OTHER, .row = (guint)MAX(event->y, 0), .column = (guint)MAX(event->x, 0)};
    if ((event->bstate & BUTTON4_PRESSED) != 0)
        key->code = KEY_IS_UP;
    else if ((event->bstate & BUTTON5_PRESSED) != 0)
        key->code = KEY_IS_DOWN;
    else if ((event->bstate & BUTTON1_PRESSED) != 0)
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
    wint_t code = 0;
    int result = OK;
    if (screen->n_events == 0) {
        result = wget_wch(stdscr, &code);
        if (result == ERR)
            return FALSE;
        if (result == KEY_CODE_YES && code == KEY_MOUSE)
            read_mouse(screen);
    }
    if (screen->n_events > 0)
        translate_event(screen, &screen->events[--screen->n_events], key);
    else
        translate(code, result == KEY_CODE_YES, key);
    if (key->code == KEY_IS_REDRAW)
        clearok(curscr, TRUE);
    return TRUE;
}
