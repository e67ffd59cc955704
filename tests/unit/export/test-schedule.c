/* SPDX-License-Identifier: Apache-2.0 */
#include "export/schedule.h"

#include <string.h>

#define MINUTE ((gint64)60 * G_USEC_PER_SEC)

/* The next round begins after now, within one length, and is the one that then is. */
static void
test_rounds(void)
{
    const Schedule schedule = {.host = "web1", .every_us = 5 * MINUTE};
    const gint64 begin = (gint64)1800000000 * G_USEC_PER_SEC;
    for (gint64 now = begin; now < begin + 20 * MINUTE; now += (gint64)7 * G_USEC_PER_SEC) {
        gint64 next = schedule_next_us(&schedule, now);
        g_assert_cmpint(next, >, now);
        g_assert_cmpint(next, <=, now + 5 * MINUTE);
        g_assert_cmpint(schedule_round(&schedule, next - 1), ==, schedule_round(&schedule, now));
        g_assert_cmpint(schedule_round(&schedule, next), ==, schedule_round(&schedule, now) + 1);
        g_assert_cmpint(schedule_next_us(&schedule, next), ==, next + 5 * MINUTE);
    }
}

/* A thousand hosts: no tenth of the time has twice its share of them. */
static void
test_spread(void)
{
    guint hosts[10] = {0};
    for (guint i = 0; i < 1000; i++) {
        g_autofree char *host = g_strdup_printf("web%u.example.com", i);
        const Schedule schedule = {.host = host, .every_us = 5 * MINUTE};
        hosts[schedule_next_us(&schedule, 0) % (5 * MINUTE) * 10 / (5 * MINUTE)]++;
    }
    for (guint i = 0; i < G_N_ELEMENTS(hosts); i++) {
        g_assert_cmpuint(hosts[i], >, 50);
        g_assert_cmpuint(hosts[i], <, 200);
    }
}

static void
test_idle(void)
{
    const Schedule schedule = {.host = "web1", .every_us = MINUTE, .dump_share = 1};
    const Schedule generous = {.host = "web1", .every_us = MINUTE, .dump_share = 50};
    g_assert_cmpuint(schedule_idle_rounds(&schedule, MINUTE / 100 - 1), ==, 0);
    g_assert_cmpuint(schedule_idle_rounds(&schedule, MINUTE / 100), ==, 1);
    g_assert_cmpuint(schedule_idle_rounds(&schedule, 3 * G_USEC_PER_SEC), ==, 5);
    g_assert_cmpuint(schedule_idle_rounds(&generous, 3 * G_USEC_PER_SEC), ==, 0);
}

/* In each round as many of a service as its budget has; over the rounds each process about equally often. */
static void
test_budget(void)
{
    const Schedule schedule = {.host = "web1", .every_us = MINUTE, .per_service = 2};
    ScheduleProcess processes[8];
    guint times[8] = {0};
    for (guint i = 0; i < 8; i++)
        processes[i] = (ScheduleProcess){.pid = (pid_t)(100 + i), .start = i, .service = i < 7 ? "shop" : "cache"};
    processes[6].idle = 3;
    for (gint64 round = 0; round < 300; round++) {
        gboolean chosen[8];
        guint shops = 0;
        schedule_choose(&schedule, round, processes, 8, chosen);
        for (guint i = 0; i < 8; i++) {
            times[i] += chosen[i] != FALSE;
            shops += i < 7 && chosen[i];
        }
        g_assert_cmpuint(shops, ==, 2);
    }
    for (guint i = 0; i < 6; i++)
        g_assert_cmpuint(times[i], >, 50);
    g_assert_cmpuint(times[6], ==, 0);
    g_assert_cmpuint(times[7], ==, 300);
}

