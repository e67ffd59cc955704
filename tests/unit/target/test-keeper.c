/* SPDX-License-Identifier: Apache-2.0 */
#include "target/keeper.h"

#include "target/target.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STUCK "--stuck"

/* The target holds its keeper up, which is ending a lease. */
static void
test_stuck(void)
{
    enum { LONGEST_S = 30 };
    const KeptLease lease = {.pid = getpid()};
    g_autoptr(GError) error = NULL;
    const gint64 begun = g_get_monotonic_time();
    target_set_keeper("/proc/self/exe", STUCK);
    Keeper *keeper = keeper_start(&lease, &error);
    g_assert_no_error(error);
    g_assert_nonnull(keeper);
    keeper_dismiss(keeper, KEEPER_DONE);
    g_assert_cmpint(g_get_monotonic_time() - begun, <, LONGEST_S * G_USEC_PER_SEC);
    g_assert_cmpint(waitpid(-1, NULL, 0), >, 0); /* it was killed */
}

int
main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], STUCK) == 0)
        for (;;)
            pause();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/keeper/stuck", test_stuck);
    return g_test_run();
}
