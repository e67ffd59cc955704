/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/standing.h"

#include "rules/condition.h"
#include "rules/window.h"
#include "text/duration.h"

#include <math.h>

G_STATIC_ASSERT(CONDITIONS_MAX <= 32);

/* Whether the whole 95 % interval of VALUE is beyond LIMIT. */
static gboolean
is_beyond(RuleSide side, const WindowValue *value, gdouble limit)
{
    return side == RULE_ABOVE ? value->low > limit : side == RULE_BELOW ? value->high < limit : value->value > 0;
}

typedef enum { HOLDS, HOLDS_NOT, UNKNOWN } Truth;

static Truth
judge_condition(GHashTable *windows, const RuleCondition *condition, const RuleReading *reading, gboolean was_on,
                WindowValue *value)
{
    if (condition->quantity.form == QUANTITY_VALUE) {
        if (!quantity_read(&condition->quantity, reading->sample, reading->probed, &value->value))
            return UNKNOWN;
        value->low = value->high = value->value;
    } else if (!window_value(g_hash_table_lookup(windows, condition->quantity.text), value)) {
        return UNKNOWN;
    }
    return is_beyond(condition->side, value, was_on ? condition->clear : condition->threshold) ? HOLDS : HOLDS_NOT;
}

/* Whether the conditions hold. If not, the reason is the first condition that fails in the last alternative. */
static gboolean
judge_conditions(GHashTable *windows, const Rule *rule, const RuleReading *reading, Standing *standing)
{
    gboolean all = TRUE, any = FALSE;
    for (guint i = 0; i < rule->conditions->len; i++) {
        const RuleCondition *condition = &g_array_index(rule->conditions, RuleCondition, i);
        gboolean last = i + 1 == rule->conditions->len || condition[1].alternative != condition->alternative;
        WindowValue value = {0};
        Truth truth = judge_condition(windows, condition, reading, (standing->on >> i & 1) != 0, &value);
        standing->on = truth == HOLDS ? standing->on | 1u << i : standing->on & ~(1u << i);
        if (truth != HOLDS && all) {
            standing->reason = truth == UNKNOWN ? RULE_NO_VALUE : RULE_NOT_TRUE;
            standing->condition = i;
            standing->has_value = truth != UNKNOWN;
            standing->value = value.value;
        }
        all = all && truth == HOLDS;
        if (last) {
            any = any || all;
            all = TRUE;
        }
    }
    return any;
}

const Fired *
standing_last_fired(const Standing *standing)
{
    return standing->fired != NULL && standing->fired->len > 0
               ? &g_array_index(standing->fired, Fired, standing->fired->len - 1)
               : NULL;
}

/* Removes firings before the rule's window, except the last one, which counts for the cooldown. */
static void
forget_old(const Rule *rule, Standing *standing, gint64 now_us)
{
    guint old = 0;
    while (standing->fired != NULL && old + 1 < standing->fired->len &&
           g_array_index(standing->fired, Fired, old).time_us <= now_us - rule->window_us)
        old++;
    if (old > 0)
        g_array_remove_range(standing->fired, 0, old);
}

guint
standing_count_fired(const Standing *standing, const Rule *rule, gint64 now_us, guint64 *bytes)
{
    guint count = 0;
    *bytes = 0;
    for (guint i = 0; standing->fired != NULL && i < standing->fired->len; i++) {
        const Fired *fired = &g_array_index(standing->fired, Fired, i);
        if (fired->time_us <= now_us - rule->window_us)
            continue;
        count++;
        *bytes += fired->bytes;
    }
    return count;
}

static gboolean
is_in_cooldown(const Rule *rule, const Standing *standing, gint64 now_us)
{
    const Fired *last = standing_last_fired(standing);
    return last != NULL && now_us - last->time_us < rule->cooldown_us;
}

/* The value of the first condition; FALSE: unknown. */
static gboolean
first_value(GHashTable *windows, const Rule *rule, const RuleReading *reading, gdouble *value)
{
    WindowValue found;
    if (judge_condition(windows, &g_array_index(rule->conditions, RuleCondition, 0), reading, FALSE, &found) == UNKNOWN)
        return FALSE;
    *value = found.value;
    return TRUE;
}

