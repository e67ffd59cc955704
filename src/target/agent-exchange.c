/* SPDX-License-Identifier: Apache-2.0 */
#include "target/agent-exchange.h"

#include "confine/rights.h"
#include "target/agent-connect.h"
#include "target/diagnosis.h"
#include "target/discovery.h"
#include "target/reach.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef enum {
    SENT_ANSWERED,
    SENT_LOST,   /* the connection was closed; errno has the reason */
    SENT_FAILED, /* the error is set */
} Sent;

enum {
    RETRY_INTERVAL_US = 20000,
    MS = 1000,    /* microseconds of g_get_monotonic_time() in a millisecond */
    PATIENCE = 2, /* successive quick answers that may take their whole deadline */
    RECOVERY = 4, /* the allowance grows by this fraction of the time without a request */
};

static void
disconnect(AgentTarget *agent)
{
    if (agent->socket >= 0)
        agent_hang_up(agent->socket, agent->target.user);
    agent->socket = -1;
}

static int
connect_once(const AgentTarget *agent)
{
    const ReachOps *elsewhere = reach_elsewhere();
    const Process *process = agent->named ? &agent->process : NULL;
    return elsewhere != NULL && agent->named ? elsewhere->connect(process, agent->path)
                                             : agent_connect(process, agent->path);
}

static gboolean
set_gone(AgentTarget *agent, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s has ended", agent->target.label);
    return FALSE;
}

static gboolean
alive(const AgentTarget *agent)
{
    return !agent->known || process_alive(agent->process.pid, agent->process.start_time);
}

static gboolean
set_unreachable(AgentTarget *agent, int code, GError **error)
{
    if (!alive(agent))
        return set_gone(agent, error);
    gboolean denied = code == EACCES || code == EPERM;
    g_set_error(error, TARGET_ERROR, denied ? OUTCOME_PERMISSION : OUTCOME_NO_AGENT,
                "no agent answers on %s: %s; 'jescope ps' lists the processes that can be reached", agent->path,
                g_strerror(code));
    return FALSE;
}

/* Whether PROCESS, which has the pid of PEER, may be the one that called listen(): that may have ended, or have become
 * another user's, while another process goes on with the socket. */
static gboolean
is_listener(const Process *process, const struct ucred *peer)
{
    gboolean is_its_user = peer->uid == 0;
    for (guint i = 0; i < PROCESS_UIDS; i++)
        is_its_user |= process->uids[i] == peer->uid;
    return is_its_user;
}

/* Checks the process that called listen() at the other end, as reported by the kernel. */
static gboolean
check_peer(AgentTarget *agent, int fd, GError **error)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return set_unreachable(agent, errno, error);
    if (reach_user() != 0 && peer.uid != 0 && peer.uid != reach_user()) {
        g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION,
                    "%s belongs to user %u, not to you or root; run jescope as that user or as root", agent->path,
                    peer.uid);
        return FALSE;
    }
    if (agent->known && peer.pid != agent->process.pid) {
        g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL, "%s belongs to process %d, not to %s", agent->path,
                    (int)peer.pid, agent->target.label);
        return FALSE;
    }
    if (!agent->known) {
        agent->known = peer.pid != 0 && process_read(peer.pid, &agent->process) && is_listener(&agent->process, &peer);
        agent->target.user = RIGHTS_NOBODY;
        if (agent->known)
            target_set_process(&agent->target, &agent->process);
    }
    /* The user of the peer is the one at the time of listen(). */
    agent->target.user = rights_lesser(agent->target.user, peer.uid);
    return TRUE;
}

static gboolean
passing(int code)
{
    return code == ECONNREFUSED || code == ECONNRESET || code == EPIPE || code == EAGAIN || code == ENOENT;
}

/* Whether an agent that does not listen now may do so soon. */
static gboolean
may_listen_again(const AgentTarget *agent)
{
    return alive(agent) && (!agent->named || diagnosis_agent_may_come(&agent->process));
}

/* Finds the socket again: it moves if the process changes its user, or if its file was removed. */
static void
find_anew(AgentTarget *agent)
{
    if (!agent->named)
        return;
    process_read_again(&agent->process); /* where an agent listens depends on the user of its process */
    char *path = discovery_socket(&agent->process);
    if (path == NULL)
        return;
    g_free(agent->path);
    agent->path = path;
}

/* UNTIL is a g_get_monotonic_time(). A target that closes all its descriptors also closes the agent's; the agent
 * notices that and soon listens again. */
