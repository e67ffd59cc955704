/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/outcome.h"

#include <errno.h>
#include <glib.h>

static void
test_statuses_of_agents(void)
{
    static const struct {
        WireStatus status;
        Outcome outcome;
    } pairs[] = {
        {WIRE_STATUS_OK, OUTCOME_DONE},
        {WIRE_STATUS_UNKNOWN_OP, OUTCOME_PROTOCOL},
        {WIRE_STATUS_BAD_MESSAGE, OUTCOME_PROTOCOL},
        {WIRE_STATUS_BAD_VERSION, OUTCOME_PROTOCOL},
        {WIRE_STATUS_NOT_ALLOWED, OUTCOME_NOT_ALLOWED},
        {WIRE_STATUS_PROF_DISABLED, OUTCOME_NO_PROFILING},
        {WIRE_STATUS_CONTROL_FAILED, OUTCOME_CONTROL_FAILED},
        {WIRE_STATUS_BAD_DESCRIPTOR, OUTCOME_PROTOCOL},
        {WIRE_STATUS_BUSY, OUTCOME_BUSY},
        {WIRE_STATUS_NO_LEASE, OUTCOME_NOT_FOUND},
        {WIRE_STATUS_WRITE_FAILED, OUTCOME_SYSTEM},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++)
        g_assert_cmpint(outcome_of_status(pairs[i].status), ==, pairs[i].outcome);
    g_assert_cmpint(outcome_of_status(WIRE_STATUS_WRITE_FAILED + 1), ==, OUTCOME_PROTOCOL);
    g_assert_cmpint(outcome_of_status(G_MAXUINT32), ==, OUTCOME_PROTOCOL);
}

static void
test_rows(void)
{
    for (unsigned i = 0; i < N_OUTCOMES; i++) {
        const OutcomeRow *row = outcome_row(i);
        g_assert_true(i == OUTCOME_DONE ? row->http == 200 && row->exit == 0 : row->http >= 400 && row->exit > 0);
        g_assert_true(row->code[0] != '\0' && row->hint[0] != '\0');
        g_assert_cmpint(outcome_is_unreachable(i), ==, row->http == 503);
    }
    g_assert_cmpuint(outcome_row(OUTCOME_BUSY)->http, ==, 409);
    g_assert_cmpint(outcome_row(OUTCOME_INVALID)->exit, ==, 2);
    g_assert_true(outcome_row(N_OUTCOMES) == outcome_row(OUTCOME_SYSTEM));
    g_assert_true(outcome_row(G_MAXUINT) == outcome_row(OUTCOME_SYSTEM));
}

static void
test_sentences(void)
{
    Failure failure = {.error = 7};
    errno = ERANGE;
    g_assert_cmpint(failure_set(&failure, OUTCOME_GONE, "%s has ended", "it"), ==, OUTCOME_GONE);
    g_assert_cmpstr(failure.why, ==, "it has ended");
    g_assert_cmpint(failure.error, ==, 0);
    g_assert_cmpint(failure_set_error(&failure, OUTCOME_SYSTEM, ENOENT, "cannot read %s", "/x"), ==, OUTCOME_SYSTEM);
    g_assert_cmpstr(failure.why, ==, "cannot read /x: No such file or directory");
    g_assert_cmpint(failure.error, ==, ENOENT);
    g_assert_cmpint(failure_set(NULL, OUTCOME_GONE, "unseen"), ==, OUTCOME_GONE);
    g_assert_cmpint(failure_set_error(NULL, OUTCOME_SYSTEM, ENOENT, "unseen"), ==, OUTCOME_SYSTEM);
    g_assert_cmpint(errno, ==, ERANGE);
    g_assert_cmpstr(error_name(-1), ==, "Unknown error");
}

/* The reason must fit, however long the sentence before it. */
static void
test_long_sentences(void)
{
    Failure failure;
    g_autofree char *name = g_strnfill(2 * FAILURE_WHY_MAX, 'x');
    failure_set_error(&failure, OUTCOME_SYSTEM, ENOENT, "cannot read %s", name);
    g_assert_cmpuint(strlen(failure.why), ==, FAILURE_WHY_MAX - 1);
}

static void
test_busy(void)
{
    static const struct {
        guint64 remaining_ms;
        const char *why;
    } cases[] = {
        {0, "x (7) is already being profiled; end that first with 'jescope disable 7'"},
        {1, "x (7) is already being profiled, for another 1 s; wait, or end that with 'jescope disable 7'"},
        {20000, "x (7) is already being profiled, for another 20 s; wait, or end that with 'jescope disable 7'"},
        {61000, "x (7) is already being profiled, for another 2 min; wait, or end that with 'jescope disable 7'"},
        {7200000, "x (7) is already being profiled, for another 2 h; wait, or end that with 'jescope disable 7'"},
        {86399000, "x (7) is already being profiled, for another 1 d; wait, or end that with 'jescope disable 7'"},
    };
    char why[FAILURE_WHY_MAX];
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        outcome_describe_busy(why, "x (7)", "7", cases[i].remaining_ms);
        g_assert_cmpstr(why, ==, cases[i].why);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/outcome/statuses-of-agents", test_statuses_of_agents);
    g_test_add_func("/outcome/rows", test_rows);
    g_test_add_func("/outcome/sentences", test_sentences);
    g_test_add_func("/outcome/long-sentences", test_long_sentences);
    g_test_add_func("/outcome/busy", test_busy);
    return g_test_run();
}
