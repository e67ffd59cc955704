/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process.h"

#include <glib.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define AFTER_NAME " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 "

static void
test_finds_the_start_time(void)
{
    static const char *const stats[] = {
        "42 (redis-server)" AFTER_NAME "815 0 0\n",
        "42 (a b) c)" AFTER_NAME "815 0 0\n",
        "42 ())" AFTER_NAME "815",
        "42 (x\n) 1 2)" AFTER_NAME "815 0\n",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(stats); i++) {
        uint64_t start_time = 0;
        g_assert_true(process_parse_start_time(stats[i], &start_time));
        g_assert_cmpuint(start_time, ==, 815);
    }
}

static void
test_refuses_other_text(void)
{
    static const char *const bad[] = {"",
                                      "42",
                                      "42 (x",
                                      "42 (x) S 1 2",
                                      "42 (x)" AFTER_NAME,
                                      "42 (x)" AFTER_NAME "x",
                                      "42 (x)" AFTER_NAME "99999999999999999999"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        uint64_t start_time = 5;
        g_assert_false(process_parse_start_time(bad[i], &start_time));
        g_assert_cmpuint(start_time, ==, 5);
    }
}

static void
test_identifies_itself(void)
{
    ProcessIdentity identity;
    char name[PROCESS_NAME_MAX];
    process_identify(&identity);
    process_read_name(name);
    g_assert_cmpint(identity.pid, ==, getpid());
    g_assert_cmpuint(identity.start_time, >, 0);
    g_assert_cmpstr(name, ==, "test-agent-proc"); /* cut to the kernel's 15 */
}

static gboolean
permit_all(void)
{
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {.len = G_N_ELEMENTS(code), .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* In a forked child, which keeps its filter; its status is longer than a part if it may set its groups. */
static gboolean
counts_filters(void)
{
    gid_t groups[2000];
    for (size_t i = 0; i < G_N_ELEMENTS(groups); i++)
        groups[i] = (gid_t)(100000 + i);
    if (geteuid() == 0 && setgroups(G_N_ELEMENTS(groups), groups) != 0)
        return FALSE;
    const unsigned before = process_filters(PROCESS_MAIN_THREAD);
    if (!permit_all() || process_filters(PROCESS_MAIN_THREAD) <= before)
        return FALSE;
    const unsigned first = process_filters(PROCESS_MAIN_THREAD);
    return permit_all() && process_filters(PROCESS_MAIN_THREAD) >= first &&
           process_filters(PROCESS_OWN_THREAD) >= first;
}

static void
test_counts_seccomp_filters(void)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0)
        _exit(counts_filters() ? 0 : 1);
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_cmpint(status, ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent/process/finds-the-start-time", test_finds_the_start_time);
    g_test_add_func("/agent/process/refuses-other-text", test_refuses_other_text);
    g_test_add_func("/agent/process/identifies-itself", test_identifies_itself);
    g_test_add_func("/agent/process/counts-seccomp-filters", test_counts_seccomp_filters);
    return g_test_run();
}
