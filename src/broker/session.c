/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/session.h"

#include "confine/aside.h"
#include "confine/channel.h"
#include "confine/death-signal.h"
#include "confine/rights.h"
#include "routes/render.h"
#include "service/scan.h"
#include "target/agent-connect.h"
#include "target/candidates.h"
#include "target/discovery.h"
#include "target/open.h"
#include "target/own-dump.h"
#include "target/process-change.h"
#include "target/proxy.h"
#include "target/reach.h"
#include "wire/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OPTIONS_MAX = 64,
    END_MS = 1000, /* time to end for what a report has left */
    END_STEP_MS = 20,
};

/* ---- what is left ---- */

/* The broker sees it in the kernel's table of processes. */
static void
session_linger(void)
{
    setpgid(0, 0);
}

gboolean
session_lingers(pid_t session)
{
    return getpgid(session) == session;
}

/* ---- policy ---- */

static gboolean
is_named(const char *name, const Session *session)
{
    const char *address = session->request->text;
    if (strchr(name, ':') != NULL)
        return strcmp(name, address) == 0;
    g_autofree char *pid = g_strdup_printf("%d", (int)session->process.pid);
    if (strcmp(address, pid) != 0)
        return FALSE;
    return strspn(name, "0123456789") == strlen(name) ? strcmp(name, pid) == 0
                                                      : process_goes_by(&session->process, name);
}

static gboolean
may_be_opened(const Session *session)
{
    for (char **name = session->policy->targets; name != NULL && *name != NULL; name++)
        if (is_named(*name, session))
            return TRUE;
    return FALSE;
}

/* Permits the variable of Mesos' endpoints (routes/mesos.c) and those that the operator has named; no other variable is
 * returned. */
static gboolean
is_known_variable(const char *name, const BrokerPolicy *policy)
{
    if (policy->variables != NULL && g_strv_contains((const char *const *)policy->variables, name))
        return TRUE;
    return strcmp(name, "LIBPROCESS_MEMORY_PROFILING") == 0 || g_str_has_suffix(name, "MALLOC_CONF");
}

/* Whether the path is the socket of this process's agent: another daemon of root might treat a connection as one of
 * root. */
static gboolean
is_agents_socket(const Session *session)
{
    g_autofree char *name = discovery_socket_name(&session->process);
    g_autofree char *last = g_path_get_basename(session->request->text);
    return strcmp(last, name) == 0;
}

/* What a file of /proc shows may depend on who opens it. */
static gboolean
is_of_proc(int fd)
{
    struct statfs status;
    return fstatfs(fd, &status) != 0 || status.f_type == PROC_SUPER_MAGIC;
}

/* Checks the request's descriptors, which root opens again: they must already be readable, and files, since opening a
 * FIFO may block forever. */
static gboolean
are_readable(const int *fds, guint n)
{
    for (guint i = 0; i < n; i++) {
        struct stat st;
        int flags = fcntl(fds[i], F_GETFL);
        if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY || fstat(fds[i], &st) != 0 ||
            !S_ISREG(st.st_mode) || is_of_proc(fds[i]))
            return FALSE;
    }
    return TRUE;
}

int
session_check(const Session *session)
{
    const BrokerRequest *request = session->request;
    gboolean granted = TRUE;
    if (!are_readable(session->fds, session->n_fds))
        return EBADF;
    if (request->kind == BROKER_VARIABLE)
        granted = is_known_variable(request->text, session->policy);
    else if (request->kind == BROKER_CONNECT)
        granted = is_agents_socket(session);
    else if (request->kind == BROKER_RENDER)
        granted = broker_check_rendering(request->text, session->policy->source);
    else if (request->kind == BROKER_GROWTH)
        granted = broker_check_growth(request->text, session->n_fds);
    return granted ? 0 : EPERM;
}

/* ---- sessions with one answer ---- */

static void
answer(int socket, int error, int fd)
{
    g_autofree BrokerResult *result = g_new0(BrokerResult, 1);
    ChannelMessage message = {.bytes = result, .size = sizeof(*result)};
    result->error = error;
    if (fd >= 0)
        message.fds[message.n_fds++] = fd;
    channel_send(socket, &message);
}

static int
open_of_memory(int directory, const BrokerRequest *request)
{
    char path[64];
    g_snprintf(path, sizeof(path), "task/%d/%s", (int)process_thread((pid_t)request->pid),
               reach_file_name((ReachFile)request->detail));
    return openat(directory, path, O_RDONLY | O_CLOEXEC);
}

/* The open directory belongs to one process: if its pid is reused, nothing of the new process can be opened through
 * it. */
