/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures quantities of rules that samples do not have (rules/probe.h): lines of the ledger, and the memory held by
 * functions, from a dump of the target and its report. Uses at most 1 % of the time, including reports.
 */
#ifndef JESCOPE_SERVICE_RULE_PROBES_H
#define JESCOPE_SERVICE_RULE_PROBES_H

#include "service/core.h"

#include "rules/rule.h"

/* The quantities to measure for a target. */
typedef struct RuleProbes RuleProbes;

RuleProbes *rule_probes_new(ServiceTarget *target);
void rule_probes_free(gpointer probes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RuleProbes, rule_probes_free)

/* Adds QUANTITY, which has a probe and belongs to RULE, unless already added. */
void rule_probes_add(RuleProbes *probes, Rule *rule, const Quantity *quantity);

/* Measures PROBES, of which it takes ownership, if there are any and a measurement is due. From any thread. */
void rule_probes_measure(RuleProbes *probes);

/* The latest values, by Quantity.base: a new reference, or NULL. *NOW is set if they are new since the previous
 * call. */
GHashTable *rule_probes_values(ServiceTarget *target, gboolean *now);

#endif
