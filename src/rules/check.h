/* SPDX-License-Identifier: Apache-2.0 */
/* When rules would have fired over recorded samples, and what that would have cost. */
#ifndef JESCOPE_RULES_CHECK_H
#define JESCOPE_RULES_CHECK_H

#include "rules/engine.h"

#include "history/history.h"

/* What the actions would have cost. */
typedef struct {
    guint64 times[RULE_ACTIONS];
    guint64 recorded_ms; /* profiling switched on by "record" */
    guint64 dumps;       /* "dump" and "record" */
    guint64 dump_bytes;  /* of one, the mean of those in the history; 0: there are none */
} RulesCost;

/* One rule on one series. */
typedef struct {
    Rule *rule;
    char *series;
    guint64 samples;
    GArray *firings;               /* of RuleFiring; times are those of samples */
    guint held_back[RULE_REASONS]; /* how often a limit began to forbid it; other reasons are 0 */
    RuleState state;               /* at the end, and why */
    char *why;
    RulesCost cost;
} RulesCheck;

void rules_check_free(RulesCheck *check);

typedef struct {
    const char *const *series; /* NULL-terminated; empty: every one */
    HistoryRange range;
} RulesCheckQuery;

/* Of RulesCheck, by rule and series, where the rule chooses the series. Of the filters, process and series are looked
 * at: the history does not have the others. */
GPtrArray *rules_check(History *history, const GPtrArray *rules, const RulesCheckQuery *query, GError **error);

#endif
