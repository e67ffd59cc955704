/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/replay-ask.h"

#include "confine/death-signal.h"
#include "routes/render.h"
#include "tui/route-ask.h"
#include "wire/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The first byte of the child's output: a body or an error message follows. */
enum {
    WRITES_BODY = '+',
    WRITES_ERROR = '-',
};

struct ReplayAsk {
    guint id;
    pid_t child;
    int descriptor;
    guint source;
    GString *got;
    ReplayAnswer answer;
    gpointer data;
};

/* ---- the host: a target with kept dumps ---- */

static size_t
list_dumps(void *data, RouteDump *rows, size_t n)
{
    const ReplayMoment *moment = data;
    g_autoptr(GArray) dumps = replay_source_dumps(moment->source, moment->target, moment->now_us, NULL);
    size_t count = dumps != NULL ? MIN(n, dumps->len) : 0;
    for (size_t i = 0; i < count; i++)
        rows[i] = g_array_index(dumps, ReplayDump, i).dump;
    return count;
}

static const ReplayDump *
find_dump(const GArray *dumps, uint64_t id)
{
    for (guint i = 0; dumps != NULL && i < dumps->len; i++)
        if (g_array_index(dumps, ReplayDump, i).dump.id == id)
            return &g_array_index(dumps, ReplayDump, i);
    return NULL;
}

/* Includes dumps taken after the moment, since the mark may be one. */
static Outcome
open_dump(void *data, uint64_t id, int *descriptor, Failure *failure)
{
    const ReplayMoment *moment = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) dumps = replay_source_dumps(moment->source, moment->target, G_MAXINT64, &error);
    const ReplayDump *dump = find_dump(dumps, id);
    if (dumps != NULL && dump == NULL)
        return OUTCOME_NOT_FOUND;
    *descriptor = dump != NULL ? replay_source_open_dump(moment->source, dump, &error) : -1;
    if (*descriptor >= 0)
        return OUTCOME_DONE;
    g_strlcpy(failure->why, error->message, sizeof(failure->why));
    return OUTCOME_SYSTEM;
}

static Outcome
render(void *data, const RouteRendering *rendering, int *descriptor, Failure *failure)
{
    const ReplayMoment *moment = data;
    return render_report(&(RenderSetup){.program = RENDER_SELF, .title = moment->target}, rendering, descriptor,
                         failure);
}

static const RouteHostOps host_ops = {.dumps = list_dumps, .dump_open = open_dump, .render = render};

/* ---- the child ---- */

/* Detaches from the terminal, which belongs to the parent. */
static void
leave_terminal(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        dup2(nothing, i);
}

static void G_GNUC_NORETURN
run_child(const ReplayMoment *moment, const ReplayQuestion *question, int descriptor)
{
    g_autoptr(GError) error = NULL;
    /* The name of a target is free text, which a path cannot contain; there is only one target, so "1" names it. */
    g_autoptr(RouteAsk) ask = route_ask_new("1", question->method, question->path);
    const RouteHost host = {.ops = &host_ops, .data = (gpointer)(guintptr)moment};
    leave_terminal();
    g_autofree char *body = route_ask_answer(ask, &host, &error);
    const char *text = body != NULL ? body : error->message;
    /* Failing to write is harmless if the parent does not read any more. */
    gboolean heard = transfer_write(descriptor, (const char[]){body != NULL ? WRITES_BODY : WRITES_ERROR}, 1) &&
                     transfer_write(descriptor, text, strlen(text));
    _exit(heard ? 0 : 1);
}

/* ---- the parent ---- */

static void
free_ask(ReplayAsk *ask)
{
    if (ask->source != 0)
        g_source_remove(ask->source);
    if (ask->child > 0)
        kill(ask->child, SIGKILL);
    while (ask->child > 0 && waitpid(ask->child, NULL, 0) < 0 && errno == EINTR)
        ;
    if (ask->descriptor >= 0)
        close(ask->descriptor);
    g_string_free(ask->got, TRUE);
    g_free(ask);
}

static void
finish(ReplayAsk *ask)
{
    g_autoptr(GError) error = NULL;
    const char *text = ask->got->len > 0 ? ask->got->str + 1 : "the process that makes the report has ended";
    gboolean ok = ask->got->len > 0 && ask->got->str[0] == WRITES_BODY;
    if (!ok)
        g_set_error_literal(&error, HISTORY_ERROR, HISTORY_ERROR_FAILED, text);
    ask->answer(ask->id, ok ? text : NULL, error, ask->data);
    free_ask(ask);
}

static gboolean
on_bytes(gint descriptor, GIOCondition condition, gpointer data)
{
    ReplayAsk *ask = data;
    char bytes[65536];
    ssize_t n = read(descriptor, bytes, sizeof(bytes));
    if (n > 0)
        g_string_append_len(ask->got, bytes, n);
    if (n > 0 || (n < 0 && errno == EINTR))
        return G_SOURCE_CONTINUE;
    ask->source = 0;
    finish(ask);
    return G_SOURCE_REMOVE;
}

static gboolean
on_failure(gpointer data)
{
    ReplayAsk *ask = data;
    ask->source = 0;
    finish(ask);
    return G_SOURCE_REMOVE;
}

ReplayAsk *
replay_ask(const ReplayMoment *moment, const ReplayQuestion *question, ReplayAnswer answer, gpointer data)
{
    int ends[2] = {-1, -1};
    const pid_t self = getpid();
    ReplayAsk *ask = g_new0(ReplayAsk, 1);
    *ask = (ReplayAsk){.id = question->id, .child = -1, .got = g_string_new(NULL), .answer = answer, .data = data};
    if (pipe2(ends, O_CLOEXEC) == 0)
        ask->child = fork();
    if (ask->child == 0) {
        death_signal_bind(self);
        run_child(moment, question, ends[1]);
    }
    ask->descriptor = ends[0];
    if (ends[1] >= 0)
        close(ends[1]);
    ask->source = ask->child > 0 ? g_unix_fd_add(ends[0], G_IO_IN | G_IO_HUP | G_IO_ERR, on_bytes, ask)
                                 : g_idle_add(on_failure, ask);
    return ask;
}

guint
replay_ask_id(const ReplayAsk *ask)
{
    return ask->id;
}

void
replay_ask_cancel(gpointer ask)
{
    free_ask(ask);
}
