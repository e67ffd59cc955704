/* SPDX-License-Identifier: Apache-2.0 */
/* Replays rules over recorded samples: when they would have fired, and at what cost. */
#ifndef JESCOPE_RULES_CHECK_H
#define JESCOPE_RULES_CHECK_H

#include "rules/engine.h"

#include "history/history.h"

/* The cost that the actions would have had. */
typedef struct {
    guint64 times[RULE_ACTIONS];
    guint64 recorded_ms; /* time with profiling switched on by "record" */
    guint64 dumps;       /* by "dump" and "record" */
    guint64 dump_bytes;  /* mean size of the dumps in the history; 0: it has none */
} RulesCost;

/* One rule on one series. */
typedef struct {
    Rule *rule;
    char *series;
    guint64 samples;
    GArray *firings;               /* of RuleFiring; times are those of samples */
    guint held_back[RULE_REASONS]; /* how often each limit began to prevent firing; other reasons are 0 */
    RuleState state;               /* at the end, and why */
    char *why;
    RulesCost cost;
} RulesCheck;

void rules_check_free(RulesCheck *check);

typedef struct {
    const char *const *series; /* NULL-terminated; empty: all */
    HistoryRange range;
} RulesCheckQuery;

/* Returns an array of RulesCheck, sorted by rule and series, with the series that each rule selects. Only the filters
 * process and series are applied: the history lacks the other facts. */
GPtrArray *rules_check(History *history, const GPtrArray *rules, const RulesCheckQuery *query, GError **error);

#endif
