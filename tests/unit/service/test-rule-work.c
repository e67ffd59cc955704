/* SPDX-License-Identifier: Apache-2.0 */
#include "acting-agent.h"

#include "service/rule-work.h"

#include "rules/file.h"

#include <string.h>

static const char text[] = "[holds]\nwhen = held above 1GiB\ndo = dump; run /bin/sleep 60\n"
                           "[dumps]\nwhen = held above 1GiB\ndo = dump\n";

typedef struct {
    guint failed;
    guint64 bytes;
    gboolean done;
} End;

static void
on_done(const RuleOutcome *outcome, gpointer data)
{
    *(End *)data = (End){outcome->failed, outcome->bytes, TRUE};
}

static void
note_dump(const ServiceEvent *event, gpointer data)
{
    *(gboolean *)data = *(gboolean *)data || event->type == SERVICE_EVENT_DUMP;
}

/* The dumps of several firings count together, and what is not held is kept all the same. */
static void
test_bytes_of_a_user(void)
{
    ServiceOptions options = service_options_default;
    options.every_us = 0;
    g_autoptr(Stage) stage = stage_new(&options);
    g_autoptr(GPtrArray) rules = rules_new();
    g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
    End end = {0};
    gboolean dumped = FALSE;
    rules_file_parse("any.rules", text, strlen(text), rules, problems);
    g_assert_cmpuint(problems->len, ==, 0);
    RuleWorks *works = rule_works_new(stage->service, on_done, &end);
    rule_works_begin(works, rules->pdata[1], stage->target, "the test");
    stage_wait(&end.done);
    g_assert_cmpuint(end.failed, ==, 0);
    stage->service->options.limits.rule_bytes = end.bytes * 3 / 2; /* of one dump and not of two */
    guint subscription = service_subscribe(stage->service, 0, note_dump, &dumped);
    rule_works_begin(works, rules->pdata[0], stage->target, "the test");
    stage_wait(&dumped);
    service_unsubscribe(stage->service, subscription);
    end.done = FALSE;
    rule_works_begin(works, rules->pdata[1], stage->target, "the test");
    stage_wait(&end.done);
    g_assert_cmpuint(end.failed, ==, 1);
    g_assert_cmpuint(stage_get(stage, &stage->acting.dumps), ==, 3);
    rule_works_close(works);
    rule_works_free(works);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/rule-work/bytes-of-a-user", test_bytes_of_a_user);
    return g_test_run();
}
