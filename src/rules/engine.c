/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/engine.h"

#include "confine/keyed-hash.h"
#include "rules/condition.h"
#include "rules/tally.h"
#include "rules/window.h"
#include "text/duration.h"

#include <math.h>
#include <string.h>

enum {
    NO_ACCOUNT = -1, /* (uid_t)-1, which no process has */
};

typedef struct {
    gint64 time_us;
    guint64 bytes; /* stored by its actions */
} Fired;

/* One rule on one series. */
typedef struct {
    gboolean chosen; /* the rule's filters match the process */
    RuleState state;
    RuleReason reason;
    guint condition;    /* the one that the reason is about */
    gboolean has_value; /* of that condition */
    gdouble value;
    guint32 on;          /* bit i: condition i holds */
    gint64 since_us;     /* since when the conditions hold */
    gdouble fired_value; /* value of the first condition at the last firing */
    gboolean at_work;
    GArray *fired; /* of Fired, in the rule's window; NULL: none */
} Standing;

typedef struct {
    char *name;
    char *user;      /* user of its process; NULL: unknown */
    guint32 owner;   /* RuleReading.owner */
    guint32 account; /* RuleReading.account */
    gboolean begun;  /* the following members are valid */
    gboolean chosen; /* Standing.chosen is up to date */
    guint64 life;
    gint64 began_us, now_us; /* of the last reading */
    GHashTable *windows;     /* Quantity.text -> Window */
    Standing *standings;     /* one for each rule */
} Series;

struct Engine {
    GPtrArray *rules;   /* of Rule */
    GHashTable *series; /* name -> Series */
    GPtrArray *order;   /* of Series, borrowed */
    GHashTable *works;  /* "RULE SERIES" -> the account to which the running actions are charged */
    Tally *tally;
    guint64 judged; /* number of judgements of a rule on a sample */
};

G_STATIC_ASSERT(CONDITIONS_MAX <= 32);

/* ---- series ---- */

static void
clear_standings(Standing *standings, guint n)
{
    for (guint i = 0; i < n; i++)
        g_clear_pointer(&standings[i].fired, g_array_unref);
    g_free(standings);
}

static void
free_series(const Engine *engine, Series *series)
{
    clear_standings(series->standings, engine->rules->len);
    g_hash_table_unref(series->windows);
    g_free(series->name);
    g_free(series->user);
    g_free(series);
}

/* Creates the windows for the current rules; existing ones are kept. */
static void
make_windows(const Engine *engine, Series *series)
{
    g_autoptr(GHashTable) before = g_steal_pointer(&series->windows);
    series->windows = g_hash_table_new_full(keyed_hash_string, g_str_equal, NULL, (GDestroyNotify)window_free);
    for (guint i = 0; i < engine->rules->len; i++) {
        const Rule *rule = engine->rules->pdata[i];
        for (guint c = 0; c < rule->conditions->len; c++) {
            const Quantity *quantity = &g_array_index(rule->conditions, RuleCondition, c).quantity;
            gpointer window = NULL;
            if (quantity->form == QUANTITY_VALUE || g_hash_table_contains(series->windows, quantity->text))
                continue;
            if (before != NULL && g_hash_table_steal_extended(before, quantity->text, NULL, &window))
                window_set_quantity(window, quantity);
            else
                window = window_new(quantity);
            g_hash_table_insert(series->windows, quantity->text, window);
        }
    }
}

static Series *
find_series(Engine *engine, const char *name)
{
    Series *series = g_hash_table_lookup(engine->series, name);
    if (series != NULL)
        return series;
    series = g_new0(Series, 1);
    series->name = g_strdup(name);
    series->standings = g_new0(Standing, MAX(engine->rules->len, 1));
    for (guint i = 0; i < engine->rules->len; i++)
        series->standings[i].reason = RULE_NOT_JUDGED;
    make_windows(engine, series);
    g_hash_table_insert(engine->series, series->name, series);
    g_ptr_array_add(engine->order, series);
    return series;
}

static void
rearm(Standing *standing)
{
    standing->state = RULE_ARMED;
    standing->reason = RULE_NOT_JUDGED;
    standing->on = 0;
}

static void
reset_windows(const Series *series)
{
    GHashTableIter iter;
    gpointer window;
    g_hash_table_iter_init(&iter, series->windows);
    while (g_hash_table_iter_next(&iter, NULL, &window))
        window_reset(window);
}