static int
open_file(const Session *session)
{
    const BrokerRequest *request = session->request;
    char path[32];
    g_snprintf(path, sizeof(path), "/proc/%d", (int)request->pid);
    errno = 0; /* stays so if the pid is another process's */
    int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), file = -1;
    if (directory >= 0 && process_start_time(request->pid) == request->start_time)
        file = open_of_memory(directory, request);
    else if (!process_is_shortage(errno))
        errno = ESRCH;
    int error = file >= 0 ? process_change_check_in(directory, &session->process) : errno;
    if (directory >= 0)
        close(directory);
    if (error != 0 && file >= 0)
        close(file);
    errno = error;
    return error == 0 ? file : -1;
}

/* A process that locks its own memory map delays this session, and not the server. */
static void
run_open(const Session *session, int socket)
{
    int from = open_file(session);
    int to = from >= 0 ? memfd_create("jescope-proc", MFD_CLOEXEC) : -1;
    gboolean copied = to >= 0 && transfer_copy(from, to, REACH_FILE_MAX) && lseek(to, 0, SEEK_SET) == 0;
    int error = copied ? process_change_check(&session->process) : errno;
    answer(socket, error, error == 0 ? to : -1);
}

/* Whether process PID listens at the other end, as the kernel reports. */
static gboolean
is_answered_by(int fd, pid_t pid)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == pid;
}

static void
run_connect(const Session *session, int socket)
{
    int fd = agent_connect(&session->process, session->request->text);
    if (fd < 0)
        answer(socket, errno, -1);
    else if (!is_answered_by(fd, session->process.pid))
        answer(socket, EPERM, -1);
    else
        answer(socket, 0, fd);
}

static void
run_variable(const Session *session, int socket)
{
    g_autofree BrokerResult *result = g_new0(BrokerResult, 1);
    const ChannelMessage message = {.bytes = result, .size = sizeof(*result)};
    g_autofree char *value = process_variable(session->process.pid, session->request->text);
    result->present = value != NULL;
    result->error = process_change_check(&session->process);
    if (result->error == 0 && value != NULL &&
        g_strlcpy(result->value, value, sizeof(result->value)) >= sizeof(result->value))
        result->error = E2BIG;
    channel_send(socket, &message);
}

static gboolean
is_set_up_with(pid_t pid, const char *prefix)
{
    g_autofree char *conf = process_variable_ending(pid, "MALLOC_CONF");
    g_auto(GStrv) options = g_strsplit(conf != NULL ? conf : "", ",", -1);
    g_autofree char *option = g_strconcat("prof_prefix:", prefix, NULL);
    return g_strv_contains((const char *const *)options, option);
}

/* Whether the agent of the process listens, on a socket that only root can create. */
static gboolean
has_agent(const Session *session)
{
    const Process *process = &session->process;
    g_autofree char *path = discovery_socket(process);
    int fd = path != NULL ? agent_connect(process, path) : -1;
    gboolean answers = fd >= 0 && is_answered_by(fd, process->pid);
    if (fd >= 0)
        close(fd);
    return answers;
}

/* The server chooses the path and the contents of the file, which is dangerous with root's privileges. So the path of a
 * root process must be one with which root started it, not another user, as by sudo(8). */
static gboolean
may_have_own_dump(const Session *session, guint roots)
{
    static const char usual[] = "jeprof"; /* jemalloc's default, in the working directory of the process */
    if (roots == 0)
        return TRUE;
    return roots == PROCESS_UIDS && has_agent(session) &&
           (strcmp(session->request->text, usual) == 0 || is_set_up_with(session->process.pid, session->request->text));
}

static void
run_own_dump(const Session *session, int socket)
{
    guint roots = 0;
    for (guint i = 0; i < PROCESS_UIDS; i++)
        roots += session->process.uids[i] == 0;
    const ReachOwnDump wanted = {.process = &session->process,
                                 .inner = (pid_t)session->request->detail,
                                 .user = rights_of_ids(session->process.uids),
                                 .prefix = session->request->text,
                                 .dump = session->fds[0]};
    answer(socket, may_have_own_dump(session, roots) ? own_dump_store(&wanted) : EPERM, -1);
}

/* ---- reports ---- */

