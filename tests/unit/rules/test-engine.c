/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/engine.h"
#include "rules/file.h"

#include <string.h>
#include <time.h>

#define SECOND G_GINT64_CONSTANT(1000000)
#define EVERY  (10 * SECOND)

/* An engine with one series, "app", and a sample every ten seconds. */
typedef struct {
    Engine *engine;
    GArray *firings;
    RuleSubject subject;
    RuleReading reading;
} Bench;

static GPtrArray *
parse(const char *text)
{
    g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
    GPtrArray *rules = rules_new();
    rules_file_parse("test", text, strlen(text), rules, problems);
    for (guint i = 0; i < problems->len; i++)
        g_error("%s", (const char *)problems->pdata[i]);
    return rules;
}

static void
begin(Bench *bench, const char *text)
{
    g_autoptr(GPtrArray) rules = parse(text);
    *bench = (Bench){.engine = engine_new(), .firings = rule_firings_new()};
    bench->subject.facts[RULE_FILTER_PROCESS] = "app";
    bench->reading =
        (RuleReading){.series = "app", .life = 1, .now_us = 1000 * SECOND, .gap_us = 25 * SECOND, .spare = 1};
    bench->reading.began_us = bench->reading.now_us;
    engine_set_rules(bench->engine, rules);
}

static void
end(Bench *bench)
{
    engine_free(bench->engine);
    g_array_unref(bench->firings);
}

static StatsSample *
holding(guint64 bytes)
{
    StatsSample *sample = stats_sample_new(STATS_SOURCE_LIVE);
    stats_values_set(sample->totals, STATS_HELD, bytes);
    return sample;
}

/* Judges a sample, STEP_US after the previous one; returns how many rules fired. */
static guint
step(Bench *bench, gint64 step_us, guint64 held)
{
    g_autoptr(StatsSample) sample = holding(held);
    bench->reading.now_us += step_us;
    bench->reading.sample = sample;
    bench->reading.subject = &bench->subject;
    g_array_set_size(bench->firings, 0);
    engine_judge(bench->engine, &bench->reading, bench->firings);
    return bench->firings->len;
}

static guint
steps(Bench *bench, guint n, guint64 held)
{
    guint fired = 0;
    for (guint i = 0; i < n; i++)
        fired += step(bench, EVERY, held);
    return fired;
}

typedef struct {
    RuleState state;
    RuleReason reason;
    guint fired;
    char why[200];
    const char *only; /* this series; NULL: any */
} Seen;

static void
take(const RuleStanding *standing, gpointer data)
{
    Seen *seen = data;
    if (seen->only != NULL && strcmp(seen->only, standing->series) != 0)
        return;
    seen->state = standing->state;
    seen->reason = standing->reason;
    seen->fired = standing->fired;
    g_strlcpy(seen->why, standing->why, sizeof(seen->why));
}

/* The standing of the last rule on the last series. */
static Seen
look(const Bench *bench)
{
    Seen seen = {.reason = RULE_REASONS};
    engine_each(bench->engine, NULL, take, &seen);
    return seen;
}

static Seen
look_at(const Bench *bench, const char *series)
{
    Seen seen = {.reason = RULE_REASONS, .only = series};
    engine_each(bench->engine, NULL, take, &seen);
    return seen;
}

