/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/ledger-bars.h"

#include "tui/amount.h"
#include "tui/draw.h"

enum {
    LABEL_COLUMNS = 30,
    LABEL_NARROW = 20,
    NARROW = 60, /* width in columns below which labels are short and shares are omitted */
    SIZE_COLUMNS = 11,
    SHARE_COLUMNS = 7,
    SMALL_SHARE = 50, /* lines below 1/50 are summed up in one row */
    SMALL_BYTES = 1024,
};

/* One row: a line, or the sum of the small lines. */
typedef struct {
    const char *title;
    double bytes;
    CellStyle style;
} Bar;

static gboolean
is_rest(LedgerId id)
{
    return id == LEDGER_UNEXPLAINED || id == LEDGER_GROUP_UNEXPLAINED;
}

/* The total that bars of LEVEL are shares of. */
static double
whole_of(const Ledger *ledger, LedgerLevel level)
{
    return (double)(level == LEDGER_LEVEL_GROUP && ledger->group != G_MAXUINT64 ? ledger->group : ledger->rss);
}

static gboolean
is_large(const Ledger *ledger, LedgerId id)
{
    double bytes = ABS((double)ledger->lines[id].bytes);
    return bytes >= SMALL_BYTES && bytes * SMALL_SHARE >= whole_of(ledger, ledger_lines[id].level);
}

/* Groups of colours: the program's memory, allocator overhead, memory that jemalloc retains, memory outside jemalloc,
 * and the rest. */
static CellStyle
style_of(LedgerId id)
{
    if (is_rest(id))
        return CELL_BAR_5;
    if (id <= LEDGER_SAMPLER)
        return CELL_BAR_2;
    if (id <= LEDGER_LARGE_TAILS || id == LEDGER_METADATA)
        return CELL_BAR_3;
    return id <= LEDGER_UNTOUCHED ? CELL_BAR_4 : CELL_BAR_1;
}

/* In an estimate, these lines include memory that cannot be separated from them. */
static const char *
title_of(LedgerId id, LedgerBarsFlags flags)
{
    if ((flags & LEDGER_BARS_ESTIMATE) != 0 && id == LEDGER_FILE_MAPPINGS)
        return "text, files, shared memory";
    if ((flags & LEDGER_BARS_ESTIMATE) != 0 && id == LEDGER_OTHER_ANONYMOUS)
        return "other anonymous memory";
    return ledger_lines[id].title;
}

static void
draw_bar_row(Cells *cells, guint row, const Bar *bar, double whole)
{
    gboolean narrow = cells->columns < NARROW;
    guint label = narrow ? LABEL_NARROW : LABEL_COLUMNS;
    guint at = label + SIZE_COLUMNS;
    g_autofree char *size = bar->bytes < 0 ? amount_change(bar->bytes) : amount_size((guint64)bar->bytes);
    g_autofree char *share = g_strdup_printf("%.1f%%", whole > 0 ? bar->bytes / whole * 100 : 0);
    cells_put(cells, (CellSpan){row, 2, label - 2}, CELL_PLAIN, bar->title);
    cells_put_right(cells, (CellSpan){row, label, SIZE_COLUMNS}, CELL_PLAIN, size);
    if (!narrow) {
        cells_put_right(cells, (CellSpan){row, at, SHARE_COLUMNS}, CELL_FAINT, share);
        at += SHARE_COLUMNS;
    }
    if (cells->columns > ++at)
        draw_bar(cells, (CellSpan){row, at, cells->columns - at}, bar->style,
                 whole > 0 ? MAX(bar->bytes, 0) / whole : 0);
}

gboolean
ledger_bars_any(const Ledger *ledger, LedgerLevel level)
{
    for (LedgerId id = 0; id < LEDGER_LINES; id++)
        if (ledger_lines[id].level == level && is_large(ledger, id))
            return TRUE;
    return FALSE;
}

guint
ledger_bars_draw(Cells *cells, guint row, const Ledger *ledger, LedgerLevel level, LedgerBarsFlags flags)
{
    double whole = whole_of(ledger, level), bytes = 0;
    LedgerId small = LEDGER_LINES;
    guint count = 0;
    for (LedgerId id = 0; id < LEDGER_LINES; id++) {
        const LedgerLine *line = &ledger->lines[id];
        if (ledger_lines[id].level != level || is_rest(id) || line->bytes == 0)
            continue;
        if (is_large(ledger, id))
            draw_bar_row(cells, row++, &(Bar){title_of(id, flags), (double)line->bytes, style_of(id)}, whole);
        else
            small = id, bytes += (double)line->bytes, count++;
    }
    g_autofree char *title = count == 1 ? g_strdup(title_of(small, flags)) : g_strdup_printf("%u smaller lines", count);
    if (count > 0)
        draw_bar_row(cells, row++, &(Bar){title, bytes, CELL_BAR_1}, whole);
    for (LedgerId id = 0; id < LEDGER_LINES; id++)
        if (ledger_lines[id].level == level && is_rest(id) && ledger->lines[id].known)
            draw_bar_row(cells, row++, &(Bar){ledger_lines[id].title, (double)ledger->lines[id].bytes, style_of(id)},
                         whole);
    return row;
}