/* Starts over for another process, to which earlier observations do not apply. */
static void
begin_life(const Engine *engine, Series *series, const RuleReading *reading)
{
    reset_windows(series);
    for (guint i = 0; i < engine->rules->len; i++)
        rearm(&series->standings[i]);
    series->begun = TRUE;
    series->chosen = FALSE;
    series->life = reading->life;
    series->began_us = reading->began_us;
}

static void
choose(const Engine *engine, Series *series, const RuleSubject *subject)
{
    for (guint i = 0; i < engine->rules->len; i++)
        series->standings[i].chosen = rule_matches(engine->rules->pdata[i], subject);
    g_free(series->user);
    series->user = g_strdup(subject->facts[RULE_FILTER_USER]);
    series->chosen = TRUE;
}

/* The clock was set back: times in the future are moved to now. */
static void
set_back(const Engine *engine, Series *series, gint64 now_us)
{
    series->began_us = MIN(series->began_us, now_us);
    for (guint i = 0; i < engine->rules->len; i++) {
        GArray *fired = series->standings[i].fired;
        for (guint n = 0; fired != NULL && n < fired->len; n++)
            g_array_index(fired, Fired, n).time_us = MIN(g_array_index(fired, Fired, n).time_us, now_us);
    }
}

/* Samples are missing, or the clock was set: the time for which a condition holds starts over. */
static void
interrupt(const Engine *engine, Series *series, gint64 now_us)
{
    reset_windows(series);
    for (guint i = 0; i < engine->rules->len; i++)
        series->standings[i].since_us = now_us;
    if (now_us <= series->now_us)
        set_back(engine, series, now_us);
}

/* ---- conditions ---- */

static void
feed_windows(const Series *series, const RuleReading *reading)
{
    GHashTableIter iter;
    gpointer window;
    g_hash_table_iter_init(&iter, series->windows);
    while (g_hash_table_iter_next(&iter, NULL, &window)) {
        gdouble value;
        const Quantity *quantity = window_quantity(window);
        if ((quantity_probe(quantity) == NULL || reading->probed_now) &&
            quantity_read(quantity, reading->sample, reading->probed, &value))
            window_add(window, reading->now_us, value);
    }
}

/* Whether the whole 95 % interval of VALUE is beyond LIMIT. */
static gboolean
is_beyond(RuleSide side, const WindowValue *value, gdouble limit)
{
    return side == RULE_ABOVE ? value->low > limit : side == RULE_BELOW ? value->high < limit : value->value > 0;
}

typedef enum { HOLDS, HOLDS_NOT, UNKNOWN } Truth;

static Truth
judge_condition(const Series *series, const RuleCondition *condition, const RuleReading *reading, gboolean was_on,
                WindowValue *value)
{
    if (condition->quantity.form == QUANTITY_VALUE) {
        if (!quantity_read(&condition->quantity, reading->sample, reading->probed, &value->value))
            return UNKNOWN;
        value->low = value->high = value->value;
    } else if (!window_value(g_hash_table_lookup(series->windows, condition->quantity.text), value)) {
        return UNKNOWN;
    }
    return is_beyond(condition->side, value, was_on ? condition->clear : condition->threshold) ? HOLDS : HOLDS_NOT;
}