/* A report ends with the session, and the session with the server. */
static void
begin_rendering(const Session *session)
{
    death_signal_bind(session->broker);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Whether what is left of a report, which has been killed, ends in time. */
static gboolean
have_children_ended(void)
{
    const gint64 until = g_get_monotonic_time() + END_MS * 1000;
    pid_t ended;
    while ((ended = waitpid(-1, NULL, WNOHANG)) > 0 || (ended == 0 && g_get_monotonic_time() < until))
        if (ended == 0)
            g_usleep(END_STEP_MS * 1000);
    return ended < 0;
}

/* A process of a report that waits for a file system's answer does not end by SIGKILL: the session stays as long as it
 * does, so that the broker counts it. */
static void
finish_rendering(int socket, const ChannelMessage *message)
{
    channel_send(socket, message);
    close(socket);
    if (have_children_ended())
        return;
    session_linger();
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue;
}

/* A server that was taken over may have forged the dump. Of the files that the dump names, only those are opened that
 * the process has mapped or that every user may read. */
static void
run_render(const Session *session, int socket)
{
    const BrokerRequest *request = session->request;
    const char *options[OPTIONS_MAX] = {NULL};
    const char *title = request->text + strlen(request->text) + 1;
    RenderSetup setup = {.program = RENDER_SELF,
                         .title = title,
                         .pid = session->process.pid,
                         .public_files = true,
                         .seconds = request->detail,
                         .bytes = request->number};
    RouteRendering rendering = {.format = request->text,
                                .options = options,
                                .dump = session->fds[0],
                                .base = session->n_fds > 1 ? session->fds[1] : -1};
    BrokerRendered rendered = {0};
    ChannelMessage message = {.bytes = &rendered, .size = sizeof(rendered)};
    guint n = 0;
    for (const char *text = title + strlen(title) + 1; *text != '\0' && n < OPTIONS_MAX - 1; text += strlen(text) + 1)
        options[n++] = text;
    begin_rendering(session);
    rendered.result = render_report(&setup, &rendering, &message.fds[0], &rendered.failure);
    message.n_fds = rendered.result == OUTCOME_DONE ? 1 : 0;
    finish_rendering(socket, &message);
}

static void
run_growth(const Session *session, int socket)
{
    const BrokerRequest *request = session->request;
    const char *options[OPTIONS_MAX] = {NULL};
    const char *text = request->text;
    guint64 ids[RENDER_GROWTH_MAX];
    guint n = 0;
    const RenderSetup setup = {.program = RENDER_SELF,
                               .pid = session->process.pid,
                               .public_files = true,
                               .seconds = request->detail,
                               .bytes = request->number};
    const RenderGrowth wanted = {.options = options, .dumps = session->fds, .ids = ids, .n = session->n_fds};
    BrokerRendered rendered = {0};
    ChannelMessage message = {.bytes = &rendered, .size = sizeof(rendered)};
    for (guint i = 0; i < session->n_fds; i++, text += strlen(text) + 1)
        ids[i] = g_ascii_strtoull(text, NULL, 10);
    for (; *text != '\0' && n < OPTIONS_MAX - 1; text += strlen(text) + 1)
        options[n++] = text;
    begin_rendering(session);
    rendered.result = render_growth(&setup, &wanted, &message.fds[0], &rendered.failure);
    message.n_fds = rendered.result == OUTCOME_DONE ? 1 : 0;
    finish_rendering(socket, &message);
}

/* ---- long sessions ---- */

static bool
is_waited_for(void *data)
{
    struct pollfd other = {.fd = *(const int *)data};
    return poll(&other, 1, 0) <= 0;
}

/* The session with the whole name of its process. FALSE if that has ended. */
static gboolean
complete(const Session *session, Session *whole)
{
    Process now;
    *whole = *session;
    if (!process_read(session->request->pid, &now) || now.start_time != session->request->start_time)
        return FALSE;
    g_strlcpy(whole->process.name, now.name, sizeof(whole->process.name));
    return TRUE;
}

/* Whether the operator permits that the process is stopped, as one without an agent must be. A named socket stands for
 * the process that listens there. */
static gboolean
may_be_stopped(const Session *session)
{
    static const char scheme[] = "unix:";
    const char *address = session->request->text;
    if (!may_be_opened(session) || !g_str_has_prefix(address, scheme))
        return may_be_opened(session);
    int fd = agent_connect(&session->process, address + strlen(scheme));
    gboolean listens = fd >= 0 && is_answered_by(fd, session->process.pid);
    if (fd >= 0)
        close(fd);
    return listens;
}

static void
run_examination(const Session *session, int socket)
{
    const BrokerRequest *request = session->request;
    const RenderSetup setup = {.program = RENDER_SELF,
                               .pid = session->process.pid,
                               .start_time = session->process.start_time,
                               .seconds = request->detail,
                               .is_wanted = is_waited_for,
                               .data = &socket};
    Session whole;
    const RenderExamination wanted = {.watch_ms = request->number,
                                      .via = complete(session, &whole) && may_be_stopped(&whole) ? NULL : "agent",
                                      .kept = session->n_fds > 0 ? session->fds[0] : -1};
    BrokerRendered rendered = {0};
    ChannelMessage message = {.bytes = &rendered, .size = sizeof(rendered)};
    begin_rendering(session);
    rendered.result = render_examination(&setup, &wanted, &message.fds[0], &rendered.failure);
    message.n_fds = rendered.result == OUTCOME_DONE ? 1 : 0;
    finish_rendering(socket, &message);
}

/* Opens the target if the operator has named it. */
static Target *
open_named(const Session *session, GError **error)
{
    Session whole;
    const Process *process = &whole.process;
    if (!complete(session, &whole))
        g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "process %d has ended", (int)session->request->pid);
    else if (!may_be_opened(&whole))
        g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION, "%s (%d) is not a target that this server was started for",
                    process->name, (int)process->pid);
    else
        return target_open_process(process, session->request->text, (TargetVia)session->request->detail, error);
    return NULL;
}