static gboolean
connect_until(AgentTarget *agent, gint64 until, GError **error)
{
    int fd;
    while ((fd = connect_once(agent)) < 0 && passing(errno) && g_get_monotonic_time() < until &&
           may_listen_again(agent)) {
        g_usleep(RETRY_INTERVAL_US);
        find_anew(agent);
    }
    if (fd < 0)
        return set_unreachable(agent, errno, error);
    agent->socket = fd;
    if (check_peer(agent, fd, error))
        return TRUE;
    disconnect(agent);
    return FALSE;
}

static Sent
set_silent(AgentTarget *agent, const AgentExchange *exchange, GError **error)
{
    Process now;
    gboolean stopped = agent->known && process_read(agent->process.pid, &now) && (now.state == 'T' || now.state == 't');
    g_set_error(error, TARGET_ERROR, OUTCOME_SILENT, "%s did not answer within %g s%s", agent->target.label,
                exchange->deadline / 1000.0, stopped ? "; it is stopped, continue it with SIGCONT" : "");
    return SENT_FAILED;
}

/* The maximum time to sleep, in microseconds; 0 after the deadline. */
static gint64
next_sleep(const AgentExchange *exchange)
{
    const gint64 left = MAX(exchange->until - g_get_monotonic_time(), 0);
    return exchange->output != NULL ? MIN(left, SHARED_OUTPUT_LOOK_US) : left;
}

/* SENT_ANSWERED: ready for EVENTS. */
static Sent
wait_for(AgentTarget *agent, short events, AgentExchange *exchange, GError **error)
{
    const OutputWriter writer = {agent->target.label, agent->target.output_max, exchange->request->op == WIRE_OP_STATS};
    struct pollfd fd = {.fd = agent->socket, .events = events};
    for (;;) {
        const gint64 sleep = next_sleep(exchange);
        const struct timespec time = {.tv_sec = sleep / G_USEC_PER_SEC, .tv_nsec = sleep % G_USEC_PER_SEC * 1000};
        int ready = sleep > 0 ? ppoll(&fd, 1, &time, NULL) : 0;
        if (ready > 0)
            return SENT_ANSWERED;
        if (ready < 0 && errno != EINTR)
            return SENT_LOST;
        if (exchange->output != NULL && !shared_output_watch(exchange->output, &writer, error))
            return SENT_FAILED;
        if (sleep == 0)
            return set_silent(agent, exchange, error);
    }
}

static Sent
send_request(AgentTarget *agent, AgentExchange *exchange, GError **error)
{
    struct iovec part = {.iov_base = exchange->request, .iov_len = exchange->request_size};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (exchange->output != NULL) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &exchange->output->fd, sizeof(int));
    }
    for (;;) {
        if (sendmsg(agent->socket, &message, MSG_NOSIGNAL) >= 0)
            return SENT_ANSWERED;
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return SENT_LOST;
        Sent waited = wait_for(agent, POLLOUT, exchange, error);
        if (waited != SENT_ANSWERED)
            return waited;
    }
}

void
agent_set_malformed(AgentTarget *agent, const char *what, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL, "%s sent %s; is its agent from another version of jescope?",
                agent->target.label, what);
}

static Sent
malformed(AgentTarget *agent, const char *what, GError **error)
{
    agent_set_malformed(agent, what, error);
    return SENT_FAILED;
}

/* Checks LENGTH received bytes against wire_reply_size(); all further code relies on this. */
static Sent
check_reply(AgentTarget *agent, AgentExchange *exchange, size_t length, GError **error)
{
    const WireReply *reply = &exchange->reply;
    const WireHeader *request = exchange->request;
    if (length < sizeof(WireReply) || reply->header.magic != WIRE_MAGIC || reply->header.size != length ||
        reply->header.sequence != request->sequence || reply->header.op != request->op)
        return malformed(agent, "a malformed reply", error);
    size_t expected = wire_reply_size(request->op, reply->status);
    if (expected == 0)
        return malformed(agent, "a reply that the protocol does not allow", error);
    if (length != expected)
        return malformed(agent, "a reply of the wrong size", error);
    return SENT_ANSWERED;
}

/* Like recv(), for a message without descriptors: EBADMSG if it has any. It is not received then, since there is no
 * room for them, and the kernel would close them (agent_hang_up()). */
