/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a ledger as text and as JSON. */
#ifndef JESCOPE_STATS_LEDGER_WRITE_H
#define JESCOPE_STATS_LEDGER_WRITE_H

#include "stats/ledger-take.h"

typedef enum {
    LEDGER_WRITE_PLAIN = 0,
    LEDGER_WRITE_ALL = 1 << 0, /* include lines of 0 bytes */
} LedgerWrite;

/* Appends a section per level, with the share of every line; lines of 0 bytes are omitted. */
void ledger_append_text(GString *out, const LedgerTaken *taken, LedgerWrite flags);

/* Appends the largest lines of the resident set that jemalloc's statistics do not cover: "24.0 MiB other anonymous
 * mappings, 9.1 MiB program text"; at most three, each at least 1 % of it. Appends nothing if there are none. */
void ledger_append_largest(GString *out, const Ledger *ledger);

/* Appends the members of a JSON object without its braces (docs/formats.md has the keys). */
void ledger_append_json(GString *out, const LedgerTaken *taken);

#endif
