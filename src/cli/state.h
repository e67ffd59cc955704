/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a target for `status` and `ps`. */
#ifndef JESCOPE_CLI_STATE_H
#define JESCOPE_CLI_STATE_H

#include "routes/status.h"
#include "stats/ledger.h"
#include "target/facts.h"
#include "target/target.h"

#include <jansson.h>

/* Queries TARGET. The name is owned by TARGET. A control that its jemalloc lacks is not an error. */
gboolean state_read(Target *target, RouteStatus *status, GError **error);

/* The same, with the ledger of the same moment, from one reading of the mappings that takes 0.2 s at most. It omits
 * what needs other data than these and the sizes of STATUS: size classes, open files, the control group. Its rss is
 * 0 without a ledger: no statistics, a process of another machine, too many mappings, or mappings that may not be
 * read. */
gboolean state_read_with_ledger(Target *target, RouteStatus *status, Ledger *ledger, GError **error);

/* Refreshes the statistics and reads stats.resident; STATUS_UNKNOWN if this jemalloc does not have it. */
gboolean state_read_resident(Target *target, guint64 *bytes, GError **error);

/* CLI_ERROR_FAILED if a recording or 'enable --for' is running in TARGET. */
gboolean state_check_unleased(Target *target, GError **error);

/* Ends the running recording or lease, if any, which would otherwise switch profiling at its end. */
gboolean state_end_lease(Target *target, GError **error);

/* One word: "off" (cannot profile), "ready" or "active". */
const char *state_profiling_word(const RouteStatus *status);

/* Points the texts of STATUS that identify the process to a person to those of FACTS (NULL: unknown). */
void state_set_facts(RouteStatus *status, const ProcessFacts *facts);

/* The object printed by --json (routes/status.h); new reference. NULL: out of memory. */
json_t *state_json(const RouteStatus *status);

#endif