static void
test_states(void)
{
    Bench bench;
    begin(&bench, "[a]\nwhen = held above 100 clear 80\nfor = 1m\ncooldown = 2m\ndo = log\n");
    g_assert_cmpuint(steps(&bench, 3, 50), ==, 0);
    g_assert_cmpint(look(&bench).state, ==, RULE_ARMED);
    g_assert_cmpstr(look(&bench).why, ==, "held above 100 B: it is 50 B");
    g_assert_cmpuint(steps(&bench, 6, 120), ==, 0); /* for 50 s */
    g_assert_cmpint(look(&bench).state, ==, RULE_HOLDING);
    g_assert_cmpstr(look(&bench).why, ==, "the condition holds for 50 s of 1 min");
    g_assert_cmpuint(steps(&bench, 1, 90), ==, 1); /* below the threshold, but not cleared */
    g_assert_cmpstr(g_array_index(bench.firings, RuleFiring, 0).because, ==, "held above 100 B: 90 B");
    g_assert_cmpint(look(&bench).state, ==, RULE_COOLING);
    g_assert_cmpuint(steps(&bench, 30, 90), ==, 0);
    g_assert_cmpint(look(&bench).reason, ==, RULE_NOT_CLEARED);
    g_assert_cmpuint(steps(&bench, 1, 70), ==, 0);
    g_assert_cmpint(look(&bench).state, ==, RULE_ARMED);
    g_assert_cmpuint(steps(&bench, 7, 101), ==, 1);
    g_assert_cmpuint(look(&bench).fired, ==, 2);
    end(&bench);
}

/* A condition that held for a while and then stopped starts over. */
static void
test_interrupted(void)
{
    Bench bench;
    begin(&bench, "[a]\nwhen = held above 100\nfor = 1m\ndo = log\n");
    g_assert_cmpuint(steps(&bench, 6, 120), ==, 0);
    g_assert_cmpuint(steps(&bench, 1, 99), ==, 0);
    g_assert_cmpuint(steps(&bench, 6, 120), ==, 0);
    g_assert_cmpuint(steps(&bench, 1, 120), ==, 1);
    end(&bench);
}

static void
test_cooldown(void)
{
    Bench bench;
    begin(&bench, "[a]\nwhen = held above 100\ncooldown = 5m\ndo = log\n");
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 1);
    g_assert_cmpuint(step(&bench, EVERY, 50), ==, 0);
    g_assert_cmpint(look(&bench).reason, ==, RULE_IN_COOLDOWN);
    g_assert_cmpuint(steps(&bench, 10, 120), ==, 0);
    g_assert_cmpint(look(&bench).reason, ==, RULE_NOT_CLEARED);
    g_assert_cmpuint(steps(&bench, 20, 50), ==, 0);
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 1);
    /* A restart does not shorten the cooldown. */
    bench.reading.life++;
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 0);
    g_assert_cmpint(look(&bench).reason, ==, RULE_IN_COOLDOWN);
    g_assert_cmpuint(steps(&bench, 40, 120), ==, 1);
    end(&bench);
}

/* TiDB's rule: memory that continues to grow is worth another firing, in spite of the cooldown. */
static void
test_again(void)
{
    Bench bench;
    begin(&bench, "[a]\nwhen = held above 100\ncooldown = 1h\nagain = 50\ncount = 3\ndo = log\n"
                  "[b]\nwhen = held below 1000\ncooldown = 1h\nagain = 400\ndo = log\n");
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 2);
    g_assert_cmpuint(step(&bench, EVERY, 160), ==, 0);
    g_assert_cmpuint(step(&bench, EVERY, 170), ==, 1);
    g_assert_cmpuint(step(&bench, EVERY, 219), ==, 0);
    g_assert_cmpuint(step(&bench, EVERY, 220), ==, 1);
    g_assert_cmpuint(step(&bench, EVERY, 900), ==, 0); /* the limit of the count still applies */
    g_assert_cmpuint(step(&bench, EVERY, 3000), ==, 0);
    end(&bench);
    begin(&bench, "[b]\nwhen = held below 1000\ncooldown = 1h\nagain = 400\ndo = log\n");
    g_assert_cmpuint(step(&bench, EVERY, 900), ==, 1);
    g_assert_cmpuint(step(&bench, EVERY, 501), ==, 0);
    g_assert_cmpuint(step(&bench, EVERY, 500), ==, 1);
    end(&bench);
}

