/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger from the document that ledger-write.h writes. */
#ifndef JESCOPE_STATS_LEDGER_READ_H
#define JESCOPE_STATS_LEDGER_READ_H

#include "stats/ledger-take.h"

#include <jansson.h>

/* DOCUMENT may be anything, NULL included. FALSE: it is not a ledger, or one with lines that this jescope does not
 * know or that do not add up; TAKEN is then empty. */
gboolean ledger_read_json(const json_t *document, LedgerTaken *taken);

#endif
