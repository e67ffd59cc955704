/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a ledger from the document that ledger-write.h writes. */
#ifndef JESCOPE_STATS_LEDGER_READ_H
#define JESCOPE_STATS_LEDGER_READ_H

#include "stats/ledger-take.h"

#include <jansson.h>

/* DOCUMENT is untrusted and may be NULL. FALSE, with TAKEN empty, if it is not a ledger, or has lines that are unknown
 * to this version or do not add up. */
gboolean ledger_read_json(const json_t *document, LedgerTaken *taken);

#endif