static void
test_count(void)
{
    Bench bench;
    begin(&bench, "[a]\nwhen = held above 100\ncooldown = 0s\ncount = 2\nwindow = 10m\ndo = log\n");
    guint fired = 0;
    for (guint i = 0; i < 30; i++)
        fired += step(&bench, EVERY, i % 2 != 0 ? 120 : 50);
    g_assert_cmpuint(fired, ==, 2);
    g_assert_cmpint(look(&bench).reason, ==, RULE_COUNTED_OUT);
    g_assert_cmpint(look(&bench).state, ==, RULE_HOLDING);
    /* A condition that holds all the time fires as soon as the window allows it. */
    fired = 0;
    for (guint i = 0; i < 40; i++)
        fired += step(&bench, EVERY, 120);
    g_assert_cmpuint(fired, ==, 1);
    end(&bench);
}

static void
test_machine_and_work(void)
{
    Bench bench;
    begin(&bench, "[a]\nwhen = held above 100\nspare = 10%\ncooldown = 0s\ndisk = 1000\ndo = dump\n");
    bench.reading.spare = 0.05;
    g_assert_cmpuint(steps(&bench, 3, 120), ==, 0);
    g_assert_cmpint(look(&bench).reason, ==, RULE_MACHINE_SHORT);
    bench.reading.spare = 0.2;
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 1);
    engine_begin_work(bench.engine, "a", "app");
    step(&bench, EVERY, 50);
    g_assert_cmpuint(steps(&bench, 2, 120), ==, 0);
    g_assert_cmpint(look(&bench).reason, ==, RULE_AT_WORK);
    engine_end_work(bench.engine, "a", "app", 999);
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 1);
    engine_end_work(bench.engine, "a", "app", 1);
    step(&bench, EVERY, 50);
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 0);
    g_assert_cmpint(look(&bench).reason, ==, RULE_DISK_FULL);
    /* Rules and series that no longer exist. */
    engine_begin_work(bench.engine, "x", "app");
    engine_end_work(bench.engine, "a", "other", 5);
    end(&bench);
}

static void
test_warm_up_and_lives(void)
{
    Bench bench;
    begin(&bench, "[a]\nwhen = held above 100\nwarm-up = 1m\nfor = 20s\ndo = log\n");
    g_assert_cmpuint(steps(&bench, 5, 120), ==, 0);
    g_assert_cmpint(look(&bench).reason, ==, RULE_WARMING_UP);
    g_assert_cmpuint(steps(&bench, 2, 120), ==, 0);
    g_assert_cmpint(look(&bench).reason, ==, RULE_NOT_LONG);
    bench.reading.life++;
    bench.reading.began_us = bench.reading.now_us;
    g_assert_cmpuint(steps(&bench, 7, 120), ==, 0);
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 1);
    end(&bench);
}

static void
test_filter(void)
{
    Bench bench;
    begin(&bench, "[a]\nprocess = redis*\nwhen = held above 100\ndo = log\n");
    g_assert_cmpuint(steps(&bench, 3, 120), ==, 0);
    g_assert_cmpint(look(&bench).reason, ==, RULE_REASONS); /* not listed */
    bench.subject.facts[RULE_FILTER_PROCESS] = "redis-server";
    bench.reading.life++;
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 1);
    end(&bench);
}

/* The condition does not hold while samples are missing, nor during a step of the clock. */
static void
test_gaps_and_clock(void)
{
    Bench bench;
    begin(&bench, "[a]\nwhen = held above 100\nfor = 1m\ncooldown = 10m\ndo = log\n");
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 0);
    g_assert_cmpuint(step(&bench, 3600 * SECOND, 120), ==, 0);
    g_assert_cmpuint(steps(&bench, 5, 120), ==, 0);
    g_assert_cmpuint(steps(&bench, 1, 120), ==, 1);
    step(&bench, EVERY, 50);
    /* The clock is set back by a day: the cooldown lasts ten minutes from now on, not a day and ten minutes. */
    g_assert_cmpuint(step(&bench, -86400 * SECOND, 120), ==, 0);
    g_assert_cmpuint(steps(&bench, 50, 50), ==, 0);
    g_assert_cmpuint(steps(&bench, 10, 50), ==, 0);
    g_assert_cmpuint(steps(&bench, 7, 120), ==, 1);
    end(&bench);
}

