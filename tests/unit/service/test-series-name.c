/* SPDX-License-Identifier: Apache-2.0 */
#include "service/series-name.h"

enum {
    USER = 65533,
    NAMESAKE = 65532,
};

static const char series[] = "service";

static char *
choose(SharedHistory *history, uid_t user)
{
    g_autoptr(GHashTable) taken = g_hash_table_new(g_str_hash, g_str_equal); /* sources keep others from their series */
    g_autoptr(GError) error = NULL;
    g_hash_table_add(taken, (char *)(guintptr)series);
    Identity *identity = identity_of(user, "", "/usr/bin/server");
    const ScanFound found = {.process = {.pid = 1, .uids = {user, user, user}, .name = "server"},
                             .series = (char *)(guintptr)series,
                             .identity = identity};
    char *name = series_name_choose(history, taken, &found, &error);
    g_assert_no_error(error);
    identity_free(identity);
    return name;
}

static gint64
user_of_series(SharedHistory *history)
{
    g_autoptr(HistoryHold) hold = shared_history_hold(history);
    return history_user(hold->history, series);
}

/* Users share the space of a history, and the writers of logs have a share of their own: none must take the place of a
 * process that was named by its pid. */
static void
test_named_by_pid(void)
{
    const HistoryRules rules = {0};
    g_autoptr(GError) error = NULL;
    SharedHistory *history = shared_history_new(NULL, &rules, &error);
    g_assert_no_error(error);
    g_autofree char *name = choose(history, USER);
    g_assert_cmpstr(name, ==, series);
    g_assert_cmpint(user_of_series(history), ==, USER);
    /* The operator decides what is in a series, but it stays with whom it belongs to. */
    g_autofree char *again = choose(history, NAMESAKE);
    g_assert_cmpstr(again, ==, series);
    g_assert_cmpint(user_of_series(history), ==, USER);
    shared_history_free(history);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/series-name/named-by-pid", test_named_by_pid);
    return g_test_run();
}