static void
test_no_budget(void)
{
    const Schedule schedule = {.host = "web1", .every_us = MINUTE};
    const ScheduleProcess processes[] = {{1, 1, "shop", 0, 0, 0}, {2, 2, "shop", 0, 0, 0}, {3, 3, "shop", 0, 0, 1}};
    gboolean chosen[3];
    schedule_choose(&schedule, 5, processes, 3, chosen);
    g_assert_true(chosen[0] && chosen[1] && !chosen[2]);
}

/* Any number of another user's processes of the same name leave a service its place. */
static void
test_users(void)
{
    const Schedule schedule = {.host = "web1", .every_us = MINUTE, .per_service = 1};
    ScheduleProcess processes[50];
    for (guint i = 0; i < 50; i++)
        processes[i] = (ScheduleProcess){.pid = (pid_t)(100 + i), .service = "shop", .user = i == 7 ? 0 : 1000};
    for (gint64 round = 0; round < 20; round++) {
        gboolean chosen[50];
        guint n = 0;
        schedule_choose(&schedule, round, processes, 50, chosen);
        for (guint i = 0; i < 50; i++)
            n += chosen[i] != FALSE;
        g_assert_true(chosen[7]);
        g_assert_cmpuint(n, ==, 2);
    }
}

/* The processes of a user that are slow to dump, however many and of whichever of his subordinate ids, come after those
 * of others, and not all in one round. */
static void
test_slow_processes(void)
{
    enum { N = 50, OTHERS = 7 };
    const Schedule schedule = {.host = "web1", .every_us = 5 * MINUTE};
    g_autoptr(GHashTable) spent = schedule_spent_new();
    ScheduleProcess processes[N];
    gboolean waiting[N];
    guint slow = 0, others = 0, next;
    for (guint i = 0; i < N; i++) {
        processes[i] = (ScheduleProcess){.pid = (pid_t)(100 + i),
                                         .service = "shop",
                                         .user = i % OTHERS ? 100000 + i : 0,
                                         .account = i % OTHERS ? 1000 : 0};
        waiting[i] = TRUE;
    }
    while ((next = schedule_next(&schedule, processes, N, waiting, spent)) < N) {
        const gboolean is_slow = processes[next].account == 1000;
        g_assert_true(!is_slow || slow == 0 || others == (N + OTHERS - 1) / OTHERS);
        slow += is_slow;
        others += !is_slow;
        waiting[next] = FALSE;
        schedule_spend(&schedule, spent, processes[next].account, is_slow ? 2 * MINUTE : G_USEC_PER_SEC);
    }
    g_assert_cmpuint(others, ==, (N + OTHERS - 1) / OTHERS);
    g_assert_cmpuint(slow, ==, 3);
}

/* A user whose dump has made those of others late, then waits for ten times as long; in time, nobody does. */
static void
test_late_dumps(void)
{
    enum { ROUNDS = 100, LATE = 30 };
    const Schedule schedule = {.host = "web1", .every_us = 2 * G_USEC_PER_SEC};
    const ScheduleProcess processes[] = {{1, 1, "shop", 1000, 1000, 0}, {2, 2, "shop", 1001, 1001, 0}};
    g_autoptr(GHashTable) spent = schedule_spent_new();
    guint dumps[2] = {0}, next;
    for (guint round = 0; round < ROUNDS; round++) {
        gboolean waiting[] = {TRUE, TRUE};
        schedule_begin_round(&schedule, spent);
        while ((next = schedule_next(&schedule, processes, 2, waiting, spent)) < 2) {
            waiting[next] = FALSE;
            dumps[next]++;
            schedule_spend(&schedule, spent, processes[next].account, (next == 0 ? LATE : 1) * G_USEC_PER_SEC);
        }
    }
    g_assert_cmpuint(dumps[0], ==, 1);
    g_assert_cmpuint(dumps[1], ==, ROUNDS);
}

