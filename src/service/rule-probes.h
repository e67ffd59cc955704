/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures for rules what is in no sample (rules/probe.h): lines of the ledger, and what functions hold, by a dump of
 * the target and a report of it. Takes a hundredth of the time at most, reports included.
 */
#ifndef JESCOPE_SERVICE_RULE_PROBES_H
#define JESCOPE_SERVICE_RULE_PROBES_H

#include "service/core.h"

#include "rules/rule.h"

/* What is to be measured of a target. */
typedef struct RuleProbes RuleProbes;

RuleProbes *rule_probes_new(ServiceTarget *target);
void rule_probes_free(gpointer probes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RuleProbes, rule_probes_free)

/* Adds QUANTITY, which has a probe and belongs to RULE, unless it is there already. */
void rule_probes_add(RuleProbes *probes, Rule *rule, const Quantity *quantity);

/* Measures PROBES, which are taken, if there are any and it is time to. From any thread. */
void rule_probes_measure(RuleProbes *probes);

/* The latest values, by Quantity.base; a reference, NULL: none. *NOW: they are new since the call before. */
GHashTable *rule_probes_values(ServiceTarget *target, gboolean *now);

#endif