static void
test_logic(void)
{
    Bench bench;
    begin(&bench, "[a]\nwhen = held above 100 and held below 200 or held above 900\ncooldown = 0s\ndo = log\n");
    g_assert_cmpuint(step(&bench, EVERY, 50), ==, 0);
    g_assert_cmpuint(step(&bench, EVERY, 150), ==, 1);
    g_assert_cmpuint(step(&bench, EVERY, 250), ==, 0);
    g_assert_cmpuint(step(&bench, EVERY, 950), ==, 1);
    g_assert_cmpstr(g_array_index(bench.firings, RuleFiring, 0).because, ==,
                    "held above 100 B: 950 B, held above 900 B: 950 B");
    end(&bench);
}

static void
test_slope(void)
{
    Bench bench;
    begin(&bench, "[a]\nwhen = slope(held, 5m) above 1KiB/s\ndo = log\n");
    for (guint i = 0; i < 100; i++)
        g_assert_cmpuint(step(&bench, EVERY, 1000000 + i * 5 * 1024), ==, 0); /* half of that rate */
    guint fired = 0;
    for (guint i = 0; i < 40; i++)
        fired += step(&bench, EVERY, 2000000 + i * 20 * 1024);
    g_assert_cmpuint(fired, ==, 1);
    end(&bench);
    begin(&bench, "[a]\nwhen = slope(held, 5m) above 1KiB/s\ndo = log\n");
    step(&bench, EVERY, 1);
    g_assert_cmpint(look(&bench).reason, ==, RULE_NO_VALUE);
    end(&bench);
}

/* An unchanged rule continues, a changed one starts over and keeps its count; windows stay filled. */
static void
test_reload(void)
{
    static const char one[] = "[a]\nwhen = held above 100\nfor = 1m\ncount = 1\ncooldown = 0s\ndo = log\n";
    static const char slope[] = "[s]\nwhen = slope(held, 5m) above 1B/s\ncount = 1\ndo = log\n";
    Bench bench;
    begin(&bench, one);
    steps(&bench, 4, 120);
    g_autofree char *both = g_strconcat("[new]\nwhen = held above 1\ndo = log\n", one, slope, NULL);
    g_autoptr(GPtrArray) rules = parse(both);
    engine_set_rules(bench.engine, rules);
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 1); /* new */
    g_assert_cmpuint(steps(&bench, 2, 120), ==, 1);    /* rule a, after its minute */
    for (guint i = 0; i < 31; i++)
        step(&bench, EVERY, 5000);
    g_autofree char *changed =
        g_strconcat("[a]\nwhen = held above 101\ncount = 1\ncooldown = 0s\ndo = log\n", slope, NULL);
    g_autoptr(GPtrArray) next = parse(changed);
    engine_set_rules(bench.engine, next);
    g_assert_cmpuint(step(&bench, EVERY, 10), ==, 0);
    g_assert_cmpint(look(&bench).reason, ==, RULE_NOT_TRUE); /* rule s: its window is filled */
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 0);       /* rule a has fired already */
    g_autoptr(GPtrArray) none = g_ptr_array_new();
    engine_set_rules(bench.engine, none);
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 0);
    end(&bench);
}

static void
test_forget(void)
{
    Bench bench;
    begin(&bench, "[a]\nwhen = held above 100\ncount = 1\ncooldown = 0s\ndo = log\n");
    step(&bench, EVERY, 50);
    engine_forget(bench.engine, "app");
    engine_forget(bench.engine, "never-seen");
    g_assert_cmpint(look(&bench).reason, ==, RULE_REASONS);
    bench.reading.life++;
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 1);
    engine_forget(bench.engine, "app");
    bench.reading.life++;
    g_assert_cmpuint(step(&bench, EVERY, 120), ==, 0); /* a crash loop fires no more than its count */
    end(&bench);
}

