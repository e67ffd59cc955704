/* SPDX-License-Identifier: Apache-2.0 */
/* A library to preload: its fork handler runs before that of a jemalloc in the program, and takes long without running
 * or sleeping, as on a machine whose processors are busy with others. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LATE_US = 300 * 1000 };

static void
be_late(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        usleep(LATE_US);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

__attribute__((constructor)) static void
begin(void)
{
    pthread_atfork(NULL, NULL, be_late);
}
