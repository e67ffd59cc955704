/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a level of a ledger (stats/ledger.h) as bars: a row per line, and one for the sum of lines that are too small
 * to see. */
#ifndef JESCOPE_TUI_LEDGER_BARS_H
#define JESCOPE_TUI_LEDGER_BARS_H

#include "stats/ledger.h"
#include "tui/cells.h"

typedef enum {
    LEDGER_BARS_PLAIN = 0,
    LEDGER_BARS_ESTIMATE = 1 << 0, /* the ledger is from ledger_estimate(): merged lines have titles of their own */
} LedgerBarsFlags;

/* Whether any line of LEVEL is large enough for a row of its own. */
gboolean ledger_bars_any(const Ledger *ledger, LedgerLevel level);

/* Draws from ROW down; returns the next free row. */
guint ledger_bars_draw(Cells *cells, guint row, const Ledger *ledger, LedgerLevel level, LedgerBarsFlags flags);

#endif
