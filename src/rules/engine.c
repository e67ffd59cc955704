/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/engine.h"

#include "confine/keyed-hash.h"
#include "rules/condition.h"
#include "rules/standing.h"
#include "rules/tally.h"
#include "rules/window.h"

#include <string.h>

enum {
    NO_ACCOUNT = -1, /* (uid_t)-1, which no process has */
};

typedef struct {
    guint64 number; /* a later one is greater */
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
    GPtrArray *order;   /* of Series, borrowed, by their numbers */
    guint64 begun;      /* number of series so far */
    guint64 edition;    /* of the rules; from 1 on */
    GHashTable *works;  /* "RULE SERIES" -> the account to which the running actions are charged */
    Tally *tally;
    guint64 judged; /* number of judgements of a rule on a sample */
};

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
    series->number = ++engine->begun;
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
        standing_rearm(&series->standings[i]);
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
    for (guint i = 0; i < engine->rules->len; i++)
        standing_set_back(&series->standings[i], now_us);
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

/* ---- readings ---- */

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
    if (!standing_judge(standing, rule, series->windows, reading))
        return;
    standing->reason = check_user(engine, series, rule, reading->now_us, firings);
    if (standing->reason != RULE_FIRED)
        return;
    const RuleFiring firing = {.rule = rule_ref(rule),
                               .series = g_strdup(series->name),
                               .time_us = reading->now_us,
                               .because = standing_fire(standing, rule, series->windows, reading)};
    g_array_append_val(firings, firing);
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
    engine->edition = 1;
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
    engine->edition++;
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
        standing_rearm(&series->standings[i]);
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
    standing_add_bytes(standing, bytes);
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

static void
show(const Rule *rule, const Series *series, const Standing *standing,
     void (*each)(const RuleStanding *standing, gpointer data), gpointer data)
{
    guint64 bytes;
    g_autofree char *why = standing_describe(standing, rule, series->now_us, series->user);
    const Fired *last = standing_last_fired(standing);
    const RuleStanding row = {.rule = rule,
                              .series = series->name,
                              .state = standing->state,
                              .reason = standing->reason,
                              .why = why,
                              .fired = standing_count_fired(standing, rule, series->now_us, &bytes),
                              .last_us = last != NULL ? last->time_us : 0};
    each(&row, data);
}

/* The index of the first series whose number is not below NUMBER. */
static guint
find_number(const Engine *engine, guint64 number)
{
    guint low = 0, high = engine->order->len;
    while (low < high) {
        const guint middle = low + (high - low) / 2;
        if (((const Series *)engine->order->pdata[middle])->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

EngineProgress
engine_each_portion(const Engine *engine, const guint32 *owner, EngineCursor *cursor, guint most,
                    void (*each)(const RuleStanding *standing, gpointer data), gpointer data)
{
    if (cursor->edition == 0)
        cursor->edition = engine->edition;
    if (cursor->edition != engine->edition)
        return ENGINE_REPLACED;
    guint s = find_number(engine, cursor->series);
    for (; cursor->rule < engine->rules->len; cursor->rule++, s = 0)
        for (; s < engine->order->len; s++) {
            const Series *series = engine->order->pdata[s];
            const Standing *standing = &series->standings[cursor->rule];
            cursor->series = series->number;
            if (most-- == 0)
                return ENGINE_MORE;
            if (standing->chosen && (owner == NULL || series->owner == *owner))
                show(engine->rules->pdata[cursor->rule], series, standing, each, data);
        }
    return ENGINE_COMPLETE;
}

void
engine_each(const Engine *engine, const guint32 *owner, void (*each)(const RuleStanding *standing, gpointer data),
            gpointer data)
{
    EngineCursor cursor = {0};
    while (engine_each_portion(engine, owner, &cursor, G_MAXUINT, each, data) == ENGINE_MORE)
        ;
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
        const RuleCount count = {.rule = g_strdup(((const Rule *)engine->rules->pdata[r])->name)};
        g_array_append_val(counts, count);
    }
    /* In the order in which the standings are in memory. */
    for (guint s = 0; s < engine->order->len; s++) {
        const Standing *standings = ((const Series *)engine->order->pdata[s])->standings;
        for (guint r = 0; r < engine->rules->len; r++)
            g_array_index(counts, RuleCount, r).series[standings[r].state] += standings[r].chosen;
    }
    return counts;
}