/* Whether the conditions hold. If not, the reason is the first condition that fails in the last alternative. */
static gboolean
judge_conditions(const Series *series, const Rule *rule, const RuleReading *reading, Standing *standing)
{
    gboolean all = TRUE, any = FALSE;
    for (guint i = 0; i < rule->conditions->len; i++) {
        const RuleCondition *condition = &g_array_index(rule->conditions, RuleCondition, i);
        gboolean last = i + 1 == rule->conditions->len || condition[1].alternative != condition->alternative;
        WindowValue value = {0};
        Truth truth = judge_condition(series, condition, reading, (standing->on >> i & 1) != 0, &value);
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

/* ---- states ---- */

static const Fired *
last_fired(const Standing *standing)
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

static guint
count_fired(const Rule *rule, const Standing *standing, gint64 now_us, guint64 *bytes)
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
    const Fired *last = last_fired(standing);
    return last != NULL && now_us - last->time_us < rule->cooldown_us;
}

/* The value of the first condition; FALSE: unknown. */
static gboolean
first_value(const Series *series, const Rule *rule, const RuleReading *reading, gdouble *value)
{
    WindowValue found;
    if (judge_condition(series, &g_array_index(rule->conditions, RuleCondition, 0), reading, FALSE, &found) == UNKNOWN)
        return FALSE;
    *value = found.value;
    return TRUE;
}

/* Whether the first condition's quantity has moved by at least rule->again since the rule fired. */
static gboolean
moved_again(const Series *series, const Rule *rule, const RuleReading *reading, const Standing *standing)
{
    gdouble value;
    if (isnan(rule->again) || !first_value(series, rule, reading, &value))
        return FALSE;
    gdouble moved = value - standing->fired_value;
    return (g_array_index(rule->conditions, RuleCondition, 0).side == RULE_BELOW ? -moved : moved) >= rule->again;
}

static guint
works_of_account(const Engine *engine, guint32 account)
{
    guint count = 0;
    GHashTableIter iter;
    gpointer charged;
    g_hash_table_iter_init(&iter, engine->works);
    while (g_hash_table_iter_next(&iter, NULL, &charged))
        count += GPOINTER_TO_UINT(charged) == account;
    return count;
}

/* The per-user limit that prevents RULE from firing for SERIES, or RULE_FIRED. FIRINGS of this moment
 * count, since their actions have not begun. */
static RuleReason
check_user(const Engine *engine, const Series *series, const Rule *rule, gint64 now_us, const GArray *firings)
{
    if (series->user == NULL)
        return RULE_FIRED;
    if (works_of_account(engine, series->account) + firings->len >= ENGINE_WORKS_OF_USER)
        return RULE_USER_AT_WORK;
    return tally_count(engine->tally, rule->name, series->account, now_us, rule->window_us) >= rule->user_count
               ? RULE_USER_COUNTED_OUT
               : RULE_FIRED;
}

/* The limit that prevents the rule from firing now, or RULE_FIRED. */
static RuleReason
check_limits(const Rule *rule, const Standing *standing, const RuleReading *reading)
{
    guint64 bytes;
    guint count = count_fired(rule, standing, reading->now_us, &bytes);
    if (standing->at_work)
        return RULE_AT_WORK;
    if (count >= rule->count)
        return RULE_COUNTED_OUT;
    if (rule->disk > 0 && bytes >= rule->disk)
        return RULE_DISK_FULL;
    return reading->spare < rule->spare ? RULE_MACHINE_SHORT : RULE_FIRED;
}

static char *
describe_values(const Series *series, const Rule *rule, const RuleReading *reading, const Standing *standing)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < rule->conditions->len; i++) {
        const RuleCondition *condition = &g_array_index(rule->conditions, RuleCondition, i);
        WindowValue value;
        if ((standing->on >> i & 1) == 0 || judge_condition(series, condition, reading, TRUE, &value) == UNKNOWN)
            continue;
        g_autofree char *what = rule_describe_condition(condition);
        g_autofree char *now = condition->side != RULE_IS ? amount_format(value.value, condition->quantity.unit) : NULL;
        g_string_append_printf(text, "%s%s%s%s", text->len > 0 ? ", " : "", what, now != NULL ? ": " : "",
                               now != NULL ? now : "");
    }
    return g_string_free(text, FALSE);
}

static void
fire(const Series *series, Rule *rule, const RuleReading *reading, Standing *standing, GArray *firings)
{
    const Fired fired = {.time_us = reading->now_us};
    const RuleFiring firing = {.rule = rule_ref(rule),
                               .series = g_strdup(series->name),
                               .time_us = reading->now_us,
                               .because = describe_values(series, rule, reading, standing)};
    if (standing->fired == NULL)
        standing->fired = g_array_new(FALSE, FALSE, sizeof(Fired));
    g_array_append_val(standing->fired, fired);
    g_array_append_val(firings, firing);
    first_value(series, rule, reading, &standing->fired_value);
    standing->state = RULE_COOLING;
    standing->reason = RULE_FIRED;
}

/* Judges a rule that has fired: arms it when the conditions no longer hold and the cooldown is over, or returns TRUE if
 * it should fire once more before. */