/* Of any number of ended series with firings, the last ones and those with running actions are kept. */
static void
test_forget_many(void)
{
    Bench bench;
    begin(&bench, "[a]\nwhen = held above 100\ncount = 1\ncooldown = 0s\ndo = log\n");
    for (guint i = 0; i < ENGINE_ENDED_MAX + 100; i++) {
        g_autofree char *name = g_strdup_printf("app%u", i);
        bench.reading.series = name;
        g_assert_cmpuint(step(&bench, EVERY, 120), ==, 1);
        if (i == 0)
            engine_begin_work(bench.engine, "a", name);
        engine_forget(bench.engine, name);
    }
    static const struct {
        const char *series;
        guint fires;
    } rows[] = {{"app0", 0}, {"app100", 1}, {"app101", 0}, {"app1123", 0}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        bench.reading.series = rows[i].series;
        g_assert_cmpuint(step(&bench, EVERY, 120), ==, rows[i].fires);
    }
    end(&bench);
}

/* A user's processes of very many names neither make his earlier firings forgotten, nor those of others. */
static void
test_forget_many_of_a_user(void)
{
    Bench bench;
    guint fired = 0;
    g_autoptr(GString) text = g_string_new("[a]\nwhen = held above 100\nuser-count = 20\ncooldown = 0s\ndo = log\n");
    for (guint i = 0; i < 4; i++)
        g_string_append_printf(text,
                               "[b%u]\nprocess = app%u\nwhen = held above 100\nuser-count = 1000\ncount = 1\n"
                               "cooldown = 0s\ndo = log\n",
                               i, i);
    begin(&bench, text->str);
    bench.subject.facts[RULE_FILTER_PROCESS] = "app0";
    bench.subject.facts[RULE_FILTER_USER] = "app";
    bench.reading.account = 1000;
    g_assert_cmpuint(step(&bench, SECOND, 120), ==, 2);
    engine_forget(bench.engine, "app");
    bench.reading.account = 1001;
    for (guint i = 0; i < ENGINE_ENDED_MAX * 3; i++) {
        g_autofree char *name = g_strdup_printf("other%u", i), *process = g_strdup_printf("app%u", i / 1000);
        g_autofree char *subordinate = g_strdup_printf("%u", 100000 + i);
        bench.reading.series = name;
        bench.subject.facts[RULE_FILTER_USER] = subordinate;
        bench.subject.facts[RULE_FILTER_PROCESS] = process;
        fired += step(&bench, SECOND, 120);
        engine_forget(bench.engine, name);
    }
    g_assert_cmpuint(fired, ==, ENGINE_ENDED_MAX * 3 + 20);
    bench.reading.series = "app";
    bench.subject.facts[RULE_FILTER_PROCESS] = "app0";
    bench.subject.facts[RULE_FILTER_USER] = "app";
    bench.reading.account = 1000;
    g_assert_cmpuint(step(&bench, SECOND, 120), ==, 1); /* not the second rule, whose count is reached */
    end(&bench);
}

/* A client is shown the processes of its user. */
static void
test_of_owner(void)
{
    static const struct {
        const char *series;
        guint32 owner;
    } rows[] = {{"app", 1000}, {"other", 1001}};
    Bench bench;
    begin(&bench, "[a]\nwhen = held above 100\ndo = log\n");
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        bench.reading.series = rows[i].series;
        bench.reading.owner = rows[i].owner;
        step(&bench, SECOND, 50);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const guint32 owner = rows[1 - i].owner;
        Seen seen = {.reason = RULE_REASONS, .only = rows[i].series};
        engine_each(bench.engine, &owner, take, &seen);
        g_assert_cmpint(seen.reason, ==, RULE_REASONS);
        engine_each(bench.engine, &rows[i].owner, take, &seen);
        g_assert_cmpint(seen.reason, ==, RULE_NOT_TRUE);
    }
    end(&bench);
}

