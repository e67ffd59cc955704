/* SPDX-License-Identifier: Apache-2.0 */
#include "report/layout.h"

#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <graphviz/gvc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LAYOUT_SECONDS = 60,
    LAYOUT_CHUNK = 64 * 1024,
};

/* On top of what the process has mapped already. */
#define LAYOUT_MEMORY (G_GUINT64_CONSTANT(2) << 30)

/* An SVG of the largest graph we make is a few MiB. */
#define LAYOUT_MAX_OUTPUT (64u << 20)

typedef enum {
    LAYOUT_DONE,
    LAYOUT_BAD_GRAPH,
    LAYOUT_NO_ENGINE,
    LAYOUT_NO_OUTPUT,
} LayoutStatus;

static guint64
mapped_now(void)
{
    g_autofree char *statm = NULL;

    if (!g_file_get_contents("/proc/self/statm", &statm, NULL, NULL))
        return 0;
    return g_ascii_strtoull(statm, NULL, 10) * (guint64)sysconf(_SC_PAGESIZE);
}

static void
limit(int resource, rlim_t most)
{
    struct rlimit now;

    if (getrlimit(resource, &now) != 0)
        return;
    now.rlim_cur = MIN(most, now.rlim_max);
    setrlimit(resource, &now);
}

static LayoutStatus
draw(const char *dot, FILE *out)
{
    GVC_t *context = gvContext();
    Agraph_t *graph = agmemread(dot);

    if (!graph)
        return LAYOUT_BAD_GRAPH;
    if (!context || gvLayout(context, graph, "dot") != 0)
        return LAYOUT_NO_ENGINE;
    if (gvRender(context, graph, "svg", out) != 0 || fclose(out) != 0)
        return LAYOUT_NO_OUTPUT;
    return LAYOUT_DONE;
}

/* The child. Nothing is freed: it ends here. */
static void G_GNUC_NORETURN
run_child(const char *dot, int fd, rlim_t memory, pid_t parent)
{
    int null = open("/dev/null", O_RDWR);
    FILE *out = fdopen(fd, "w");

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || null < 0 || !out)
        _exit(LAYOUT_NO_OUTPUT);
    dup2(null, STDIN_FILENO);
    dup2(null, STDERR_FILENO);
    signal(SIGPIPE, SIG_DFL);
    limit(RLIMIT_AS, memory);
    limit(RLIMIT_CPU, LAYOUT_SECONDS);
    limit(RLIMIT_CORE, 0);
    _exit(draw(dot, out));
}

/* Reads until the end of output; FALSE: too slow or too much. */
static gboolean
read_all(int fd, GByteArray *output)
{
    gint64 deadline = g_get_monotonic_time() + LAYOUT_SECONDS * G_USEC_PER_SEC;
    g_autofree guint8 *chunk = g_malloc(LAYOUT_CHUNK);

    for (;;) {
        gint64 left = deadline - g_get_monotonic_time();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        gssize n;
        if (left <= 0 || output->len > LAYOUT_MAX_OUTPUT)
            return FALSE;
        if (poll(&ready, 1, (int)(left / 1000) + 1) <= 0)
            continue;
        n = read(fd, chunk, LAYOUT_CHUNK);
        if (n == 0)
            return TRUE;
        if (n < 0 && errno != EINTR)
            return FALSE;
        if (n > 0)
            g_byte_array_append(output, chunk, (guint)n);
    }
}

static int
wait_for(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

static void
set_error(GError **error, gboolean in_time, int status)
{
    g_autofree char *why = NULL;

    if (!in_time)
        why = g_strdup_printf("took over %d seconds or %u MiB of output", LAYOUT_SECONDS, LAYOUT_MAX_OUTPUT >> 20);
    else if (WIFSIGNALED(status))
        why = g_strdup_printf("ended by signal %d, perhaps for want of memory", WTERMSIG(status));
    else
        why = g_strdup_printf("failed (%s)", WEXITSTATUS(status) == LAYOUT_NO_ENGINE
                                                 ? "its layout engine does not load; see dot -c"
                                                 : "it does not take the graph");
    g_set_error(error, REPORT_ERROR, REPORT_ERROR_LAYOUT,
                "Graphviz %s; write DOT instead (-o FILE.dot), or show fewer nodes with -n", why);
}

GBytes *
layout_svg(const char *dot, GError **error)
{
    g_autoptr(GByteArray) output = g_byte_array_new();
    rlim_t memory = (rlim_t)(mapped_now() + LAYOUT_MEMORY);
    pid_t self = getpid();
    gboolean in_time;
    pid_t child;
    int pipe_ends[2];
    int status;

    if (pipe2(pipe_ends, O_CLOEXEC) != 0 || (child = fork()) < 0) {
        g_set_error(error, REPORT_ERROR, REPORT_ERROR_LAYOUT, "cannot start a process for Graphviz: %s",
                    g_strerror(errno));
        return NULL;
    }
    if (child == 0)
        run_child(dot, pipe_ends[1], memory, self);
    close(pipe_ends[1]);
    in_time = read_all(pipe_ends[0], output);
    close(pipe_ends[0]);
    if (!in_time)
        kill(child, SIGKILL);
    status = wait_for(child);
    if (!in_time || !WIFEXITED(status) || WEXITSTATUS(status) != LAYOUT_DONE) {
        set_error(error, in_time, status);
        return NULL;
    }
    return g_byte_array_free_to_bytes(g_steal_pointer(&output));
}
