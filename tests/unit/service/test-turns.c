/* SPDX-License-Identifier: Apache-2.0 */
#include "service/turns.h"

enum {
    HONEST = 1000,
    HOSTILE = 65534,
    MANY = 100,
};

#define MINUTE_US   (G_GINT64_CONSTANT(60) * G_USEC_PER_SEC)
#define HOUR_US     (60 * MINUTE_US)
#define DEADLINE_US (G_GINT64_CONSTANT(5) * G_USEC_PER_SEC) /* for which a silent target takes a thread */
#define PROMPT_US   G_GINT64_CONSTANT(10000)

typedef struct {
    Turns turns;
    GList hostile[MANY];
    GList honest;
} Scene;

static void
set_scene(Scene *scene, guint threads, guint per_user)
{
    *scene = (Scene){0};
    turns_init(&scene->turns, threads, per_user);
    for (guint i = 0; i < MANY; i++)
        turns_enter(&scene->turns, HOSTILE, &scene->hostile[i], 0);
}

/* However much waits of one user, another's turn comes at once. */
static void
test_share(void)
{
    Scene scene;
    set_scene(&scene, 4, 2);
    g_assert_true(turns_next(&scene.turns, 0) == &scene.hostile[0]);
    g_assert_true(turns_next(&scene.turns, 0) == &scene.hostile[1]);
    g_assert_null(turns_next(&scene.turns, 0));
    turns_enter(&scene.turns, HONEST, &scene.honest, 0);
    g_assert_true(turns_next(&scene.turns, 0) == &scene.honest);
    turns_done(&scene.turns, HONEST, PROMPT_US, 0);
    turns_done(&scene.turns, HOSTILE, PROMPT_US, 0);
    g_assert_true(turns_next(&scene.turns, 0) == &scene.hostile[2]);
    turns_clear(&scene.turns);
}

/* When all threads are taken, the next that is free goes round. */
static void
test_round(void)
{
    Scene scene;
    set_scene(&scene, 2, 2);
    g_assert_nonnull(turns_next(&scene.turns, 0));
    g_assert_nonnull(turns_next(&scene.turns, 0));
    turns_enter(&scene.turns, HONEST, &scene.honest, 0);
    turns_done(&scene.turns, HOSTILE, PROMPT_US, 0);
    GList *next = turns_next(&scene.turns, 0);
    if (next != &scene.honest) { /* the hostile user's turn was the next one: then it is ours */
        turns_done(&scene.turns, HOSTILE, PROMPT_US, 0);
        next = turns_next(&scene.turns, 0);
    }
    g_assert_true(next == &scene.honest);
    turns_clear(&scene.turns);
}

static void
test_withdraw(void)
{
    Scene scene;
    set_scene(&scene, 4, 4);
    turns_withdraw(&scene.turns, HOSTILE, &scene.hostile[0]);
    g_assert_true(turns_next(&scene.turns, 0) == &scene.hostile[1]);
    for (guint i = 2; i < MANY; i++)
        turns_withdraw(&scene.turns, HOSTILE, &scene.hostile[i]);
    g_assert_null(turns_next(&scene.turns, 0));
    turns_done(&scene.turns, HOSTILE, PROMPT_US, 0);
    turns_clear(&scene.turns);
}

/* Has one job of a user done that takes TOOK_US. */
static void
work(Turns *turns, uid_t uid, gint64 took_us, gint64 now_us)
{
    GList ready = {0};
    turns_enter(turns, uid, &ready, now_us);
    g_assert_true(turns_next(turns, now_us) == &ready);
    turns_done(turns, uid, took_us, now_us + took_us);
}

typedef struct {
    Turns turns;
    GList strange[MANY];
    GList known;
} Crowd;