typedef struct {
    Engine *engine;
    GString *rows; /* "RULE SERIES;" of each */
} Listing;

static void
note_row(const RuleStanding *standing, gpointer data)
{
    g_string_append_printf(data, "%s %s;", standing->rule->name, standing->series);
}

/* The rows of the next MOST pairs. */
static const char *
list(Listing *listing, EngineCursor *cursor, guint most, EngineProgress progress)
{
    g_string_truncate(listing->rows, 0);
    g_assert_cmpint(engine_each_portion(listing->engine, NULL, cursor, most, note_row, listing->rows), ==, progress);
    return listing->rows->str;
}

/* Between two portions, series may begin and end, and rules may be replaced. */
static void
test_portions(void)
{
    static const char two[] = "[a]\nwhen = held above 100\ndo = log\n[b]\nwhen = held above 100\ndo = log\n";
    Bench bench;
    EngineCursor cursor = {0}, old = {0};
    begin(&bench, two);
    Listing listing = {bench.engine, g_string_new(NULL)};
    g_assert_cmpstr(list(&listing, &(EngineCursor){0}, 2, ENGINE_COMPLETE), ==, "");
    for (guint i = 0; i < 4; i++) {
        g_autofree char *name = g_strdup_printf("s%u", i);
        bench.reading.series = name;
        step(&bench, SECOND, 50);
    }
    g_assert_cmpstr(list(&listing, &cursor, 3, ENGINE_MORE), ==, "a s0;a s1;a s2;");
    g_assert_cmpstr(list(&listing, &old, 1, ENGINE_MORE), ==, "a s0;");
    engine_forget(bench.engine, "s1");
    g_assert_cmpstr(list(&listing, &cursor, 2, ENGINE_MORE), ==, "a s3;b s0;");
    engine_forget(bench.engine, "s2");
    engine_forget(bench.engine, "s3");
    bench.reading.series = "s4";
    step(&bench, SECOND, 50);
    g_assert_cmpstr(list(&listing, &cursor, 2, ENGINE_COMPLETE), ==, "b s4;");
    g_autoptr(GPtrArray) rules = parse(two);
    engine_set_rules(bench.engine, rules);
    g_assert_cmpstr(list(&listing, &old, 2, ENGINE_REPLACED), ==, "");
    g_string_free(listing.rows, TRUE);
    end(&bench);
}

/* A user whose processes all hit a limit costs a time linear in their number. */
static void
test_crowd_of_a_user(void)
{
    enum { RULES = 50, SERIES = 3000 };
    g_autoptr(GString) text = g_string_new(NULL);
    Bench bench;
    for (guint i = 0; i < RULES; i++)
        g_string_append_printf(text, "[r%u]\nwhen = held above 0B\nuser-count = 2\ncooldown = 0s\ndo = log\n", i);
    begin(&bench, text->str);
    bench.subject.facts[RULE_FILTER_USER] = "app";
    const clock_t begun = clock();
    for (guint i = 0; i < SERIES; i++) {
        g_autofree char *name = g_strdup_printf("app%u", i);
        bench.reading.series = name;
        step(&bench, 1, 120);
    }
    g_assert_cmpint(clock() - begun, <, 2 * CLOCKS_PER_SEC);
    end(&bench);
}