/* Whether the first condition's quantity has moved by at least rule->again since the rule fired. */
static gboolean
moved_again(GHashTable *windows, const Rule *rule, const RuleReading *reading, const Standing *standing)
{
    gdouble value;
    if (isnan(rule->again) || !first_value(windows, rule, reading, &value))
        return FALSE;
    gdouble moved = value - standing->fired_value;
    return (g_array_index(rule->conditions, RuleCondition, 0).side == RULE_BELOW ? -moved : moved) >= rule->again;
}

/* The limit that prevents the rule from firing now, or RULE_FIRED. */
static RuleReason
check_limits(const Rule *rule, const Standing *standing, const RuleReading *reading)
{
    guint64 bytes;
    guint count = standing_count_fired(standing, rule, reading->now_us, &bytes);
    if (standing->at_work)
        return RULE_AT_WORK;
    if (count >= rule->count)
        return RULE_COUNTED_OUT;
    if (rule->disk > 0 && bytes >= rule->disk)
        return RULE_DISK_FULL;
    return reading->spare < rule->spare ? RULE_MACHINE_SHORT : RULE_FIRED;
}

static char *
describe_values(GHashTable *windows, const Rule *rule, const RuleReading *reading, const Standing *standing)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < rule->conditions->len; i++) {
        const RuleCondition *condition = &g_array_index(rule->conditions, RuleCondition, i);
        WindowValue value;
        if ((standing->on >> i & 1) == 0 || judge_condition(windows, condition, reading, TRUE, &value) == UNKNOWN)
            continue;
        g_autofree char *what = rule_describe_condition(condition);
        g_autofree char *now = condition->side != RULE_IS ? amount_format(value.value, condition->quantity.unit) : NULL;
        g_string_append_printf(text, "%s%s%s%s", text->len > 0 ? ", " : "", what, now != NULL ? ": " : "",
                               now != NULL ? now : "");
    }
    return g_string_free(text, FALSE);
}

/* Judges a rule that has fired: arms it when the conditions no longer hold and the cooldown is over, or returns TRUE if
 * it should fire once more before. */
static gboolean
judge_cooling(GHashTable *windows, const Rule *rule, const RuleReading *reading, gboolean holds, Standing *standing)
{
    gboolean cooling = is_in_cooldown(rule, standing, reading->now_us);
    if (holds && moved_again(windows, rule, reading, standing))
        return TRUE;
    if (holds || cooling)
        standing->reason = holds ? RULE_NOT_CLEARED : RULE_IN_COOLDOWN;
    else
        standing->state = RULE_ARMED;
    return FALSE;
}

/* Whether a rule that is armed or holding should fire, apart from limits. */
static gboolean
judge_waiting(const Rule *rule, gint64 now_us, gboolean holds, Standing *standing)
{
    if (!holds) {
        standing->state = RULE_ARMED;
        return FALSE;
    }
    if (standing->state == RULE_ARMED) {
        standing->state = RULE_HOLDING;
        standing->since_us = now_us;
    }
    if (now_us - standing->since_us < rule->for_us)
        standing->reason = RULE_NOT_LONG;
    else if (is_in_cooldown(rule, standing, now_us))
        standing->reason = RULE_IN_COOLDOWN;
    else
        return TRUE;
    return FALSE;
}

gboolean
standing_judge(Standing *standing, const Rule *rule, GHashTable *windows, const RuleReading *reading)
{
    forget_old(rule, standing, reading->now_us);
    gboolean holds = judge_conditions(windows, rule, reading, standing);
    gboolean due = standing->state == RULE_COOLING ? judge_cooling(windows, rule, reading, holds, standing)
                                                   : judge_waiting(rule, reading->now_us, holds, standing);
    if (!due)
        return FALSE;
    standing->reason = check_limits(rule, standing, reading);
    return standing->reason == RULE_FIRED;
}