static gboolean
judge_cooling(const Series *series, const Rule *rule, const RuleReading *reading, gboolean holds, Standing *standing)
{
    gboolean cooling = is_in_cooldown(rule, standing, reading->now_us);
    if (holds && moved_again(series, rule, reading, standing))
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

static void
judge_rule(const Engine *engine, const Series *series, guint index, const RuleReading *reading, GArray *firings)
{
    Rule *rule = engine->rules->pdata[index];
    Standing *standing = &series->standings[index];
    if (!standing->chosen) {
        standing->reason = RULE_OTHER_PROCESS;
        return;
    }
    if (reading->now_us - series->began_us < rule->warm_up_us) {
        standing->reason = RULE_WARMING_UP;
        return;
    }
    forget_old(rule, standing, reading->now_us);
    gboolean holds = judge_conditions(series, rule, reading, standing);
    gboolean due = standing->state == RULE_COOLING ? judge_cooling(series, rule, reading, holds, standing)
                                                   : judge_waiting(rule, reading->now_us, holds, standing);
    if (!due)
        return;
    standing->reason = check_limits(rule, standing, reading);
    if (standing->reason == RULE_FIRED)
        standing->reason = check_user(engine, series, rule, reading->now_us, firings);
    if (standing->reason != RULE_FIRED)
        return;
    fire(series, rule, reading, standing, firings);
    if (series->user != NULL)
        tally_add(engine->tally, rule->name, series->account, reading->now_us);
}

void
engine_judge(Engine *engine, const RuleReading *reading, GArray *firings)
{
    Series *series = find_series(engine, reading->series);
    if (!series->begun || series->life != reading->life)
        begin_life(engine, series, reading);
    else if (reading->now_us <= series->now_us || reading->now_us - series->now_us > reading->gap_us)
        interrupt(engine, series, reading->now_us);
    if (!series->chosen)
        choose(engine, series, reading->subject);
    series->now_us = reading->now_us;
    series->owner = reading->owner;
    series->account = reading->account;
    feed_windows(series, reading);
    for (guint i = 0; i < engine->rules->len; i++) {
        judge_rule(engine, series, i, reading, firings);
        engine->judged += series->standings[i].chosen;
    }
}

/* ---- the rules ---- */

static void
clear_firing(gpointer data)
{
    RuleFiring *firing = data;
    rule_unref(firing->rule);
    g_free(firing->series);
    g_free(firing->because);
}

GArray *
rule_firings_new(void)
{
    GArray *firings = g_array_new(FALSE, FALSE, sizeof(RuleFiring));
    g_array_set_clear_func(firings, clear_firing);
    return firings;
}

Engine *
engine_new(void)
{
    Engine *engine = g_new0(Engine, 1);
    engine->rules = g_ptr_array_new_with_free_func((GDestroyNotify)rule_unref);
    engine->series = g_hash_table_new(keyed_hash_string, g_str_equal);
    engine->order = g_ptr_array_new();
    engine->works = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    engine->tally = tally_new();
    return engine;
}

void
engine_free(Engine *engine)
{
    if (engine == NULL)
        return;
    for (guint i = 0; i < engine->order->len; i++)
        free_series(engine, engine->order->pdata[i]);
    g_ptr_array_unref(engine->order);
    g_hash_table_unref(engine->series);
    g_hash_table_unref(engine->works);
    tally_free(engine->tally);
    g_ptr_array_unref(engine->rules);
    g_free(engine);
}

static guint
index_of(const GPtrArray *rules, const char *name)
{
    guint i = 0;
    while (i < rules->len && strcmp(((const Rule *)rules->pdata[i])->name, name) != 0)
        i++;
    return i;
}

/* The standing of a rule that replaces another with the standing OLD, whose firings it takes. SAME: they have the same
 * text. */
static Standing
inherit(Standing *old, gboolean same)
{
    Standing next = {.reason = RULE_NOT_JUDGED, .at_work = old->at_work};
    if (same)
        next = *old;
    next.fired = g_steal_pointer(&old->fired);
    return next;
}

/* before[i] is the index of rule i in the old rules, or their number if it is new. */
static void
replace_standings(const Engine *engine, Series *series, const GPtrArray *old, const guint *before)
{
    Standing *standings = g_new0(Standing, MAX(engine->rules->len, 1));
    for (guint i = 0; i < engine->rules->len; i++) {
        const Rule *rule = engine->rules->pdata[i];
        const Rule *was = before[i] < old->len ? old->pdata[before[i]] : NULL;
        standings[i].reason = RULE_NOT_JUDGED;
        if (was != NULL)
            standings[i] = inherit(&series->standings[before[i]], strcmp(was->text, rule->text) == 0);
    }
    clear_standings(series->standings, old->len);
    series->standings = standings;
    make_windows(engine, series);
    series->chosen = FALSE;
}

void
engine_set_rules(Engine *engine, const GPtrArray *rules)
{
    GPtrArray *old = engine->rules;
    g_autofree guint *before = g_new(guint, MAX(rules->len, 1));
    engine->rules = g_ptr_array_new_with_free_func((GDestroyNotify)rule_unref);
    for (guint i = 0; i < rules->len; i++) {
        g_ptr_array_add(engine->rules, rule_ref(rules->pdata[i]));
        before[i] = index_of(old, ((const Rule *)rules->pdata[i])->name);
    }
    for (guint i = 0; i < engine->order->len; i++)
        replace_standings(engine, engine->order->pdata[i], old, before);
    tally_keep(engine->tally, rules);
    g_ptr_array_unref(old);
}

/* ---- ended series, actions and standings ---- */

static void
drop_series(Engine *engine, Series *series)
{
    g_hash_table_remove(engine->series, series->name);
    g_ptr_array_remove(engine->order, series);
    free_series(engine, series);
}

static gboolean
is_at_work(const Engine *engine, const Series *series)
{
    for (guint i = 0; i < engine->rules->len; i++)
        if (series->standings[i].at_work)
            return TRUE;
    return FALSE;
}

/* To whom SERIES is charged, as a key of a table; NO_ACCOUNT: unknown. */
static gpointer
charged_of(const Series *series)
{
    return GUINT_TO_POINTER(series->user != NULL ? series->account : (guint32)NO_ACCOUNT);
}

/* A new table of account -> number of ended series. */
static GHashTable *
count_ended(const Engine *engine, guint *all)
{
    GHashTable *counts = g_hash_table_new(NULL, NULL);
    *all = 0;
    for (guint i = 0; i < engine->order->len; i++) {
        const Series *series = engine->order->pdata[i];
        if (series->begun)
            continue;
        gpointer charged = charged_of(series);
        g_hash_table_insert(counts, charged,
                            GUINT_TO_POINTER(GPOINTER_TO_UINT(g_hash_table_lookup(counts, charged)) + 1));
        ++*all;
    }
    return counts;
}

/* Limits the number of ended series that are kept for their firings, since processes may have any number of names: the
 * user with most loses the oldest. */
static void
forget_oldest(Engine *engine)
{
    guint ended, most = 0;
    Series *oldest = NULL;
    g_autoptr(GHashTable) counts = count_ended(engine, &ended);
    for (guint i = 0; ended > ENGINE_ENDED_MAX && i < engine->order->len; i++) {
        Series *series = engine->order->pdata[i];
        if (series->begun || is_at_work(engine, series))
            continue;
        const guint n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, charged_of(series)));
        if (n > most || (n == most && series->now_us < oldest->now_us)) {
            most = n;
            oldest = series;
        }
    }
    if (oldest != NULL)
        drop_series(engine, oldest);
}

