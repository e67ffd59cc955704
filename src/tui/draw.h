/* SPDX-License-Identifier: Apache-2.0 */
/* Charts, bars and sparklines in cells. */
#ifndef JESCOPE_TUI_DRAW_H
#define JESCOPE_TUI_DRAW_H

#include "tui/cells.h"
#include "tui/track.h"

/* A sparkline of the latest COLUMNS points of FIGURE, scaled from their minimum to their maximum. Newly allocated. */
char *draw_spark(const Track *track, StatusFigure figure, guint columns);

typedef struct {
    guint row;
    guint column;
    guint rows;
    guint columns;
} DrawArea;

/* Draws FIGURE over time in braille, two points per column, the latest at the right. SCALE receives the ends of the
 * scale: the minimum, or zero if the minimum is below half of the maximum; and the maximum. FALSE if no point is
 * known. */
gboolean draw_chart(Cells *cells, DrawArea area, const Track *track, StatusFigure figure, guint64 scale[static 2]);

/* Draws SHARE (0 to 1) of SPAN as a bar, in eighths of a column. */
void draw_bar(Cells *cells, CellSpan span, CellStyle style, double share);

#endif
