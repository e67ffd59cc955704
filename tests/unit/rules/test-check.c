/* SPDX-License-Identifier: Apache-2.0 */
/* Rules over a history in memory. */
#include "rules/check.h"
#include "rules/file.h"

#include "history/dumps.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SECOND G_GINT64_CONSTANT(1000000)
#define DAY    (G_GINT64_CONSTANT(1700000000) * SECOND)

static const char *const every[] = {NULL};

static gint64
begin(History *history, const char *target, gint64 pid)
{
    const HistoryLife life = {
        .target = target, .pid = pid, .start_ticks = 1, .boot = "", .version = "5.3.0", .every_us = 10 * SECOND};
    gint64 incarnation;
    g_assert_true(history_begin(history, &life, &incarnation, NULL));
    return incarnation;
}

/* Adds COUNT samples that hold HELD bytes, from SECONDS on. */
static void
add(History *history, gint64 incarnation, gint64 seconds, guint count, guint64 held)
{
    for (guint i = 0; i < count; i++) {
        g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
        sample->time_us = DAY + (seconds + 10 * (gint64)i) * SECOND;
        stats_values_set(sample->totals, STATS_HELD, held);
        stats_values_set(stats_sample_arena(sample, STATS_ARENA_MERGED)->values, STATS_ARENA_MAPPED, held * 2);
        g_assert_true(history_add(history, incarnation, sample, HISTORY_TOTALS | HISTORY_ARENAS, NULL));
    }
}

static GPtrArray *
check(History *history, const char *text, HistoryRange range)
{
    g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) rules = rules_new();
    g_autoptr(GError) error = NULL;
    const RulesCheckQuery query = {.series = every, .range = range};
    rules_file_parse("t", text, strlen(text), rules, problems);
    g_assert_cmpuint(problems->len, ==, 0);
    GPtrArray *checks = rules_check(history, rules, &query, &error);
    g_assert_no_error(error);
    return checks;
}

static gint64
fired_at(const RulesCheck *check, guint i)
{
    return (g_array_index(check->firings, RuleFiring, i).time_us - DAY) / SECOND;
}

static void
add_dump(History *history, gint64 incarnation, gsize bytes)
{
    int fd = memfd_create("dump", MFD_CLOEXEC);
    g_auto(HistoryPackedDump) packed = {0};
    RouteDump dump = {.taken_ms = 5};
    g_autofree char *content = g_strnfill(bytes, 'x');
    g_assert_cmpint(write(fd, content, bytes), ==, (gssize)bytes);
    g_assert_true(history_dump_pack(fd, &packed, NULL));
    g_assert_true(history_dump_add_packed(history, incarnation, &packed, &dump, NULL));
    close(fd);
}

static void
test_firings_and_cost(void)
{
    g_autoptr(History) history = history_open_in_memory(NULL);
    gint64 one = begin(history, "app", 1);
    add(history, one, 0, 30, 50);
    add(history, one, 300, 30, 150);
    add(history, one, 600, 30, 50);
    add(history, one, 900, 30, 150);
    add_dump(history, one, 3000);
    add_dump(history, one, 5000);
    add(history, begin(history, "other", 2), 0, 10, 500);
    g_autoptr(GPtrArray) checks = check(history,
                                        "[a]\nprocess = app\nuser = nobody-knows\nwhen = held above 100 and "
                                        "arena.mapped above 250\nfor = 1m\ncooldown = 1s\ndo = record 30s; dump; log\n",
                                        HISTORY_ALL_TIME);
    g_assert_cmpuint(checks->len, ==, 1);
    const RulesCheck *app = checks->pdata[0];
    g_assert_cmpstr(app->series, ==, "app");
    g_assert_cmpuint(app->samples, ==, 120);
    g_assert_cmpuint(app->firings->len, ==, 2);
    g_assert_cmpint(fired_at(app, 0), ==, 360);
    g_assert_cmpint(fired_at(app, 1), ==, 960);
    g_assert_cmpuint(app->cost.dumps, ==, 4);
    g_assert_cmpuint(app->cost.dump_bytes, ==, 4000);
    g_assert_cmpuint(app->cost.recorded_ms, ==, 60000);
    g_assert_cmpuint(app->cost.times[RULE_LOG], ==, 2);
    g_assert_cmpint(app->state, ==, RULE_COOLING);
}

