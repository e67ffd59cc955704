/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/live.h"

#include "crowd-agent.h"

#include "confine/account.h"
#include "target/agent.h"
#include "target/own-room.h"

#include <string.h>
#include <unistd.h>

static const AgentDeadlines patient = {.connect = 1000, .answer = 20000, .output = 20000};

static Target *
open_fake(const FakeAgent *fake)
{
    const AgentAddress address = {.path = fake->path, .deadlines = patient};
    g_autoptr(GError) error = NULL;
    Target *target = agent_open(&address, &error);
    g_assert_no_error(error);
    return target;
}

static guint
count_rows(const StatsTable *table)
{
    g_assert_true(table == NULL || table->count <= STATS_CLASSES_MAX);
    return table != NULL ? table->count : 0;
}

/* 4096 arenas of 1024 classes of four kinds would be a sample of 1.2 GB. */
static void
test_rows_are_bounded(void)
{
    Crowd crowd = {.arenas = 4096, .classes = STATS_CLASSES_MAX, .used = 1};
    g_autoptr(FakeAgent) fake = fake_agent_new("", crowd_answer, &crowd);
    g_autoptr(Target) target = open_fake(fake);
    g_autoptr(GError) error = NULL;
    g_autoptr(StatsLive) live = stats_live_new(target, STATS_LIVE_ARENAS | STATS_LIVE_ARENA_CLASSES, &error);
    g_autoptr(StatsSample) sample = stats_live_sample(live, &error);
    guint rows = 0, whole = 0;
    g_assert_no_error(error);
    for (guint i = 0; i < stats_sample_arena_count(sample); i++) {
        const StatsArena *arena = sample->arenas->pdata[i];
        whole += arena->bins != NULL && arena->large != NULL;
        rows += count_rows(arena->bins) + count_rows(arena->large);
    }
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
    g_assert_cmpuint(count_rows(merged->bins), ==, STATS_CLASSES_MAX);
    g_assert_cmpuint(rows, ==, STATS_ROWS_MAX);
    g_assert_cmpuint(sample->unread, ==, crowd.arenas - whole);
    g_autofree char *notice = stats_unread_notice(sample);
    g_assert_nonnull(strstr(notice, "of 3968 of 4096 arenas"));
}

/* Arenas whose classes were not used take no rows. */
static void
test_as_many_as_a_large_machine_has(void)
{
    Crowd crowd = {.arenas = 1100, .classes = 250, .used = 0};
    g_autoptr(FakeAgent) fake = fake_agent_new("", crowd_answer, &crowd);
    g_autoptr(Target) target = open_fake(fake);
    g_autoptr(GError) error = NULL;
    g_autoptr(StatsLive) live = stats_live_new(target, STATS_LIVE_ARENAS | STATS_LIVE_ARENA_CLASSES, &error);
    g_autoptr(StatsSample) sample = stats_live_sample(live, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(stats_sample_arena_count(sample), ==, crowd.arenas);
    g_assert_cmpuint(sample->unread, ==, 0);
    g_assert_null(stats_unread_notice(sample));
    g_assert_cmpuint(crowd.counts, ==, 2); /* bins and large ones, for all arenas together */
}

/* Several samples of a user's processes may exist at once. */
static void
test_classes_are_charged(void)
{
    enum { ARENAS = 16 };
    Crowd crowd = {.arenas = ARENAS, .classes = STATS_CLASSES_MAX, .used = 1};
    g_autoptr(FakeAgent) fake = fake_agent_new("", crowd_answer, &crowd);
    g_autoptr(Target) target = open_fake(fake);
    const uid_t account = account_of(target_user(target));
    g_autoptr(GError) error = NULL;
    g_autoptr(StatsLive) live = stats_live_new(target, STATS_LIVE_ARENAS | STATS_LIVE_ARENA_CLASSES, &error);
    StatsSample *one = stats_live_sample(live, &error);
    StatsSample *other = stats_live_sample(live, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(stats_sample_bytes(one), >, ARENAS * 2 * STATS_CLASSES_MAX * sizeof(uint64_t));
    g_assert_cmpuint(own_room_held(account), ==, stats_sample_bytes(one) + stats_sample_bytes(other));
    stats_sample_unref(one);
    g_assert_cmpuint(own_room_held(account), ==, stats_sample_bytes(other));
    /* Other outputs of his hold more than there is. */
    own_room_hold(account, G_MAXINT64 / 2);
    StatsSample *third = stats_live_sample(live, &error);
    own_room_hold(account, -(G_MAXINT64 / 2));
    g_assert_no_error(error);
    g_assert_cmpuint(third->unread, ==, ARENAS);
    g_assert_cmpuint(own_room_held(account), ==, stats_sample_bytes(other));
    stats_sample_unref(third);
    stats_sample_unref(other);
    g_assert_cmpuint(own_room_held(account), ==, 0);
}

/* It would take more than a million exchanges, each of which is prompt. */
static void
test_one_deadline(void)
{
    Crowd crowd = {.arenas = 4096, .classes = STATS_CLASSES_MAX, .used = 0};
    g_autoptr(FakeAgent) fake = fake_agent_new("", crowd_answer, &crowd);
    g_autoptr(Target) target = open_fake(fake);
    const gint64 later = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
    enum { SOON_US = 20000 };
    for (guint i = 0; i < 2; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(StatsLive) live = stats_live_new(target, STATS_LIVE_ARENAS | STATS_LIVE_ARENA_CLASSES, &error);
        /* Its own, or that of a command for all it does. */
        const gint64 limit = i == 0 ? later : g_get_monotonic_time() + SOON_US;
        if (i == 0)
            stats_live_limit(live, SOON_US);
        target_wait_until(target, limit);
        g_assert_null(stats_live_sample(live, &error));
        g_assert_error(error, TARGET_ERROR, OUTCOME_SILENT);
        g_assert_cmpint(target_waits_until(target), ==, limit);
        target_wait_until(target, 0);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/live/rows-are-bounded", test_rows_are_bounded);
    g_test_add_func("/stats/live/as-many-as-a-large-machine-has", test_as_many_as_a_large_machine_has);
    g_test_add_func("/stats/live/classes-are-charged", test_classes_are_charged);
    g_test_add_func("/stats/live/one-deadline", test_one_deadline);
    return g_test_run();
}
