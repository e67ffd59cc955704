/* SPDX-License-Identifier: Apache-2.0 */
/* A process that passes its agent's socket on to another one, and ends while it is asked: the answer comes when its
 * series is over. */
#include "acting-agent.h"

#include "service/live.h"

#include <glib/gstdio.h>
#include <string.h>

static const char series[] = "ended";

static void
hand_remark(Stage *stage, RemarkKind kind, ServiceTarget *target)
{
    const CollectedRemark remark = {.kind = kind, .series = series, .text = "no answer", .target = target};
    service_hand_remark(stage->service, &remark);
}

static void
end_target(Stage *stage)
{
    live_set_gone(stage->target);
    hand_remark(stage, REMARK_OVER, NULL);
}

/* Of which there is a state for a rule. */
static guint
count_series(Stage *stage)
{
    g_autoptr(GArray) counts = service_rule_counts(stage->service);
    guint n = 0;
    g_assert_cmpuint(counts->len, ==, 1);
    for (guint state = 0; state < RULE_STATES; state++)
        n += g_array_index(counts, RuleCount, 0).series[state];
    return n;
}

static void
test_rules(void)
{
    g_autofree char *directory = g_dir_make_tmp("jescope-late-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(directory, "any.rules", NULL);
    g_assert_true(g_file_set_contents(file, "[any]\nwhen = allocated above 1GiB\ndo = log\n", -1, NULL));
    ServiceOptions options = service_options_default;
    options.rules = directory;
    options.every_us = 0;
    g_autoptr(Stage) stage = stage_new(&options);
    stage_hand_sample(stage, series);
    g_assert_cmpuint(count_series(stage), ==, 1);
    end_target(stage);
    g_assert_cmpuint(count_series(stage), ==, 0);
    stage_hand_sample(stage, series);
    g_assert_cmpuint(count_series(stage), ==, 0);
    g_unlink(file);
    g_rmdir(directory);
}

static void
count_message(const char *text, gpointer data)
{
    *(guint *)data += strstr(text, "no answer") != NULL;
}

static guint
count_said(const guint *said)
{
    while (g_main_context_iteration(NULL, FALSE))
        continue;
    return *said;
}

static void
test_missing(void)
{
    guint said = 0;
    ServiceOptions options = service_options_default;
    options.every_us = 0;
    options.say = count_message;
    options.data = &said;
    g_autoptr(Stage) stage = stage_new(&options);
    hand_remark(stage, REMARK_MISSING, stage->target);
    hand_remark(stage, REMARK_MISSING, stage->target);
    g_assert_cmpuint(count_said(&said), ==, 1);
    end_target(stage);
    hand_remark(stage, REMARK_MISSING, stage->target);
    g_assert_cmpuint(count_said(&said), ==, 1);
    /* Of the next process. */
    hand_remark(stage, REMARK_MISSING, NULL);
    g_assert_cmpuint(count_said(&said), ==, 2);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/late-answer/rules", test_rules);
    g_test_add_func("/service/late-answer/missing", test_missing);
    return g_test_run();
}