/* Names that a hash without a key, which anyone can compute, does not tell apart. */
static void
test_names_that_collide(void)
{
    enum { PAIRS = 14, SERIES = 1 << PAIRS };
    static const char *const pairs[] = {"az", "bY"};
    Bench bench;
    begin(&bench, "[a]\nwhen = held above 1GiB\ndo = log\n");
    const gint64 began_us = g_get_monotonic_time();
    for (guint i = 0; i < SERIES; i++) {
        g_autoptr(GString) name = g_string_new(NULL);
        for (guint pair = 0; pair < PAIRS; pair++)
            g_string_append(name, pairs[i >> pair & 1]);
        g_assert_cmpuint(g_str_hash(name->str), ==, g_str_hash("azazazazazazazazazazazazazaz"));
        bench.reading.series = name->str;
        step(&bench, 1, 120);
    }
    g_assert_cmpint(g_get_monotonic_time() - began_us, <, 2 * SECOND);
    end(&bench);
}

static void
note_probe(Rule *rule, const Quantity *quantity, gpointer data)
{
    g_ptr_array_add(data, g_strdup_printf("%s %s", rule->name, quantity->base));
}

/* Quantities that samples lack are measured if a rule selects the process, and a window takes each value once. */
static void
test_probed(void)
{
    Bench bench;
    g_autoptr(GPtrArray) asked = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) probed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    gdouble value = 150;
    begin(&bench, "[a]\nwhen = function(^map<int, x>) above 200\ndo = log\n"
                  "[b]\nprocess = other\nwhen = function(y) above 1\ndo = log\n"
                  "[c]\nwhen = slope( stack(a;b{1,2}), 1m ) above 1/s\ndo = log\n");
    g_assert_cmpuint(steps(&bench, 3, 50), ==, 0);
    g_assert_cmpstr(look(&bench).why, ==,
                    "'slope(stack(a;b{1,2}),1m)' has no value yet: it was not measured, or profiling is off");
    engine_each_probe(bench.engine, "app", note_probe, asked);
    g_assert_cmpuint(asked->len, ==, 2);
    g_assert_cmpstr(asked->pdata[0], ==, "a function(^map<int, x>)");
    g_assert_cmpstr(asked->pdata[1], ==, "c stack(a;b{1,2})");
    bench.reading.probed = probed;
    for (guint i = 0; i < 20; i++) {
        value += 100;
        bench.reading.probed_now = i % 2 == 0;
        g_hash_table_insert(probed, g_strdup("function(^map<int, x>)"), g_memdup2(&value, sizeof(value)));
        g_hash_table_insert(probed, g_strdup("stack(a;b{1,2})"), g_memdup2(&value, sizeof(value)));
        step(&bench, EVERY, 50);
    }
    g_assert_cmpint(look(&bench).fired, ==, 1);
    end(&bench);
}

/* A user may have any number of processes, also of subordinate ids: the limits of firings and of running actions apply
 * to all of them together. */
static void
test_users(void)
{
    Bench bench;
    guint fired = 0, of_other = 0;
    begin(&bench, "[a]\nwhen = held above 100\nuser-count = 20\ncooldown = 0s\ndo = log\n");
    for (guint i = 0; i < 100; i++) {
        g_autofree char *name = g_strdup_printf("app%u", i);
        bench.reading.series = name;
        bench.subject.facts[RULE_FILTER_USER] = i % 10 == 9 ? "other" : i % 2 == 0 ? "app" : "100000";
        bench.reading.account = i % 10 == 9 ? 1001 : 1000;
        *(i % 10 == 9 ? &of_other : &fired) += step(&bench, SECOND, 120);
        engine_forget(bench.engine, name);
    }
    g_assert_cmpuint(fired, ==, 20);
    g_assert_cmpuint(of_other, ==, 10);
    bench.reading.series = "app98";
    bench.subject.facts[RULE_FILTER_USER] = "app";
    bench.reading.account = 1000;
    g_assert_cmpuint(step(&bench, SECOND, 120), ==, 0);
    g_assert_cmpint(look_at(&bench, "app98").reason, ==, RULE_USER_COUNTED_OUT);
    g_assert_cmpstr(look_at(&bench, "app98").why, ==, "it has fired 20 times in 1 d for processes of the user app");
    end(&bench);
}

