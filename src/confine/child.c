/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/child.h"

#include "confine/forking.h"
#include "confine/sandbox.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static int
compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

void
child_keep_only(const int *kept, guint n)
{
    g_autofree int *sorted = g_memdup2(kept, n * sizeof(*kept));
    guint next = 0;
    if (n > 0)
        qsort(sorted, n, sizeof(*sorted), compare_ints);
    for (guint i = 0; i < n; i++) {
        if (sorted[i] < 0)
            continue;
        guint fd = (guint)sorted[i];
        if (fd > next)
            forking_close(next, fd - 1);
        next = fd + 1;
    }
    forking_close(next, ~0u);
    forking_child_began();
    sandbox_keep_files(next);
}

gboolean
child_confine(guint64 memory, GError **error)
{
    if (memory != 0)
        sandbox_limit_memory(memory);
    return sandbox_enter(error);
}

int
child_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}