static void
run_target(const Session *session, int socket)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Target) target = open_named(session, &error);
    proxy_serve(socket, target, error);
}

static gboolean
send_seen(int socket, BrokerSeen *seen)
{
    const ChannelMessage message = {.bytes = seen, .size = sizeof(*seen)};
    return channel_send(socket, &message);
}

static gboolean
send_result(int socket, const ScanResult *result, BrokerSeen *seen)
{
    gboolean sent = TRUE;
    for (guint i = 0; sent && i < result->lost->len; i++) {
        const ScanLost *lost = &g_array_index(result->lost, ScanLost, i);
        *seen = (BrokerSeen){.kind = BROKER_SEEN_LOST, .process = {.pid = lost->pid, .start_time = lost->start_time}};
        sent = send_seen(socket, seen);
    }
    for (guint i = 0; sent && i < result->found->len; i++) {
        const ScanFound *found = &g_array_index(result->found, ScanFound, i);
        *seen = (BrokerSeen){.kind = BROKER_SEEN_FOUND,
                             .named = found->named != FALSE,
                             .process = found->process,
                             .user = found->identity->user,
                             .contained = found->identity->contained != FALSE};
        g_strlcpy(seen->unit, found->identity->unit, sizeof(seen->unit));
        g_strlcpy(seen->program, found->identity->program, sizeof(seen->program));
        g_strlcpy(seen->address, found->address, sizeof(seen->address));
        sent = send_seen(socket, seen);
    }
    *seen = (BrokerSeen){.kind = BROKER_SEEN_TROUBLE};
    g_strlcpy(seen->address, result->trouble != NULL ? result->trouble : "", sizeof(seen->address));
    sent = sent && (result->trouble == NULL || send_seen(socket, seen));
    *seen = (BrokerSeen){.kind = BROKER_SEEN_END};
    return sent && send_seen(socket, seen);
}

static gboolean
scan_once(Scanner *scanner, int socket)
{
    BrokerHints hints;
    ChannelMessage asked = {.bytes = &hints, .size = sizeof(hints)};
    if (!channel_receive(socket, &asked))
        return FALSE;
    channel_close_fds(&asked);
    if (asked.size != sizeof(hints) || hints.n > BROKER_HINTS_MAX)
        return FALSE;
    g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
    g_array_append_vals(pids, hints.pids, hints.n);
    g_autoptr(ScanResult) result = scanner_run(scanner, pids);
    g_autofree BrokerSeen *seen = g_new0(BrokerSeen, 1);
    return send_result(socket, result, seen);
}

static void
run_scan(const Session *session, int socket)
{
    guint per_user = (guint)MIN(session->request->number, G_MAXUINT);
    g_autoptr(Scanner) scanner = scanner_new((const char *const *)session->policy->targets, per_user);
    while (scan_once(scanner, socket))
        ;
}

void
session_run(const Session *session, int socket)
{
    static void (*const runs[BROKER_N_KINDS])(const Session *session, int socket) = {
        [BROKER_CONNECT] = run_connect,     [BROKER_VARIABLE] = run_variable, [BROKER_OWN_DUMP] = run_own_dump,
        [BROKER_RENDER] = run_render,       [BROKER_TARGET] = run_target,     [BROKER_SCAN] = run_scan,
        [BROKER_EXAMINE] = run_examination, [BROKER_GROWTH] = run_growth,     [BROKER_OPEN] = run_open,
    };
    /* The server gives it up when it takes too long; the broker counts it until its end. */
    if (broker_is_brief((BrokerKind)session->request->kind))
        aside_enter();
    runs[session->request->kind](session, socket);
}
