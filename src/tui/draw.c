/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/draw.h"

#include <math.h>

enum {
    BLOCK_LOWEST = 0x2581,
    BLOCK_FULL = 0x2588,
    BLOCK_EIGHTH_WIDE = 0x258f, /* the narrowest; the widest precedes it by seven code points */
    BLOCK_HEIGHTS = 8,
    BRAILLE = 0x2800,
    BRAILLE_ROWS = 4, /* dots per cell */
    BRAILLE_COLUMNS = 2,
};

/* The minimum and maximum of the latest COUNT points; FALSE if none is known. */
static gboolean
range_of(const Track *track, StatusFigure figure, guint count, guint64 scale[static 2])
{
    gboolean found = FALSE;
    for (guint back = 0; back < count && back < track_count(track); back++) {
        guint64 value = track_point(track, back)->figures[figure];
        if (value == STATUS_UNKNOWN)
            continue;
        scale[0] = found ? MIN(scale[0], value) : value;
        scale[1] = found ? MAX(scale[1], value) : value;
        found = TRUE;
    }
    return found;
}

char *
draw_spark(const Track *track, StatusFigure figure, guint columns)
{
    guint64 scale[2];
    GString *text = g_string_new(NULL);
    gboolean known = range_of(track, figure, columns, scale);
    for (guint i = columns; known && i > 0; i--) {
        guint64 value = i <= track_count(track) ? track_point(track, i - 1)->figures[figure] : STATUS_UNKNOWN;
        guint64 spread = MAX(scale[1] - scale[0], 1);
        guint height = value == STATUS_UNKNOWN ? 0 : (guint)((value - scale[0]) * (BLOCK_HEIGHTS - 1) / spread);
        g_string_append_unichar(text, value == STATUS_UNKNOWN ? ' ' : BLOCK_LOWEST + height);
    }
    return g_string_free(text, FALSE);
}

static gunichar
dot_of(guint x, guint y)
{
    static const guint8 dots[BRAILLE_COLUMNS][BRAILLE_ROWS] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    return dots[x][y];
}

static void
draw_column(Cells *cells, const DrawArea *area, guint column, const guint heights[static BRAILLE_COLUMNS])
{
    for (guint row = 0; row < area->rows; row++) {
        gunichar letter = BRAILLE;
        char text[8] = "";
        for (guint x = 0; x < BRAILLE_COLUMNS; x++)
            for (guint y = 0; y < BRAILLE_ROWS; y++)
                if ((area->rows - row) * BRAILLE_ROWS - y <= heights[x])
                    letter |= dot_of(x, y);
        if (letter == BRAILLE)
            continue;
        g_unichar_to_utf8(letter, text);
        cells_put(cells, (CellSpan){area->row + row, area->column + column, 1}, CELL_BAR_1, text);
    }
}

gboolean
draw_chart(Cells *cells, DrawArea area, const Track *track, StatusFigure figure, guint64 scale[static 2])
{
    guint points = area.columns * BRAILLE_COLUMNS;
    guint levels = area.rows * BRAILLE_ROWS;
    if (!range_of(track, figure, points, scale))
        return FALSE;
    if (scale[0] < scale[1] / 2)
        scale[0] = 0;
    double spread = (double)MAX(scale[1] - scale[0], 1);
    for (guint column = 0; column < area.columns; column++) {
        guint heights[BRAILLE_COLUMNS] = {0};
        for (guint x = 0; x < BRAILLE_COLUMNS; x++) {
            guint back = points - 1 - (column * BRAILLE_COLUMNS + x);
            guint64 value = back < track_count(track) ? track_point(track, back)->figures[figure] : STATUS_UNKNOWN;
            if (value != STATUS_UNKNOWN)
                heights[x] = 1 + (guint)lround((double)(value - scale[0]) / spread * (levels - 1));
        }
        draw_column(cells, &area, column, heights);
    }
    return TRUE;
}

void
draw_bar(Cells *cells, CellSpan span, CellStyle style, double share)
{
    guint eighths = (guint)lround(CLAMP(share, 0, 1) * span.columns * BLOCK_HEIGHTS);
    for (guint i = 0; i < span.columns && i * BLOCK_HEIGHTS < eighths; i++) {
        char text[8] = "";
        guint rest = eighths - i * BLOCK_HEIGHTS;
        g_unichar_to_utf8(rest >= BLOCK_HEIGHTS ? BLOCK_FULL : BLOCK_EIGHTH_WIDE - (rest - 1), text);
        cells_put(cells, (CellSpan){span.row, span.column + i, 1}, style, text);
    }
}