static void
test_limits(void)
{
    g_autoptr(History) history = history_open_in_memory(NULL);
    gint64 one = begin(history, "app", 1);
    for (guint i = 0; i < 10; i++) {
        add(history, one, 200 * (gint64)i, 10, 150);
        add(history, one, 200 * (gint64)i + 100, 10, 50);
    }
    g_autoptr(GPtrArray) checks =
        check(history, "[a]\nwhen = held above 100\ncooldown = 5m\ncount = 3\ndo = log\n", HISTORY_ALL_TIME);
    const RulesCheck *app = checks->pdata[0];
    g_assert_cmpuint(app->firings->len, ==, 3);
    g_assert_cmpint(fired_at(app, 0), ==, 0);
    g_assert_cmpint(fired_at(app, 1), ==, 400);
    g_assert_cmpint(fired_at(app, 2), ==, 800);
    g_assert_cmpuint(app->held_back[RULE_COUNTED_OUT], >=, 1);
    g_assert_cmpuint(app->held_back[RULE_IN_COOLDOWN], >=, 3);
    g_assert_cmpuint(app->held_back[RULE_NOT_TRUE], ==, 0);
}

/* A condition does not hold during gaps and restarts. */
static void
test_gaps(void)
{
    static const char rule[] = "[a]\nwhen = held above 100\nfor = 1m\ndo = log\n";
    g_autoptr(History) history = history_open_in_memory(NULL);
    gint64 one = begin(history, "app", 1);
    add(history, one, 0, 4, 150);
    add(history, one, 600, 4, 150);
    add(history, begin(history, "app", 2), 640, 4, 150);
    g_autoptr(GPtrArray) never = check(history, rule, HISTORY_ALL_TIME);
    g_assert_cmpuint(((const RulesCheck *)never->pdata[0])->firings->len, ==, 0);
    add(history, begin(history, "app", 2), 680, 10, 150);
    g_autoptr(GPtrArray) once = check(history, rule, HISTORY_ALL_TIME);
    g_assert_cmpuint(((const RulesCheck *)once->pdata[0])->firings->len, ==, 1);
    g_assert_cmpint(fired_at(once->pdata[0], 0), ==, 700);
}

static void
test_range(void)
{
    g_autoptr(History) history = history_open_in_memory(NULL);
    g_autoptr(GError) error = NULL;
    static const char *const unknown[] = {"nobody", NULL};
    add(history, begin(history, "app", 1), 0, 100, 150);
    const HistoryRange range = {DAY + 500 * SECOND, DAY + 700 * SECOND};
    g_autoptr(GPtrArray) checks = check(history, "[a]\nwhen = held above 100\ndo = log\n", range);
    g_assert_cmpuint(((const RulesCheck *)checks->pdata[0])->samples, ==, 20);
    g_assert_cmpint(fired_at(checks->pdata[0], 0), ==, 500);
    g_autoptr(GPtrArray) rules = g_ptr_array_new();
    const RulesCheckQuery query = {.series = unknown, .range = HISTORY_ALL_TIME};
    g_assert_null(rules_check(history, rules, &query, &error));
    g_assert_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING);
}

/* As many series as another user's processes had names, each with a dump: what is kept is read once for all of them.
 * Reading it for each of them takes a time that grows with the square of their number. */
static void
test_crowd(void)
{
    enum { SERIES = 4000, LONGEST_S = 5 };
    g_autoptr(History) history = history_open_in_memory(NULL);
    g_auto(HistoryPackedDump) packed = {0};
    int fd = memfd_create("dump", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, "heap_v2", 7), ==, 7);
    g_assert_true(history_dump_pack(fd, &packed, NULL));
    close(fd);
    for (guint i = 0; i < SERIES; i++) {
        g_autofree char *name = g_strdup_printf("app-%04u", i);
        RouteDump dump = {.taken_ms = 5};
        gint64 life = begin(history, name, i + 1);
        add(history, life, 0, 1, 150);
        g_assert_true(history_dump_add_packed(history, life, &packed, &dump, NULL));
    }
    const clock_t begun = clock();
    g_autoptr(GPtrArray) checks = check(history, "[a]\nwhen = held above 100\ndo = dump\n", HISTORY_ALL_TIME);
    g_assert_cmpint(clock() - begun, <, LONGEST_S * CLOCKS_PER_SEC);
    g_assert_cmpuint(checks->len, ==, SERIES);
    for (guint i = 0; i < SERIES; i++)
        g_assert_cmpuint(((const RulesCheck *)checks->pdata[i])->cost.dump_bytes, ==, 7);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/check/firings-and-cost", test_firings_and_cost);
    g_test_add_func("/check/limits", test_limits);
    g_test_add_func("/check/gaps", test_gaps);
    g_test_add_func("/check/range", test_range);
    g_test_add_func("/check/crowd", test_crowd);
    return g_test_run();
}