void
engine_forget(Engine *engine, const char *name)
{
    Series *series = g_hash_table_lookup(engine->series, name);
    gboolean fired = FALSE;
    if (series == NULL)
        return;
    reset_windows(series);
    series->begun = FALSE;
    for (guint i = 0; i < engine->rules->len; i++) {
        rearm(&series->standings[i]);
        series->standings[i].chosen = FALSE;
        fired = fired || series->standings[i].fired != NULL || series->standings[i].at_work;
    }
    if (fired)
        forget_oldest(engine);
    else
        drop_series(engine, series);
}

RuleReason
engine_reason(const Engine *engine, guint rule, const char *name)
{
    const Series *series = g_hash_table_lookup(engine->series, name);
    return series != NULL ? series->standings[rule].reason : RULE_NOT_JUDGED;
}

static Standing *
find_standing(const Engine *engine, const char *name, const char *series_name)
{
    const Series *series = g_hash_table_lookup(engine->series, series_name);
    guint i = index_of(engine->rules, name);
    return series != NULL && i < engine->rules->len ? &series->standings[i] : NULL;
}

void
engine_begin_work(Engine *engine, const char *name, const char *series)
{
    Standing *standing = find_standing(engine, name, series);
    const Series *worked = g_hash_table_lookup(engine->series, series);
    if (worked != NULL && worked->user != NULL)
        g_hash_table_insert(engine->works, g_strdup_printf("%s %s", name, series), GUINT_TO_POINTER(worked->account));
    if (standing != NULL)
        standing->at_work = TRUE;
}

