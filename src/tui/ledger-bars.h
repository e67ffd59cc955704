/* SPDX-License-Identifier: Apache-2.0 */
/* A level of a ledger (stats/ledger.h) as bars: a row for each line, and one for those that are too small to see. */
#ifndef JESCOPE_TUI_LEDGER_BARS_H
#define JESCOPE_TUI_LEDGER_BARS_H

#include "stats/ledger.h"
#include "tui/cells.h"

typedef enum {
    LEDGER_BARS_PLAIN = 0,
    LEDGER_BARS_ESTIMATE = 1 << 0, /* the ledger is one of ledger_estimate(): its merged lines are called so */
} LedgerBarsFlags;

/* Whether a line of LEVEL is large enough for a row of its own. */
gboolean ledger_bars_any(const Ledger *ledger, LedgerLevel level);

/* Draws from ROW of CELLS on; returns the next row. */
guint ledger_bars_draw(Cells *cells, guint row, const Ledger *ledger, LedgerLevel level, LedgerBarsFlags flags);

#endif
