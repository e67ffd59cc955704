/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/check.h"

#include "confine/keyed-hash.h"
#include "history/dumps.h"

#include <string.h>

enum {
    KEPT_LIVES = 10000,
    KEPT_DUMPS = 64,    /* per life */
    MISSING_HALVES = 5, /* half intervals without a sample are a gap */
};

/* One series that is replayed. */
typedef struct {
    Engine *engine;
    const HistoryTarget *target;
    guint gap; /* index of the target's next gap */
    guint64 life;
    RuleReading reading;
    GArray *firings;
    RulesCheck **checks; /* one for each rule */
    RuleReason *before;  /* the previous reason of each rule */
    guint n;
} Replay;

/* What is the same for all series. */
typedef struct {
    History *history;
    const GPtrArray *rules;
    HistoryRange range;
    GHashTable *kept; /* read_kept() */
} Input;

void
rules_check_free(RulesCheck *check)
{
    rule_unref(check->rule);
    g_array_unref(check->firings);
    g_free(check->series);
    g_free(check->why);
    g_free(check);
}

static RulesCheck *
check_new(Rule *rule, const char *series)
{
    RulesCheck *check = g_new0(RulesCheck, 1);
    check->rule = rule_ref(rule);
    check->series = g_strdup(series);
    check->firings = rule_firings_new();
    return check;
}

/* ---- the replay ---- */

static gboolean
is_limit(RuleReason reason)
{
    static const gboolean limits[RULE_REASONS] = {
        [RULE_IN_COOLDOWN] = TRUE, [RULE_COUNTED_OUT] = TRUE, [RULE_DISK_FULL] = TRUE};
    return limits[reason];
}

/* Begins another life if SAMPLE is not from the process of the previous one. */
static void
follow_lives(Replay *replay, const StatsSample *sample)
{
    const GArray *gaps = replay->target->gaps;
    gboolean another = replay->life == 0;
    for (; replay->gap < gaps->len && g_array_index(gaps, HistoryGap, replay->gap).to_us <= sample->time_us;
         replay->gap++)
        another = another || g_array_index(gaps, HistoryGap, replay->gap).restart;
    if (!another)
        return;
    replay->life++;
    replay->reading.life = replay->life;
    replay->reading.began_us = sample->time_us;
}

/* Moves the firings of a sample to the checks of their rules. */
static void
take_firings(Replay *replay)
{
    for (guint i = 0; i < replay->firings->len; i++) {
        RuleFiring *firing = &g_array_index(replay->firings, RuleFiring, i);
        guint r = 0;
        while (replay->checks[r]->rule != firing->rule)
            r++;
        g_array_append_val(replay->checks[r]->firings, *firing);
        *firing = (RuleFiring){0};
    }
    g_array_set_size(replay->firings, 0);
}

static gboolean
replay_sample(StatsSample *sample, gpointer data, GError **error)
{
    Replay *replay = data;
    follow_lives(replay, sample);
    replay->reading.sample = sample;
    replay->reading.now_us = sample->time_us;
    engine_judge(replay->engine, &replay->reading, replay->firings);
    take_firings(replay);
    for (guint r = 0; r < replay->n; r++) {
        RuleReason reason = engine_reason(replay->engine, r, replay->target->name);
        replay->checks[r]->samples++;
        if (reason != replay->before[r] && is_limit(reason))
            replay->checks[r]->held_back[reason]++;
        replay->before[r] = reason;
    }
    return TRUE;
}

/* ---- input from the history ---- */

static StatsIterator *
open_samples(History *history, const GPtrArray *rules, const char *series, HistoryRange range, GError **error)
{
    g_autoptr(GArray) metrics = g_array_new(FALSE, FALSE, sizeof(StatsMetric));
    HistoryParts parts = HISTORY_TOTALS;
    for (guint i = 0; i < rules->len; i++) {
        const GArray *conditions = ((const Rule *)rules->pdata[i])->conditions;
        for (guint c = 0; c < conditions->len; c++)
            parts |= quantity_needs(&g_array_index(conditions, RuleCondition, c).quantity, metrics);
    }
    StatsIterator *iterator = history_iterator_new(history, series, range, parts, error);
    if (iterator != NULL)
        history_iterator_only(iterator, (const StatsMetric *)(gpointer)metrics->data, metrics->len);
    return iterator;
}

static gint64
gap_of(const HistoryTarget *target)
{
    gint64 every_us = (gint64)target->every_us;
    if (every_us == 0 && target->samples > 1)
        every_us = (target->last_us - target->first_us) / (gint64)(target->samples - 1);
    return every_us * MISSING_HALVES / 2;
}

/* The dumps that are kept of a series. */
typedef struct {
    guint64 bytes, count;
} KeptDumps;

static void
add_dumps(History *history, const HistoryKept *kept, KeptDumps *sum)
{
    g_autoptr(GArray) dumps = history_dumps(history, kept->incarnation, KEPT_DUMPS, NULL);
    for (guint i = 0; dumps != NULL && i < dumps->len; i++, sum->count++)
        sum->bytes += g_array_index(dumps, RouteDump, i).bytes;
}