char *
standing_fire(Standing *standing, const Rule *rule, GHashTable *windows, const RuleReading *reading)
{
    const Fired fired = {.time_us = reading->now_us};
    if (standing->fired == NULL)
        standing->fired = g_array_new(FALSE, FALSE, sizeof(Fired));
    g_array_append_val(standing->fired, fired);
    first_value(windows, rule, reading, &standing->fired_value);
    standing->state = RULE_COOLING;
    standing->reason = RULE_FIRED;
    return describe_values(windows, rule, reading, standing);
}

void
standing_rearm(Standing *standing)
{
    standing->state = RULE_ARMED;
    standing->reason = RULE_NOT_JUDGED;
    standing->on = 0;
}

void
standing_set_back(Standing *standing, gint64 now_us)
{
    for (guint i = 0; standing->fired != NULL && i < standing->fired->len; i++) {
        Fired *fired = &g_array_index(standing->fired, Fired, i);
        fired->time_us = MIN(fired->time_us, now_us);
    }
}

void
standing_add_bytes(Standing *standing, guint64 bytes)
{
    if (standing->fired != NULL && standing->fired->len > 0)
        g_array_index(standing->fired, Fired, standing->fired->len - 1).bytes += bytes;
}

static char *
format_us(gint64 us)
{
    return duration_format((guint64)MAX(us, 0) / 1000);
}

static char *
describe_false(const Rule *rule, const Standing *standing)
{
    const RuleCondition *condition = &g_array_index(rule->conditions, RuleCondition, standing->condition);
    g_autofree char *what = rule_describe_condition(condition);
    if (!standing->has_value && quantity_probe(&condition->quantity) != NULL)
        return g_strdup_printf("'%s' has no value yet: it was not measured, or profiling is off",
                               condition->quantity.text);
    if (!standing->has_value)
        return g_strdup_printf("'%s' has no value yet: it is not in the samples, or its window is not filled",
                               condition->quantity.text);
    if (condition->side == RULE_IS)
        return g_strdup_printf("%s: no", what);
    g_autofree char *value = amount_format(standing->value, condition->quantity.unit);
    return g_strdup_printf("%s: it is %s", what, value);
}

static char *
describe_times(const Rule *rule, const Standing *standing, gint64 now_us)
{
    const Fired *last = standing_last_fired(standing);
    gint64 since_us = last != NULL ? now_us - last->time_us : 0;
    g_autofree char *held = format_us(now_us - standing->since_us);
    g_autofree char *needed = format_us(rule->for_us);
    g_autofree char *left = format_us(rule->cooldown_us - since_us);
    if (standing->reason == RULE_NOT_LONG)
        return g_strdup_printf("the condition holds for %s of %s", held, needed);
    return g_strdup_printf("it fired before; the cooldown ends in %s", left);
}

char *
standing_describe(const Standing *standing, const Rule *rule, gint64 now_us, const char *user)
{
    g_autofree char *window = format_us(rule->window_us);
    g_autofree char *spare = amount_format(rule->spare, (AmountUnit){.kind = AMOUNT_SHARE});
    switch (standing->reason) {
    case RULE_NO_VALUE:
    case RULE_NOT_TRUE:
        return describe_false(rule, standing);
    case RULE_NOT_LONG:
    case RULE_IN_COOLDOWN:
        return describe_times(rule, standing, now_us);
    case RULE_NOT_CLEARED:
        return g_strdup("it has fired; the condition still holds");
    case RULE_COUNTED_OUT:
        return g_strdup_printf("it has fired %u times in %s", rule->count, window);
    case RULE_DISK_FULL:
        return g_strdup_printf("its dumps of the last %s have reached its disk quota", window);
    case RULE_MACHINE_SHORT:
        return g_strdup_printf("less than %s of the machine's memory is available", spare);
    case RULE_USER_COUNTED_OUT:
        return g_strdup_printf("it has fired %u times in %s for processes of the user %s", rule->user_count, window,
                               user);
    case RULE_USER_AT_WORK:
        return g_strdup_printf("%d rules act on processes of the user %s already", ENGINE_WORKS_OF_USER, user);
    case RULE_AT_WORK:
        return g_strdup("its actions of the last time are not done");
    case RULE_WARMING_UP:
        return g_strdup("the process has just begun");
    case RULE_FIRED:
        return g_strdup("it has just fired");
    default:
        return g_strdup("no sample yet");
    }
}
