/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/family.h"

#include "target/candidates.h"

#include <unistd.h>

enum { SERVICE = 1001, WORKER = 1002, OTHER = 1003, TOP = 4000001, BETWEEN, BELOW, NONE /* above all pids */ };

static void
add(GArray *all, pid_t pid, pid_t parent, uid_t user)
{
    const Process process = {.pid = pid, .parent = parent, .uids = {user, user, user}, .start_time = 1};
    g_array_append_val(all, process);
}

/* The user above the last process of ALL, of which the first and the last were found. */
static uid_t
user_above(const GArray *all)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < all->len; i += MAX(all->len - 1, 1)) {
        Candidate *candidate = g_new0(Candidate, 1);
        candidate->process = g_array_index(all, Process, i);
        g_ptr_array_add(found, candidate);
    }
    g_autoptr(GArray) users = families_users(found, all);
    g_assert_cmpuint(users->len, ==, found->len);
    return g_array_index(users, uid_t, users->len - 1);
}

/* One between them was not found, since it does not use jemalloc. */
static void
test_worker(void)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Process));
    add(all, TOP, 1, SERVICE);
    add(all, BETWEEN, TOP, OTHER);
    add(all, BELOW, BETWEEN, WORKER);
    g_assert_cmpuint(user_above(all), ==, SERVICE);
}

static void
test_parent_has_ended(void)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Process));
    add(all, BELOW, NONE, WORKER);
    g_assert_cmpuint(user_above(all), ==, WORKER);
}

/* The process that runs the test is there, but not in the list. */
static void
test_parent_is_not_listed(void)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Process));
    add(all, BELOW, getpid(), WORKER);
    g_assert_cmpuint(user_above(all), ==, (uid_t)-1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cli/family/worker", test_worker);
    g_test_add_func("/cli/family/parent-has-ended", test_parent_has_ended);
    g_test_add_func("/cli/family/parent-is-not-listed", test_parent_is_not_listed);
    return g_test_run();
}
