/* SPDX-License-Identifier: Apache-2.0 */
/* A process of root's that has taken on the id of a user, as file servers do. */
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
