/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/broker.h"

#include "broker/crowd.h"
#include "broker/session.h"
#include "confine/channel.h"
#include "target/discovery.h"
#include "target/exit-events.h"
#include "target/process-change.h"
#include "target/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SOCKET = 3, /* our end, the only descriptor besides the three standard ones */
};

typedef struct {
    const BrokerSettings *settings;
    BrokerPolicy *policy;
    Crowd *crowd; /* the sessions */
    int exits;    /* the subscription; -1: none requested yet */
} Broker;

/* A request in progress. fd is the reply's descriptor, or -1. */
typedef struct {
    const BrokerRequest *request;
    const int *fds;
    guint n_fds;
    int fd;
} Work;

void
broker_policy_free(BrokerPolicy *policy)
{
    if (policy == NULL)
        return;
    g_strfreev(policy->targets);
    g_strfreev(policy->files);
    g_strfreev(policy->variables);
    g_strfreev(policy->sockets);
    g_free(policy);
}

static void
renew_policy(Broker *broker)
{
    BrokerPolicy *policy = broker->settings->read(broker->settings->data);
    if (policy == NULL)
        return;
    /* Sockets are created only at the start. */
    if (broker->policy != NULL) {
        g_strfreev(policy->sockets);
        policy->sockets = g_steal_pointer(&broker->policy->sockets);
    }
    broker_policy_free(broker->policy);
    broker->policy = policy;
}

static gboolean
is_listed(char **list, const char *text)
{
    return list != NULL && g_strv_contains((const char *const *)list, text);
}

/* ---- immediate requests ---- */

static int
open_setting(Broker *broker, Work *work)
{
    renew_policy(broker);
    if (!is_listed(broker->policy->files, work->request->text))
        return EPERM;
    work->fd = reach_open_setting(work->request->text);
    return work->fd >= 0 ? 0 : errno;
}

static int
watch(Broker *broker, Work *work)
{
    discovery_watch_own(work->fds[0]);
    return 0;
}

static int
remove_socket(Broker *broker, Work *work)
{
    struct stat facts;
    const char *path = work->request->text;
    if (!is_listed(broker->policy->sockets, path))
        return EPERM;
    if (lstat(path, &facts) != 0)
        return errno;
    return !S_ISSOCK(facts.st_mode) ? EINVAL : unlink(path) != 0 ? errno : 0;
}

/* There is one subscription for the life of the server, which may close its own descriptor of it. */
static int
hand_exits(Broker *broker, Work *work)
{
    if (broker->exits < 0)
        broker->exits = exit_events_subscribe();
    work->fd = broker->exits >= 0 ? fcntl(broker->exits, F_DUPFD_CLOEXEC, 0) : -1;
    return work->fd >= 0 ? 0 : errno;
}

/* ---- sessions ---- */

static int
fork_session(const Session *session, Work *work, pid_t *child)
{
    int ends[2];
    *child = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return errno;
    *child = fork();
    int error = errno;
    if (*child == 0) {
        close(ends[0]);
        close(SOCKET); /* the child must not use the broker's socket */
        session_run(session, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    work->fd = ends[0];
    return *child > 0 ? 0 : error;
}

/* An errno, or 0. The memory of the process, which can delay its reader, is read by the session alone. */
static int
find_process(const BrokerRequest *request, Process *process)
{
    Process found = {.pid = request->pid, .start_time = request->start_time, .closed = request->closed != 0};
    memcpy(found.uids, request->uids, sizeof(found.uids));
    memcpy(found.gids, request->gids, sizeof(found.gids));
    if (!process_look(request->pid, process))
        return process_is_shortage(errno) ? errno : ESRCH;
    return process_change_check(&found);
}

static CrowdState
state_of(pid_t session)
{
    if (waitpid(session, NULL, WNOHANG) != 0)
        return CROWD_ENDED;
    return session_lingers(session) ? CROWD_LINGERS : CROWD_RUNS;
}

static void
end_session(pid_t session)
{
    kill(session, SIGKILL);
}

static int
begin_session(Broker *broker, Work *work)
{
    const BrokerRequest *request = work->request;
    Session session = {
        .request = request, .policy = broker->policy, .fds = work->fds, .n_fds = work->n_fds, .broker = getpid()};
    int error = request->pid != 0 ? find_process(request, &session.process) : 0;
    if (error == 0)
        error = session_check(&session);
    if (error != 0)
        return error;
    CrowdSession begun = {.account = request->pid != 0 ? crowd_account(&session.process) : 0,
                          .kind = (BrokerKind)request->kind,
                          .begun_us = g_get_monotonic_time()};
    crowd_look(broker->crowd, state_of, end_session, begun.begun_us);
    if (!crowd_has_room(broker->crowd, &begun))
        return EAGAIN;
    error = fork_session(&session, work, &begun.pid);
    if (begun.pid > 0)
        crowd_add(broker->crowd, &begun);
    return error;
}

/* ---- the loop ---- */

static int
act(Broker *broker, Work *work)
{
    static int (*const acts[BROKER_N_KINDS])(Broker * broker, Work * work) = {
        [BROKER_OPEN] = begin_session,     [BROKER_FILE] = open_setting,     [BROKER_WATCH] = watch,
        [BROKER_UNLINK] = remove_socket,   [BROKER_CONNECT] = begin_session, [BROKER_VARIABLE] = begin_session,
        [BROKER_OWN_DUMP] = begin_session, [BROKER_RENDER] = begin_session,  [BROKER_TARGET] = begin_session,
        [BROKER_SCAN] = begin_session,     [BROKER_EXAMINE] = begin_session, [BROKER_GROWTH] = begin_session,
        [BROKER_EXITS] = hand_exits,
    };
    return acts[work->request->kind](broker, work);
}

static gboolean
answer_one(Broker *broker)
{
    static BrokerRequest request;
    BrokerReply reply;
    ChannelMessage asked = {.bytes = &request, .size = sizeof(request)};
    ChannelMessage message = {.bytes = &reply, .size = sizeof(reply)};
    if (!channel_receive(SOCKET, &asked)) {
        if (errno != EMSGSIZE)
            return FALSE;
        reply.error = EMSGSIZE;
        return channel_send(SOCKET, &message);
    }
    Work work = {.request = &request, .fds = asked.fds, .n_fds = asked.n_fds, .fd = -1};
    reply.error = broker_check_request(&request, asked.size, asked.n_fds);
    if (reply.error == 0)
        reply.error = act(broker, &work);
    if (work.fd >= 0 && reply.error == 0)
        message.fds[message.n_fds++] = work.fd;
    gboolean sent = channel_send(SOCKET, &message);
    if (work.fd >= 0)
        close(work.fd);
    channel_close_fds(&asked);
    return sent;
}

void
broker_run(int socket, const BrokerSettings *settings)
{
    /* The broker ends after the server, so it ignores signals that a terminal or supervisor sends to both. */
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    Broker broker = {.settings = settings, .crowd = crowd_new(), .exits = -1};
    for (gsize i = 0; i < G_N_ELEMENTS(ignored); i++)
        signal(ignored[i], SIG_IGN);
    if (socket != SOCKET)
        dup3(socket, SOCKET, O_CLOEXEC);
    close_range(SOCKET + 1, ~0U, 0);
    renew_policy(&broker);
    while (broker.policy != NULL && answer_one(&broker))
        ;
    if (broker.exits >= 0)
        exit_events_unsubscribe(broker.exits);
    crowd_free(broker.crowd);
    broker_policy_free(broker.policy);
}
