/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the overhead of a confined child in milliseconds: of the first one in a process, as for every report, and of a
 * later one; with "worker", of the first and of a later request to a worker; with "fork", of an unconfined child. */
#include "confine/confined.h"
#include "confine/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int
write_line(gpointer data, GOutputStream *out, GError **error)
{
    return g_output_stream_write_all(out, "x\n", 2, NULL, NULL, error) ? 0 : 1;
}

static gboolean
run_confined(void)
{
    ConfinedResult result;
    gboolean fine = confined_run(&(Confined){.work = write_line}, &result, NULL) == 0;
    close(result.output);
    g_free(result.words);
    return fine;
}

static gsize
answer_nothing(int fd, gconstpointer question, gpointer answer)
{
    return 0;
}

static gboolean
ask_worker(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const WorkerQuestion question = {.answers = answer_nothing, .fd = fd, .data = "", .length = 1};
    char answer[1];
    gboolean fine = worker_ask(&question, answer, sizeof(answer), NULL) == 0;
    close(fd);
    return fine;
}

static gboolean
fork_only(void)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int
main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    gboolean (*once)(void) = strcmp(what, "worker") == 0 ? ask_worker
                             : strcmp(what, "fork") == 0 ? fork_only
                                                         : run_confined;
    gint64 begun = g_get_monotonic_time();
    gboolean fine = once();
    gint64 between = g_get_monotonic_time();
    fine = fine && once();
    printf("%.3f %.3f\n", (gdouble)(between - begun) / 1000, (gdouble)(g_get_monotonic_time() - between) / 1000);
    return fine ? 0 : 1;
}
