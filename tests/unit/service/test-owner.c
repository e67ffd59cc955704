/* SPDX-License-Identifier: Apache-2.0 */
/* A process of root's that has taken on the id of a user, as file servers do, and one that its user may not read. */
#include "acting-agent.h"

#include "service/live.h"

#include <glib/gstdio.h>

enum {
    USER = 65533, /* not the user of the test */
};

static const char series[] = "server";

static void
take_on(const ServiceTarget *target, uid_t user)
{
    ((Process *)(guintptr)live_process(target))->uids[1] = user;
}

/* The kernel keeps the memory of such a process from its user. */
static void
close_to_its_user(const ServiceTarget *target, uid_t user)
{
    Process *process = (Process *)(guintptr)live_process(target);
    for (guint i = 0; i < PROCESS_UIDS; i++)
        process->uids[i] = user;
    process->closed = TRUE;
}

static void
count(const RuleStanding *standing, gpointer data)
{
    ++*(guint *)data;
}

static guint
count_standings(Stage *stage, Viewer viewer)
{
    guint n = 0;
    service_rules_each(stage->service, viewer, count, &n);
    return n;
}

static void
test_rules(void)
{
    g_autofree char *directory = g_dir_make_tmp("jescope-owner-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(directory, "any.rules", NULL);
    g_assert_true(g_file_set_contents(file, "[any]\nwhen = allocated above 1GiB\ndo = log\n", -1, NULL));
    ServiceOptions options = service_options_default;
    options.rules = directory;
    options.every_us = 0;
    g_autoptr(Stage) stage = stage_new(&options);
    take_on(stage->target, USER);
    stage_hand_sample(stage, series);
    g_assert_cmpuint(count_standings(stage, VIEWER_ALL), ==, 1);
    g_assert_cmpuint(count_standings(stage, USER), ==, 0);
    g_assert_cmpuint(count_standings(stage, VIEWER_NONE), ==, 0);
    close_to_its_user(stage->target, USER);
    stage_hand_sample(stage, series);
    g_assert_cmpuint(count_standings(stage, VIEWER_ALL), ==, 1);
    g_assert_cmpuint(count_standings(stage, USER), ==, 0);
    g_assert_false(service_target_is_visible(stage->target, USER));
    g_unlink(file);
    g_rmdir(directory);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/owner/rules", test_rules);
    return g_test_run();
}