void
engine_end_work(Engine *engine, const char *name, const char *series, guint64 bytes)
{
    Standing *standing = find_standing(engine, name, series);
    g_autofree char *work = g_strdup_printf("%s %s", name, series);
    g_hash_table_remove(engine->works, work);
    if (standing == NULL)
        return;
    standing->at_work = FALSE;
    if (standing->fired != NULL && standing->fired->len > 0)
        g_array_index(standing->fired, Fired, standing->fired->len - 1).bytes += bytes;
}

void
engine_each_probe(const Engine *engine, const char *name,
                  void (*each)(Rule *rule, const Quantity *quantity, gpointer data), gpointer data)
{
    const Series *series = g_hash_table_lookup(engine->series, name);
    for (guint i = 0; series != NULL && i < engine->rules->len; i++) {
        Rule *rule = engine->rules->pdata[i];
        for (guint c = 0; series->standings[i].chosen && c < rule->conditions->len; c++) {
            const Quantity *quantity = &g_array_index(rule->conditions, RuleCondition, c).quantity;
            if (quantity_probe(quantity) != NULL)
                each(rule, quantity, data);
        }
    }
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
    const Fired *last = last_fired(standing);
    gint64 since_us = last != NULL ? now_us - last->time_us : 0;
    g_autofree char *held = format_us(now_us - standing->since_us);
    g_autofree char *needed = format_us(rule->for_us);
    g_autofree char *left = format_us(rule->cooldown_us - since_us);
    if (standing->reason == RULE_NOT_LONG)
        return g_strdup_printf("the condition holds for %s of %s", held, needed);
    return g_strdup_printf("it fired before; the cooldown ends in %s", left);
}

static char *
describe_why(const Rule *rule, const Standing *standing, const Series *series)
{
    g_autofree char *window = format_us(rule->window_us);
    g_autofree char *spare = amount_format(rule->spare, (AmountUnit){.kind = AMOUNT_SHARE});
    switch (standing->reason) {
    case RULE_NO_VALUE:
    case RULE_NOT_TRUE:
        return describe_false(rule, standing);
    case RULE_NOT_LONG:
    case RULE_IN_COOLDOWN:
        return describe_times(rule, standing, series->now_us);
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
                               series->user);
    case RULE_USER_AT_WORK:
        return g_strdup_printf("%d rules act on processes of the user %s already", ENGINE_WORKS_OF_USER, series->user);
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

void
engine_each(const Engine *engine, const guint32 *owner, void (*each)(const RuleStanding *standing, gpointer data),
            gpointer data)
{
    for (guint r = 0; r < engine->rules->len; r++)
        for (guint s = 0; s < engine->order->len; s++) {
            const Rule *rule = engine->rules->pdata[r];
            const Series *series = engine->order->pdata[s];
            const Standing *standing = &series->standings[r];
            guint64 bytes;
            if (!standing->chosen || (owner != NULL && series->owner != *owner))
                continue;
            g_autofree char *why = describe_why(rule, standing, series);
            const Fired *last = last_fired(standing);
            const RuleStanding row = {.rule = rule,
                                      .series = series->name,
                                      .state = standing->state,
                                      .reason = standing->reason,
                                      .why = why,
                                      .fired = count_fired(rule, standing, series->now_us, &bytes),
                                      .last_us = last != NULL ? last->time_us : 0};
            each(&row, data);
        }
}

guint64
engine_judged(const Engine *engine)
{
    return engine->judged;
}

GArray *
engine_count(const Engine *engine)
{
    GArray *counts = rule_counts_new();
    for (guint r = 0; r < engine->rules->len; r++) {
        RuleCount count = {.rule = g_strdup(((const Rule *)engine->rules->pdata[r])->name)};
        for (guint s = 0; s < engine->order->len; s++) {
            const Standing *standing = &((const Series *)engine->order->pdata[s])->standings[r];
            count.series[standing->state] += standing->chosen;
        }
        g_array_append_val(counts, count);
    }
    return counts;
}
