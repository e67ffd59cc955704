/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/question.h"

#include <string.h>

#define EVIL "x' OR 1=1; DROP TABLE dump -- \\'"

/* What is left of SQL without its string literals, by ClickHouse's rules. */
static char *
without_literals(const char *sql)
{
    GString *rest = g_string_new(NULL);
    gboolean within = FALSE;
    for (const char *at = sql; *at != '\0'; at++)
        if (*at == '\'')
            within = !within;
        else if (within && *at == '\\')
            at++;
        else if (!within)
            g_string_append_c(rest, *at);
    g_assert_false(within);
    return g_string_free(rest, FALSE);
}

static void
test_text_stays_text(void)
{
    static const char *const labels[] = {EVIL "=" EVIL, NULL};
    const FleetFilter plain = {"a", "a", "a", "a", (const char *const[]){"a=a", NULL}};
    const FleetFilter evil = {EVIL, EVIL, EVIL, EVIL, labels};
    static const gint64 times[] = {G_GINT64_CONSTANT(1700000000000000), G_GINT64_CONSTANT(1700003600000000)};
    const FleetMoments moments = {times, G_N_ELEMENTS(times), 300 * G_USEC_PER_SEC};
    const FleetMoment moment = {times[0], moments.window};
    char *const pairs[][2] = {
        {fleet_ask_latest("d", &plain, 1), fleet_ask_latest("d", &evil, 1)},
        {fleet_ask_counts("d", &plain, &moments), fleet_ask_counts("d", &evil, &moments)},
        {fleet_ask_stacks("d", &plain, &moment, FLEET_ALL_VALUES),
         fleet_ask_stacks("d", &evil, &moment, FLEET_ALL_VALUES)},
        {fleet_ask_whole("d", &plain, &moments, FLEET_INUSE_VALUES),
         fleet_ask_whole("d", &evil, &moments, FLEET_INUSE_VALUES)},
        {fleet_ask_names("d", &plain, 0, 1), fleet_ask_names("d", &evil, 0, 1)},
        {fleet_ask_processes("d", &plain, &moment), fleet_ask_processes("d", &evil, &moment)},
        {fleet_ask_function("d", &plain, &moment, FLEET_EXACT, "f"),
         fleet_ask_function("d", &evil, &moment, FLEET_EXACT, EVIL)},
        {fleet_ask_function("d", &plain, &moment, FLEET_WHOLE, "f"),
         fleet_ask_function("d", &evil, &moment, FLEET_WHOLE, EVIL)},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++) {
        g_autofree char *one = without_literals(pairs[i][0]), *other = without_literals(pairs[i][1]);
        g_assert_cmpstr(one, ==, other);
        g_assert_null(strstr(pairs[i][1], "DROP TABLE dump --  '"));
        g_free(pairs[i][0]);
        g_free(pairs[i][1]);
    }
}

static void
test_labels(void)
{
    const FleetFilter good = {.labels = (const char *const[]){"a=b=c", "n=", NULL}};
    const FleetFilter bad = {.labels = (const char *const[]){"a", NULL}};
    g_autoptr(GError) error = NULL;
    g_assert_true(fleet_filter_check(&good, NULL));
    g_assert_false(fleet_filter_check(&bad, &error));
    g_assert_cmpstr(error->message, ==, "a label is NAME=VALUE, not 'a'");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/question/text", test_text_stays_text);
    g_test_add_func("/question/labels", test_labels);
    return g_test_run();
}
