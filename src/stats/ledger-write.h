/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger as text and as JSON. */
#ifndef JESCOPE_STATS_LEDGER_WRITE_H
#define JESCOPE_STATS_LEDGER_WRITE_H

#include "stats/ledger-take.h"

typedef enum {
    LEDGER_WRITE_PLAIN = 0,
    LEDGER_WRITE_ALL = 1 << 0, /* also lines of no bytes */
} LedgerWrite;

/* A section for each level, with the share of every line; lines without bytes are left out. */
void ledger_append_text(GString *out, const LedgerTaken *taken, LedgerWrite flags);

/* "24.0 MiB other anonymous mappings, 9.1 MiB program text": the largest lines of the resident set that jemalloc's
 * statistics do not have, three at most, and none of less than a hundredth of it. Nothing if there are none. */
void ledger_append_largest(GString *out, const Ledger *ledger);

/* The members of one object, without its braces (docs/formats.md has the keys). */
void ledger_append_json(GString *out, const LedgerTaken *taken);

#endif
