/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/cells.h"

#include <string.h>

enum {
    ELLIPSIS = 0x2026,
};

static const Cell blank = {.letters = {' '}, .width = 1, .style = CELL_PLAIN};

Cells *
cells_new(guint rows, guint columns)
{
    Cells *cells = g_new0(Cells, 1);
    cells->rows = CLAMP(rows, 1, CELLS_MAX);
    cells->columns = CLAMP(columns, 1, CELLS_MAX);
    cells->cursor_row = cells->cursor_column = -1;
    cells->cells = g_new(Cell, (gsize)cells->rows * cells->columns);
    for (gsize i = 0; i < (gsize)cells->rows * cells->columns; i++)
        cells->cells[i] = blank;
    return cells;
}

void
cells_free(Cells *cells)
{
    if (cells == NULL)
        return;
    g_free(cells->cells);
    g_free(cells);
}

static Cell *
cell_at(Cells *cells, guint row, guint column)
{
    return &cells->cells[(gsize)row * cells->columns + column];
}

const Cell *
cells_at(const Cells *cells, guint row, guint column)
{
    return &cells->cells[(gsize)row * cells->columns + column];
}

guint
cells_letter_width(gunichar letter)
{
    if (g_unichar_iszerowidth(letter))
        return 0;
    return g_unichar_iswide(letter) ? 2 : 1;
}

/* LETTER, or '?' if it must not be shown. Of letters without width, only combining marks are kept. */
static gunichar
shown_letter(gunichar letter)
{
    switch (g_unichar_type(letter)) {
    case G_UNICODE_CONTROL:
    case G_UNICODE_FORMAT:
    case G_UNICODE_LINE_SEPARATOR:
    case G_UNICODE_PARAGRAPH_SEPARATOR:
    case G_UNICODE_PRIVATE_USE:
    case G_UNICODE_SURROGATE:
    case G_UNICODE_UNASSIGNED:
        return '?';
    case G_UNICODE_NON_SPACING_MARK:
    case G_UNICODE_ENCLOSING_MARK:
        return letter;
    default:
        return cells_letter_width(letter) == 0 ? '?' : letter;
    }
}

/* Blanks the remaining half of a wide letter when the other half is overwritten. */
static void
mend_halves(Cells *cells, guint row, guint column)
{
    Cell *cell = cell_at(cells, row, column);
    if (cell->width == 0 && column > 0)
        memcpy(cell_at(cells, row, column - 1), &blank, sizeof(blank));
    if (cell->width == 2 && column + 1 < cells->columns)
        memcpy(cell_at(cells, row, column + 1), &blank, sizeof(blank));
}

static void
set_letter(Cells *cells, CellSpan at, CellStyle style, gunichar letter)
{
    guint width = cells_letter_width(letter);
    for (guint i = 0; i < width; i++)
        mend_halves(cells, at.row, at.column + i);
    *cell_at(cells, at.row, at.column) = (Cell){.letters = {letter}, .width = (guint8)width, .style = (guint8)style};
    if (width == 2)
        *cell_at(cells, at.row, at.column + 1) = (Cell){.width = 0, .style = (guint8)style};
}

/* Adds MARK to the letter before COLUMN. */
static void
add_mark(Cells *cells, guint row, guint column, gunichar mark)
{
    Cell *cell = cell_at(cells, row, column - 1);
    if (cell->width == 0 && column > 1)
        cell = cell_at(cells, row, column - 2);
    for (guint i = 1; i < CELL_LETTERS; i++)
        if (cell->letters[i] == 0) {
            cell->letters[i] = mark;
            return;
        }
}

static gunichar
next_letter(const char **text)
{
    gunichar letter = g_utf8_get_char_validated(*text, -1);
    if ((letter & 0x80000000u) != 0) {
        (*text)++;
        return '?';
    }
    *text += g_utf8_skip[*(const guchar *)*text];
    return shown_letter(letter);
}

guint
cells_put(Cells *cells, CellSpan span, CellStyle style, const char *text)
{
    if (span.row >= cells->rows || span.column >= cells->columns)
        return 0;
    guint limit = MIN(span.columns, cells->columns - span.column);
    guint used = 0;
    while (*text != '\0' && limit > 0) {
        gunichar letter = next_letter(&text);
        guint width = cells_letter_width(letter);
        if (width == 0 && used > 0)
            add_mark(cells, span.row, span.column + used, letter);
        if (width == 0)
            continue;
        if (used + width > limit) {
            guint last = used < limit ? used : limit - 1;
            set_letter(cells, (CellSpan){span.row, span.column + last, 1}, style, ELLIPSIS);
            return limit;
        }
        set_letter(cells, (CellSpan){span.row, span.column + used, width}, style, letter);
        used += width;
    }
    return used;
}

guint
cells_print(Cells *cells, CellSpan span, CellStyle style, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return cells_put(cells, span, style, text);
}

guint
cells_text_width(const char *text)
{
    guint columns = 0;
    while (*text != '\0')
        columns += cells_letter_width(next_letter(&text));
    return columns;
}

void
cells_put_right(Cells *cells, CellSpan span, CellStyle style, const char *text)
{
    guint columns = cells_text_width(text);
    if (columns < span.columns) {
        span.column += span.columns - columns;
        span.columns = columns;
    }
    cells_put(cells, span, style, text);
}

void
cells_set_style(Cells *cells, CellSpan span, CellStyle style)
{
    for (guint i = 0; i < span.columns && span.row < cells->rows && span.column + i < cells->columns; i++)
        cell_at(cells, span.row, span.column + i)->style = (guint8)style;
}

void
cells_clear(Cells *cells, CellSpan span)
{
    for (guint i = 0; i < span.columns && span.row < cells->rows && span.column + i < cells->columns; i++)
        *cell_at(cells, span.row, span.column + i) = blank;
}

void
cells_copy(Cells *to, const Cells *from, CellRows rows)
{
    for (guint i = 0; i < rows.count && rows.at + i < to->rows && rows.top + i < from->rows; i++)
        memcpy(cell_at(to, rows.at + i, 0), cells_at(from, rows.top + i, 0),
               MIN(to->columns, from->columns) * sizeof(Cell));
}

static void
append_row(GString *text, const Cells *cells, guint row)
{
    gsize end = text->len;
    for (guint column = 0; column < cells->columns; column++) {
        const Cell *cell = cells_at(cells, row, column);
        for (guint i = 0; i < CELL_LETTERS && cell->letters[i] != 0; i++)
            g_string_append_unichar(text, cell->letters[i]);
        if (cell->letters[0] != ' ' && cell->width != 0)
            end = text->len;
    }
    g_string_truncate(text, end);
    g_string_append_c(text, '\n');
}

char *
cells_text(const Cells *cells)
{
    GString *text = g_string_new(NULL);
    gsize end = 0;
    for (guint row = 0; row < cells->rows; row++) {
        gsize begin = text->len;
        append_row(text, cells, row);
        if (text->len > begin + 1)
            end = text->len;
    }
    g_string_truncate(text, end);
    return g_string_free(text, FALSE);
}