/* Where there is one user, all processes are dumped in each round, however long that takes. */
static void
test_one_user(void)
{
    const Schedule schedule = {.host = "web1", .every_us = G_USEC_PER_SEC};
    const ScheduleProcess processes[] = {{1, 1, "shop", 0, 0, 0}, {2, 2, "shop", 0, 0, 0}, {3, 3, "shop", 0, 0, 0}};
    g_autoptr(GHashTable) spent = schedule_spent_new();
    gboolean waiting[] = {TRUE, FALSE, TRUE};
    g_assert_cmpuint(schedule_next(&schedule, processes, 3, waiting, spent), ==, 0);
    schedule_spend(&schedule, spent, 0, MINUTE);
    waiting[0] = FALSE;
    g_assert_cmpuint(schedule_next(&schedule, processes, 3, waiting, spent), ==, 2);
    waiting[2] = FALSE;
    g_assert_cmpuint(schedule_next(&schedule, processes, 3, waiting, spent), ==, 3);
}

/* A user with any number of slow processes keeps others waiting for one of them at most. */
static void
test_turns(void)
{
    ScheduleTurns *turns = schedule_turns_new();
    const uid_t users[] = {1000, 1000, 1000, 0, 1000, 1001}, one[] = {1000, 1000};
    g_assert_cmpuint(schedule_turn_next(turns, users, 6), ==, 0); /* which is slow */
    g_assert_cmpuint(schedule_turn_next(turns, users, 6), ==, 3);
    schedule_turn_end(turns, 0, 1);
    g_assert_cmpuint(schedule_turn_next(turns, users, 6), ==, 5);
    schedule_turn_end(turns, 1001, 1);
    for (guint i = 0; i < 10; i++) {
        guint next = schedule_turn_next(turns, users, 6);
        g_assert_cmpuint(next, ==, i % 2 == 0 ? 3 : 5);
        schedule_turn_end(turns, users[next], 1);
    }
    schedule_turn_end(turns, 1000, MINUTE); /* it has had fewer turns, which took longer */
    g_assert_cmpuint(schedule_turn_next(turns, users, 6), ==, 3);
    g_assert_cmpuint(schedule_turn_next(turns, users, 6), ==, 5);
    g_assert_cmpuint(schedule_turn_next(turns, users, 6), ==, 0);
    schedule_turn_end(turns, 1000, MINUTE);
    g_assert_cmpuint(schedule_turn_next(turns, one, 2), ==, 0);
    schedule_turns_free(turns);
}

/* One who was prompt comes before any number of users whose processes are slow, and before unknown ones. */
static void
test_many_users(void)
{
    enum { MANY = 5000, HONEST = 1, STRANGER = 100000 };
    ScheduleTurns *turns = schedule_turns_new();
    uid_t users[] = {HONEST};
    g_assert_cmpuint(schedule_turn_next(turns, users, 1), ==, 0);
    schedule_turn_end(turns, HONEST, 1);
    for (uid_t user = STRANGER; user < STRANGER + MANY; user++) {
        users[0] = user;
        schedule_turn_next(turns, users, 1);
        schedule_turn_end(turns, user, MINUTE);
    }
    const uid_t waiting[] = {STRANGER + MANY, STRANGER + MANY - 1, STRANGER, HONEST};
    g_assert_cmpuint(schedule_turn_next(turns, waiting, 4), ==, 3);
    schedule_turns_free(turns);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/schedule/rounds", test_rounds);
    g_test_add_func("/schedule/spread", test_spread);
    g_test_add_func("/schedule/idle", test_idle);
    g_test_add_func("/schedule/late-dumps", test_late_dumps);
    g_test_add_func("/schedule/budget", test_budget);
    g_test_add_func("/schedule/users", test_users);
    g_test_add_func("/schedule/slow-processes", test_slow_processes);
    g_test_add_func("/schedule/one-user", test_one_user);
    g_test_add_func("/schedule/turns", test_turns);
    g_test_add_func("/schedule/many-users", test_many_users);
    g_test_add_func("/schedule/no-budget", test_no_budget);
    return g_test_run();
}
