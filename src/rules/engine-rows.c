/* SPDX-License-Identifier: Apache-2.0 */
/* The names of states and reasons, and the array of counts (engine.h). */
#include "rules/engine.h"

static const char *const state_names[RULE_STATES] = {"armed", "holding", "cooling"};

static const char *const reason_names[RULE_REASONS] = {
    [RULE_FIRED] = "fired",
    [RULE_NOT_JUDGED] = "no-sample",
    [RULE_OTHER_PROCESS] = "other-process",
    [RULE_WARMING_UP] = "warm-up",
    [RULE_NO_VALUE] = "no-value",
    [RULE_NOT_TRUE] = "not-true",
    [RULE_NOT_LONG] = "not-long-enough",
    [RULE_IN_COOLDOWN] = "cooldown",
    [RULE_NOT_CLEARED] = "not-cleared",
    [RULE_COUNTED_OUT] = "count",
    [RULE_DISK_FULL] = "disk",
    [RULE_MACHINE_SHORT] = "machine",
    [RULE_AT_WORK] = "at-work",
    [RULE_USER_COUNTED_OUT] = "user-count",
    [RULE_USER_AT_WORK] = "user-at-work",
};

const char *
rule_state_name(RuleState state)
{
    return state_names[state];
}

const char *
rule_reason_name(RuleReason reason)
{
    return reason_names[reason];
}

static void
clear_count(gpointer data)
{
    RuleCount *count = data;
    g_free(count->rule);
}

GArray *
rule_counts_new(void)
{
    GArray *counts = g_array_new(FALSE, FALSE, sizeof(RuleCount));
    g_array_set_clear_func(counts, clear_count);
    return counts;
}
