/* SPDX-License-Identifier: Apache-2.0 */
/* Charts, bars and sparklines in cells. */
#ifndef JESCOPE_TUI_DRAW_H
#define JESCOPE_TUI_DRAW_H

#include "tui/cells.h"
#include "tui/track.h"

/* The latest COLUMNS points of FIGURE as blocks of eight heights, between their least and greatest. Newly allocated. */
char *draw_spark(const Track *track, StatusFigure figure, guint columns);

typedef struct {
    guint row;
    guint column;
    guint rows;
    guint columns;
} DrawArea;

/* FIGURE over time, in braille, two points in each column, the latest at the right. The scale begins at the least
 * value, or at zero where that is near; *LOW and *HIGH are its ends. FALSE: there are no points. */
gboolean draw_chart(Cells *cells, DrawArea area, const Track *track, StatusFigure figure, guint64 scale[static 2]);

/* PART of WHOLE as a bar in SPAN, with eighths of a column. */
void draw_bar(Cells *cells, CellSpan span, CellStyle style, double share);

#endif