/* 16 threads, a user whose targets have been prompt for an hour, and MANY without a record who have something ready. */
static void
set_crowd(Crowd *crowd)
{
    *crowd = (Crowd){0};
    turns_init(&crowd->turns, 16, 8);
    for (guint minute = 0; minute < 60; minute++)
        work(&crowd->turns, HONEST, PROMPT_US, minute * MINUTE_US);
    for (guint i = 0; i < MANY; i++)
        turns_enter(&crowd->turns, HOSTILE + i, &crowd->strange[i], HOUR_US);
}

static guint
begin_all(Turns *turns, gint64 now_us)
{
    guint begun = 0;
    while (turns_next(turns, now_us) != NULL)
        begun++;
    return begun;
}

/* However many users come, one whose targets have been prompt finds a thread. */
static void
test_many_users(void)
{
    Crowd crowd;
    set_crowd(&crowd);
    g_assert_cmpuint(begin_all(&crowd.turns, HOUR_US), ==, 12);
    turns_enter(&crowd.turns, HONEST, &crowd.known, HOUR_US);
    g_assert_true(turns_next(&crowd.turns, HOUR_US) == &crowd.known);
    turns_clear(&crowd.turns);
}

/* Nor do others come before it who were prompt once, and then have let deadlines pass. */
static void
test_flipping(void)
{
    Crowd crowd;
    set_crowd(&crowd);
    gint64 now_us = HOUR_US + 10 * MINUTE_US;
    for (guint begun = 0; begun < MANY;) {
        const guint more = begin_all(&crowd.turns, now_us);
        for (guint i = 0; i < more; i++)
            turns_done(&crowd.turns, HOSTILE + begun++, DEADLINE_US, now_us);
    }
    for (guint i = 0; i < MANY; i++)
        turns_enter(&crowd.turns, HOSTILE + i, &crowd.strange[i], now_us);
    turns_enter(&crowd.turns, HONEST, &crowd.known, now_us);
    g_assert_true(turns_next(&crowd.turns, now_us) == &crowd.known);
    g_assert_cmpuint(begin_all(&crowd.turns, now_us), ==, 11);
    turns_clear(&crowd.turns);
}

/* Of those without work, the slowest users are forgotten. */
static void
test_kept(void)
{
    Turns turns;
    GList known = {0}, strange = {0};
    turns_init(&turns, 16, 8);
    work(&turns, HONEST, PROMPT_US, 0);
    for (guint i = 0; i < TURNS_KEPT + MANY; i++)
        work(&turns, HOSTILE + i, DEADLINE_US, HOUR_US);
    g_assert_cmpuint(g_hash_table_size(turns.users), ==, TURNS_KEPT);
    turns_enter(&turns, HOSTILE, &strange, HOUR_US);
    turns_enter(&turns, HONEST, &known, HOUR_US);
    g_assert_true(turns_next(&turns, HOUR_US) == &known);
    turns_clear(&turns);
}

/* However many requests each of 31 users has, one that has none in progress finds a thread. */
static void
test_firsts(void)
{
    enum { USERS = 31, PER_USER = 4 };
    Turns turns;
    GList ready[USERS * PER_USER] = {0}, more = {0}, honest = {0};
    turns_init(&turns, 40, PER_USER);
    turns.firsts = 32;
    for (guint i = 0; i < G_N_ELEMENTS(ready); i++)
        turns_enter(&turns, HOSTILE + i / PER_USER, &ready[i], 0);
    g_assert_cmpuint(begin_all(&turns, 0), >=, USERS);
    turns_enter(&turns, HONEST, &honest, 0);
    g_assert_true(turns_next(&turns, 0) == &honest);
    turns_enter(&turns, HONEST, &more, 0);
    g_assert_null(turns_next(&turns, 0));
    turns_clear(&turns);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/turns/share", test_share);
    g_test_add_func("/service/turns/round", test_round);
    g_test_add_func("/service/turns/withdraw", test_withdraw);
    g_test_add_func("/service/turns/many-users", test_many_users);
    g_test_add_func("/service/turns/flipping", test_flipping);
    g_test_add_func("/service/turns/kept", test_kept);
    g_test_add_func("/service/turns/firsts", test_firsts);
    return g_test_run();
}
