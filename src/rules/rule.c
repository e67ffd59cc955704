/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/rule.h"

#include <math.h>
#include <string.h>

static const char *const action_names[RULE_ACTIONS] = {
    [RULE_RECORD] = "record", [RULE_DUMP] = "dump",     [RULE_STATISTICS] = "statistics",
    [RULE_PURGE] = "purge",   [RULE_DECAY] = "decay",   [RULE_RENEW] = "renew",
    [RULE_RUN] = "run",       [RULE_PUSH] = "push",     [RULE_POST] = "post",
    [RULE_OTLP] = "otlp",     [RULE_SYSLOG] = "syslog", [RULE_LOG] = "log"};

static void
clear_condition(gpointer data)
{
    quantity_clear(&((RuleCondition *)data)->quantity);
}

static void
clear_action(gpointer data)
{
    RuleAction *action = data;
    g_strfreev(action->argv);
    g_free(action->url);
    g_free(action->path);
}

static void
clear_label(gpointer data)
{
    RuleLabel *label = data;
    g_free(label->name);
    g_pattern_spec_free(label->pattern);
}

Rule *
rule_new(const char *name)
{
    Rule *rule = g_new0(Rule, 1);
    g_atomic_ref_count_init(&rule->references);
    rule->name = g_strdup(name);
    rule->labels = g_array_new(FALSE, TRUE, sizeof(RuleLabel));
    g_array_set_clear_func(rule->labels, clear_label);
    rule->conditions = g_array_new(FALSE, TRUE, sizeof(RuleCondition));
    g_array_set_clear_func(rule->conditions, clear_condition);
    rule->actions = g_array_new(FALSE, TRUE, sizeof(RuleAction));
    g_array_set_clear_func(rule->actions, clear_action);
    rule->time_limit_us = 30 * G_USEC_PER_SEC;
    rule->count = 5;
    rule->user_count = 50;
    rule->window_us = (gint64)86400 * G_USEC_PER_SEC;
    rule->cooldown_us = 600 * G_USEC_PER_SEC;
    rule->again = NAN;
    rule->spare = 0.05;
    return rule;
}

Rule *
rule_ref(Rule *rule)
{
    g_atomic_ref_count_inc(&rule->references);
    return rule;
}

void
rule_unref(Rule *rule)
{
    if (rule == NULL || !g_atomic_ref_count_dec(&rule->references))
        return;
    for (guint i = 0; i < RULE_FILTERS; i++) {
        g_clear_pointer(&rule->filters[i], g_pattern_spec_free);
        g_free(rule->patterns[i]);
    }
    g_array_unref(rule->labels);
    g_array_unref(rule->conditions);
    g_array_unref(rule->actions);
    g_free(rule->name);
    g_free(rule->place);
    g_free(rule->text);
    g_free(rule->run_as);
    g_free(rule);
}

/* GLib may abort if the text is not UTF-8. */
static gboolean
fits(GPatternSpec *pattern, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return g_pattern_spec_match_string(pattern, valid);
}

static gboolean
has_label(const RuleSubject *subject, const RuleLabel *label)
{
    const gsize length = strlen(label->name);
    for (const char *const *one = subject->labels; *one != NULL; one++)
        if (strncmp(*one, label->name, length) == 0 && (*one)[length] == '=' && fits(label->pattern, *one + length + 1))
            return TRUE;
    return FALSE;
}

gboolean
rule_matches(const Rule *rule, const RuleSubject *subject)
{
    for (guint i = 0; i < RULE_FILTERS; i++)
        if (rule->filters[i] != NULL && subject->facts[i] != NULL && !fits(rule->filters[i], subject->facts[i]))
            return FALSE;
    for (guint i = 0; subject->labels != NULL && i < rule->labels->len; i++)
        if (!has_label(subject, &g_array_index(rule->labels, RuleLabel, i)))
            return FALSE;
    return TRUE;
}

const char *
rule_action_name(RuleActionKind kind)
{
    return action_names[kind];
}

char *
rule_describe_condition(const RuleCondition *condition)
{
    if (condition->side == RULE_IS)
        return g_strdup(condition->quantity.text);
    g_autofree char *threshold = amount_format(condition->threshold, condition->quantity.unit);
    return g_strdup_printf("%s %s %s", condition->quantity.text, condition->side == RULE_ABOVE ? "above" : "below",
                           threshold);
}