static ssize_t
receive_message(int fd, void *bytes, size_t size)
{
    struct iovec part = {bytes, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    const ssize_t length = recvmsg(fd, &message, MSG_PEEK | MSG_TRUNC);
    if (length >= 0 && (message.msg_flags & MSG_CTRUNC) != 0) {
        errno = EBADMSG;
        return -1;
    }
    return length > 0 ? recv(fd, bytes, size, MSG_TRUNC) : length;
}

static Sent
receive_reply(AgentTarget *agent, AgentExchange *exchange, GError **error)
{
    Sent waited = wait_for(agent, POLLIN, exchange, error);
    if (waited != SENT_ANSWERED)
        return waited;
    memset(exchange->bytes, 0, sizeof(exchange->bytes));
    ssize_t length = receive_message(agent->socket, exchange->bytes, sizeof(exchange->bytes));
    if (length < 0 && errno == EBADMSG)
        return malformed(agent, "a descriptor", error);
    if (length > (ssize_t)sizeof(exchange->bytes))
        return malformed(agent, "a reply that is too long", error);
    if (length > 0)
        return check_reply(agent, exchange, (size_t)length, error);
    if (length == 0)
        errno = ECONNRESET;
    return SENT_LOST;
}

static Sent
try_once(AgentTarget *agent, AgentExchange *exchange, GError **error)
{
    exchange->request->sequence = ++agent->sequence;
    Sent sent = send_request(agent, exchange, error);
    return sent == SENT_ANSWERED ? receive_reply(agent, exchange, error) : sent;
}

/* Sends the request until there is a valid reply, reconnecting for some time if the connection breaks. Every request
 * may be repeated: it sets a state or writes to a memfd that is truncated before. */
static gboolean
exchange_message(AgentTarget *agent, AgentExchange *exchange, GError **error)
{
    gint64 until = MIN(g_get_monotonic_time() + (gint64)agent->deadlines.connect * MS, exchange->until);
    for (;;) {
        if (agent->socket < 0 && !connect_until(agent, until, error))
            return FALSE;
        Sent sent = try_once(agent, exchange, error);
        if (sent == SENT_ANSWERED)
            return TRUE;
        int code = errno;
        disconnect(agent); /* a late answer must not be mistaken for the next one */
        if (sent == SENT_FAILED)
            return FALSE;
        if (!alive(agent) || !passing(code) || g_get_monotonic_time() >= until)
            return set_unreachable(agent, code, error);
        g_usleep(RETRY_INTERVAL_US);
        if (exchange->output != NULL && !shared_output_restart(exchange->output, agent->target.label, error))
            return FALSE;
    }
}

static gint64
patience_max(const AgentTarget *agent)
{
    return (gint64)agent->deadlines.answer * PATIENCE * MS;
}

gint64
agent_allowance_begin(AgentTarget *agent, guint ms, gint64 free_us)
{
    const gint64 now = g_get_monotonic_time();
    agent->patience = MIN(agent->patience + (now - agent->rested) / RECOVERY, patience_max(agent));
    agent->rested = now;
    return now + MIN((gint64)ms * MS, MAX(agent->patience, 0) + free_us);
}

void
agent_allowance_end(AgentTarget *agent, gint64 free_us)
{
    const gint64 begun = agent->rested;
    agent->rested = g_get_monotonic_time();
    agent->patience -= MAX(agent->rested - begun - free_us, 0);
}

gboolean
agent_exchange_quickly(AgentTarget *agent, AgentExchange *exchange, GError **error)
{
    exchange->until = agent_allowance_begin(agent, exchange->deadline, 0);
    gboolean answered = exchange_message(agent, exchange, error);
    agent_allowance_end(agent, 0);
    return answered;
}

gboolean
agent_exchange_patiently(AgentTarget *agent, AgentExchange *exchange, GError **error)
{
    if (exchange->until == 0)
        exchange->until = g_get_monotonic_time() + (gint64)exchange->deadline * MS;
    return exchange_message(agent, exchange, error);
}

AgentExchange
agent_exchange_for(AgentTarget *agent, WireOp op, void *request, size_t request_size)
{
    WireHeader *header = request;
    *header = (WireHeader){
        .magic = WIRE_MAGIC, .version = WIRE_VERSION_MAX, .op = (uint16_t)op, .size = (uint32_t)request_size};
    return (AgentExchange){.request = header,
                           .request_size = request_size,
                           .deadline = target_time_limit(&agent->target, agent->deadlines.answer)};
}

gboolean
agent_exchange_finish(AgentTarget *agent, AgentExchange *exchange, GError **error)
{
    if (wait_for(agent, POLLIN, exchange, error) == SENT_FAILED)
        return FALSE;
    disconnect(agent);
    return TRUE;
}

void
agent_exchange_init(AgentTarget *agent, const AgentAddress *address)
{
    agent->path = g_strdup(address->path);
    agent->deadlines = address->deadlines;
    agent->patience = patience_max(agent);
    agent->rested = g_get_monotonic_time();
    agent->socket = -1;
    agent->named = agent->known = address->process != NULL;
    if (agent->named)
        agent->process = *address->process;
}

void
agent_exchange_clear(AgentTarget *agent)
{
    disconnect(agent);
    g_free(agent->path);
}
