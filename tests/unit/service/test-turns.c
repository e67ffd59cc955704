/* SPDX-License-Identifier: Apache-2.0 */
#include "service/turns.h"

enum {
    HONEST = 1000,
    HOSTILE = 65534,
    MANY = 100,
};

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
        turns_enter(&scene->turns, HOSTILE, &scene->hostile[i]);
}

/* However much waits of one user, another's turn comes at once. */
static void
test_share(void)
{
    Scene scene;
    set_scene(&scene, 4, 2);
    g_assert_true(turns_next(&scene.turns) == &scene.hostile[0]);
    g_assert_true(turns_next(&scene.turns) == &scene.hostile[1]);
    g_assert_null(turns_next(&scene.turns));
    turns_enter(&scene.turns, HONEST, &scene.honest);
    g_assert_true(turns_next(&scene.turns) == &scene.honest);
    turns_done(&scene.turns, HONEST);
    turns_done(&scene.turns, HOSTILE);
    g_assert_true(turns_next(&scene.turns) == &scene.hostile[2]);
    turns_clear(&scene.turns);
}

/* When all threads are taken, the next that is free goes round. */
static void
test_round(void)
{
    Scene scene;
    set_scene(&scene, 2, 2);
    g_assert_nonnull(turns_next(&scene.turns));
    g_assert_nonnull(turns_next(&scene.turns));
    turns_enter(&scene.turns, HONEST, &scene.honest);
    turns_done(&scene.turns, HOSTILE);
    GList *next = turns_next(&scene.turns);
    if (next != &scene.honest) { /* the hostile user's turn was the next one: then it is ours */
        turns_done(&scene.turns, HOSTILE);
        next = turns_next(&scene.turns);
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
    g_assert_true(turns_next(&scene.turns) == &scene.hostile[1]);
    for (guint i = 2; i < MANY; i++)
        turns_withdraw(&scene.turns, HOSTILE, &scene.hostile[i]);
    g_assert_null(turns_next(&scene.turns));
    turns_done(&scene.turns, HOSTILE);
    g_assert_cmpuint(g_hash_table_size(scene.turns.users), ==, 0);
    turns_clear(&scene.turns);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/turns/share", test_share);
    g_test_add_func("/service/turns/round", test_round);
    g_test_add_func("/service/turns/withdraw", test_withdraw);
    return g_test_run();
}