/* Name of a series -> KeptDumps. Read once for all series, of which users may have made any number. */
static GHashTable *
read_kept(History *history)
{
    GHashTable *sums = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, g_free);
    g_autoptr(GArray) lives = history_kept_lives(history, KEPT_LIVES, NULL);
    for (guint i = 0; lives != NULL && i < lives->len; i++) {
        const HistoryKept *kept = &g_array_index(lives, HistoryKept, i);
        KeptDumps *sum = g_hash_table_lookup(sums, kept->target);
        if (sum == NULL) {
            sum = g_new0(KeptDumps, 1);
            g_hash_table_insert(sums, g_strdup(kept->target), sum);
        }
        add_dumps(history, kept, sum);
    }
    return sums;
}

/* The mean size of the dumps kept for SERIES; 0: there are none. */
static guint64
mean_dump(GHashTable *kept, const char *series)
{
    const KeptDumps *sum = g_hash_table_lookup(kept, series);
    return sum != NULL && sum->count > 0 ? sum->bytes / sum->count : 0;
}

/* ---- the result ---- */

static void
compute_cost(RulesCheck *check, guint64 dump_bytes)
{
    const GArray *actions = check->rule->actions;
    RulesCost *cost = &check->cost;
    cost->dump_bytes = dump_bytes;
    for (guint i = 0; i < actions->len; i++) {
        const RuleAction *action = &g_array_index(actions, RuleAction, i);
        guint64 times = check->firings->len;
        cost->times[action->kind] += times;
        if (action->kind == RULE_RECORD)
            cost->recorded_ms += times * (guint64)action->amount;
        if (action->kind == RULE_RECORD || action->kind == RULE_DUMP)
            cost->dumps += times;
    }
}

static void
take_standing(const RuleStanding *standing, gpointer data)
{
    const Replay *replay = data;
    if (strcmp(standing->series, replay->target->name) != 0)
        return;
    for (guint r = 0; r < replay->n; r++)
        if (replay->checks[r]->rule == standing->rule) {
            replay->checks[r]->state = standing->state;
            replay->checks[r]->why = g_strdup(standing->why);
        }
}

static gboolean
replay_series(const Input *input, Replay *replay, GError **error)
{
    StatsIterator *iterator = open_samples(input->history, input->rules, replay->target->name, input->range, error);
    gboolean read = iterator != NULL && iterator->each(iterator, replay_sample, replay, error);
    if (iterator != NULL)
        iterator->free(iterator);
    return read;
}

/* Replays the rules on TARGET, and appends a check to CHECKS for each rule that selects it. */
static gboolean
check_series(const Input *input, const HistoryTarget *target, GPtrArray *checks, GError **error)
{
    const GPtrArray *rules = input->rules;
    g_autoptr(Engine) engine = engine_new();
    g_autoptr(GArray) firings = rule_firings_new();
    g_autofree RulesCheck **own = g_new(RulesCheck *, MAX(rules->len, 1));
    g_autofree RuleReason *before = g_new0(RuleReason, MAX(rules->len, 1));
    g_autofree char *process = g_strndup(target->name, strcspn(target->name, "/"));
    const RuleSubject subject = {.facts = {[RULE_FILTER_SERIES] = target->name, [RULE_FILTER_PROCESS] = process}};
    Replay replay = {
        .engine = engine, .target = target, .firings = firings, .checks = own, .before = before, .n = rules->len};
    replay.reading = (RuleReading){.series = target->name, .subject = &subject, .gap_us = gap_of(target), .spare = 1};
    engine_set_rules(engine, rules);
    for (guint i = 0; i < rules->len; i++)
        own[i] = check_new(rules->pdata[i], target->name);
    gboolean read = replay_series(input, &replay, error);
    engine_each(engine, NULL, take_standing, &replay);
    for (guint i = 0; i < rules->len; i++) {
        compute_cost(own[i], mean_dump(input->kept, target->name));
        if (own[i]->why != NULL)
            g_ptr_array_add(checks, own[i]);
        else
            rules_check_free(own[i]);
    }
    return read;
}

static gint
compare(gconstpointer a, gconstpointer b)
{
    const RulesCheck *x = *(RulesCheck *const *)a, *y = *(RulesCheck *const *)b;
    gint by_rule = strcmp(x->rule->name, y->rule->name);
    return by_rule != 0 ? by_rule : strcmp(x->series, y->series);
}

GPtrArray *
rules_check(History *history, const GPtrArray *rules, const RulesCheckQuery *query, GError **error)
{
    for (const char *const *name = query->series; *name != NULL; name++)
        if (!history_check_target(history, *name, error))
            return NULL;
    g_autoptr(GPtrArray) targets = history_targets(history, error);
    if (targets == NULL)
        return NULL;
    g_autoptr(GPtrArray) checks = g_ptr_array_new_with_free_func((GDestroyNotify)rules_check_free);
    g_autoptr(GHashTable) kept = read_kept(history);
    const Input input = {history, rules, query->range, kept};
    for (guint i = 0; i < targets->len; i++) {
        const HistoryTarget *target = targets->pdata[i];
        if (*query->series != NULL && !g_strv_contains(query->series, target->name))
            continue;
        if (!check_series(&input, target, checks, error))
            return NULL;
    }
    g_ptr_array_sort(checks, compare);
    return g_steal_pointer(&checks);
}
