/* SPDX-License-Identifier: Apache-2.0 */
#include "report/layout.h"

#include "confine/death-signal.h"
#include "confine/sandbox.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <graphviz/gvc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LAYOUT_SECONDS = 60,
    LAYOUT_CHUNK = 64 * 1024,
};

/* In addition to the memory already mapped. */
#define LAYOUT_MEMORY (G_GUINT64_CONSTANT(2) << 30)

/* An SVG of the largest supported graph is a few MiB. */
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

/* A helper that waits for a graph. It has loaded its engine and dropped all other privileges. */
typedef struct {
    pid_t maker; /* the process that started it, and waits for it */
    pid_t pid;
    int graph;   /* input: DOT */
    int drawing; /* output: SVG, then one LayoutStatus */
} Helper;

static Helper started = {.graph = -1, .drawing = -1};

/* Plugins and the font are found and loaded by the first layout. */
static GVC_t *
load_engine(FILE *nowhere)
{
    GVC_t *context = gvContext();
    Agraph_t *graph = agmemread("digraph { a [label=\"b\" fontname=\"" LAYOUT_FONT "\"]; a -> a }");

    if (!context || !graph || gvLayout(context, graph, "dot") != 0 || gvRender(context, graph, "svg", nowhere) != 0)
        return NULL;
    gvFreeLayout(context, graph);
    agclose(graph);
    return context;
}

static LayoutStatus
draw(GVC_t *context, const char *dot, FILE *out)
{
    Agraph_t *graph = agmemread(dot);

    if (!graph)
        return LAYOUT_BAD_GRAPH;
    if (gvLayout(context, graph, "dot") != 0)
        return LAYOUT_NO_ENGINE;
    return gvRender(context, graph, "svg", out) == 0 && fflush(out) == 0 ? LAYOUT_DONE : LAYOUT_NO_OUTPUT;
}

/* It is preceded by its size in 8 bytes, since other processes also have the pipe open. NULL: incomplete. */
static char *
read_graph(int fd)
{
    guint64 size = 0;
    gsize got = 0;
    char *dot = NULL;
    gssize n = read(fd, &size, sizeof(size));

    if (n != sizeof(size) || size > LAYOUT_MAX_OUTPUT)
        return NULL;
    dot = g_malloc0(size + 1);
    while (got < size && ((n = read(fd, dot + got, size - got)) > 0 || (n < 0 && errno == EINTR)))
        got += n > 0 ? (gsize)n : 0;
    return dot;
}

static LayoutStatus
work(int graph, FILE *out, int null)
{
    GVC_t *context = load_engine(fdopen(null, "w"));

    if (!context)
        return LAYOUT_NO_ENGINE;
    char *dot = sandbox_enter(NULL) ? read_graph(graph) : NULL;
    return dot ? draw(context, dot, out) : LAYOUT_NO_OUTPUT;
}

/* The main function of the child, which frees nothing before it exits. */
static void G_GNUC_NORETURN
run_child(int graph, int drawing, rlim_t memory, pid_t parent)
{
    int null = open("/dev/null", O_RDWR);
    FILE *out = fdopen(drawing, "w");
    guint8 status = LAYOUT_NO_OUTPUT;

    death_signal_bind(parent);
    if (null < 0 || !out)
        _exit(LAYOUT_NO_OUTPUT);
    dup2(null, STDIN_FILENO);
    dup2(null, STDERR_FILENO);
    signal(SIGPIPE, SIG_DFL);
    if (sandbox_is_complete())
        limit(RLIMIT_AS, memory);
    limit(RLIMIT_CPU, LAYOUT_SECONDS);
    limit(RLIMIT_CORE, 0);
    status = (guint8)work(graph, out, null);
    fwrite(&status, 1, 1, out);
    fclose(out);
    _exit(0);
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

static void
set_error(GError **error, gboolean in_time, LayoutStatus status)
{
    static const char *const failures[] = {
        [LAYOUT_BAD_GRAPH] = "cannot read the graph",
        [LAYOUT_NO_ENGINE] = "cannot load a layout engine; see dot -c",
        [LAYOUT_NO_OUTPUT] = "ended early, possibly because memory ran out",
    };
    g_autofree char *why = NULL;

    if (!in_time)
        why = g_strdup_printf("took over %d seconds or %u MiB of output", LAYOUT_SECONDS, LAYOUT_MAX_OUTPUT >> 20);
    else
        why = g_strdup(failures[status < G_N_ELEMENTS(failures) && failures[status] ? status : LAYOUT_NO_OUTPUT]);
    g_set_error(error, REPORT_ERROR, REPORT_ERROR_LAYOUT,
                "Graphviz %s; write DOT instead (-o FILE.dot), or show fewer nodes with -n", why);
}

gboolean
layout_start(GError **error)
{
    rlim_t memory = (rlim_t)(mapped_now() + LAYOUT_MEMORY);
    int graph[2] = {-1, -1}, drawing[2] = {-1, -1};
    pid_t self = getpid();
    pid_t child;

    if (pipe2(graph, O_CLOEXEC) != 0 || pipe2(drawing, O_CLOEXEC) != 0 || (child = fork()) < 0) {
        g_set_error(error, REPORT_ERROR, REPORT_ERROR_LAYOUT, "cannot start a process for Graphviz: %s",
                    g_strerror(errno));
        return FALSE;
    }
    if (child == 0) {
        close(graph[1]);
        close(drawing[0]);
        run_child(graph[0], drawing[1], memory, self);
    }
    close(graph[0]);
    close(drawing[1]);
    started = (Helper){self, child, graph[1], drawing[0]};
    return TRUE;
}

void
layout_descriptors(int descriptors[static 2])
{
    descriptors[0] = started.graph;
    descriptors[1] = started.drawing;
}

void
layout_stop(void)
{
    if (started.pid == 0)
        return;
    if (started.graph >= 0)
        close(started.graph);
    if (started.drawing >= 0)
        close(started.drawing);
    if (started.maker == getpid()) {
        kill(started.pid, SIGKILL);
        while (waitpid(started.pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    started = (Helper){.graph = -1, .drawing = -1};
}

/* If the helper has already ended, its status gives the reason. */
static void
send_graph(const char *dot)
{
    guint64 left = strlen(dot);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before);
    if (write(started.graph, &left, sizeof(left)) != sizeof(left))
        left = 0;

    for (gssize n; left > 0 && ((n = write(started.graph, dot, left)) > 0 || errno == EINTR);)
        if (n > 0) {
            dot += n;
            left -= (gsize)n;
        }
    close(started.graph);
    started.graph = -1;
    sigaction(SIGPIPE, &before, NULL);
}

GBytes *
layout_svg(const char *dot, GError **error)
{
    g_autoptr(GByteArray) output = g_byte_array_new();
    LayoutStatus status = LAYOUT_NO_OUTPUT;
    gboolean in_time;

    if (started.graph < 0 && !layout_start(error))
        return NULL;
    send_graph(dot);
    in_time = read_all(started.drawing, output);
    if (in_time && output->len > 0) {
        status = output->data[output->len - 1];
        g_byte_array_set_size(output, output->len - 1);
    }
    layout_stop();
    if (!in_time || status != LAYOUT_DONE) {
        set_error(error, in_time, status);
        return NULL;
    }
    return g_byte_array_free_to_bytes(g_steal_pointer(&output));
}