static void
test_works_of_users(void)
{
    enum { RULES = 12 };
    Bench bench;
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < RULES; i++)
        g_string_append_printf(text, "[r%u]\nwhen = held above 100\ncooldown = 0s\ndo = log\n", i);
    begin(&bench, text->str);
    bench.subject.facts[RULE_FILTER_USER] = "app";
    bench.reading.account = 1000;
    g_assert_cmpuint(step(&bench, SECOND, 120), ==, ENGINE_WORKS_OF_USER);
    for (guint i = 0; i < ENGINE_WORKS_OF_USER; i++)
        engine_begin_work(bench.engine, g_array_index(bench.firings, RuleFiring, i).rule->name, "app");
    g_assert_cmpuint(step(&bench, SECOND, 120), ==, 0);
    g_assert_cmpint(look(&bench).reason, ==, RULE_USER_AT_WORK);
    /* A subordinate id of the same user. */
    bench.reading.series = "subordinate";
    bench.subject.facts[RULE_FILTER_USER] = "100000";
    g_assert_cmpuint(step(&bench, SECOND, 120), ==, 0);
    bench.reading.series = "beside";
    bench.subject.facts[RULE_FILTER_USER] = "other";
    bench.reading.account = 1001;
    g_assert_cmpuint(step(&bench, SECOND, 120), ==, ENGINE_WORKS_OF_USER);
    bench.reading.series = "app";
    bench.subject.facts[RULE_FILTER_USER] = "app";
    bench.reading.account = 1000;
    engine_end_work(bench.engine, "r0", "app", 0);
    g_assert_cmpuint(step(&bench, SECOND, 120), ==, 1); /* one of those that were waiting */
    end(&bench);
}

/* Many rules on many series: each fires independently. */
static void
test_many(void)
{
    enum { RULES = 500, SERIES = 100 };
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < RULES; i++)
        g_string_append_printf(text, "[r%u]\nwhen = held above %u\ndo = log\n", i, i);
    Bench bench;
    begin(&bench, text->str);
    for (guint s = 0; s < SERIES; s++) {
        g_autofree char *name = g_strdup_printf("app/%u", s);
        bench.reading.series = name;
        g_assert_cmpuint(step(&bench, EVERY, 5 * s), ==, MIN(5 * s, RULES));
    }
    end(&bench);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/engine/states", test_states);
    g_test_add_func("/engine/interrupted", test_interrupted);
    g_test_add_func("/engine/cooldown", test_cooldown);
    g_test_add_func("/engine/again", test_again);
    g_test_add_func("/engine/count", test_count);
    g_test_add_func("/engine/machine-and-work", test_machine_and_work);
    g_test_add_func("/engine/warm-up-and-lives", test_warm_up_and_lives);
    g_test_add_func("/engine/filter", test_filter);
    g_test_add_func("/engine/gaps-and-clock", test_gaps_and_clock);
    g_test_add_func("/engine/logic", test_logic);
    g_test_add_func("/engine/slope", test_slope);
    g_test_add_func("/engine/reload", test_reload);
    g_test_add_func("/engine/forget", test_forget);
    g_test_add_func("/engine/forget-many", test_forget_many);
    g_test_add_func("/engine/forget-many-of-a-user", test_forget_many_of_a_user);
    g_test_add_func("/engine/of-owner", test_of_owner);
    g_test_add_func("/engine/portions", test_portions);
    g_test_add_func("/engine/crowd-of-a-user", test_crowd_of_a_user);
    g_test_add_func("/engine/probed", test_probed);
    g_test_add_func("/engine/users", test_users);
    g_test_add_func("/engine/works-of-users", test_works_of_users);
    g_test_add_func("/engine/names-that-collide", test_names_that_collide);
    g_test_add_func("/engine/many", test_many);
    return g_test_run();
}
