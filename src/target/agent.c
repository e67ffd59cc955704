/* SPDX-License-Identifier: Apache-2.0 */
#include "target/agent.h"

#include "confine/aside.h"
#include "confine/death-signal.h"
#include "confine/rights.h"
#include "target/diagnosis.h"
#include "target/discovery.h"
#include "target/implementation.h"
#include "target/reach.h"
#include "target/shared-output.h"
#include "text/printable.h"

#include "wire/message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

typedef struct {
    Target target;
    char *path;
    gboolean named; /* process was given by the caller, not taken from the peer */
    gboolean known; /* process is set */
    Process process;
    AgentDeadlines deadlines;
    int socket; /* -1: not connected */
    guint32 sequence;
    gint64 patience; /* microseconds left for quick answers at the time `rested` */
    gint64 rested;   /* time of the last quick reply, or of its failure */
} AgentTarget;

/* A request and the buffer for its answer. */
typedef struct {
    WireHeader *request;
    size_t request_size;
    SharedOutput *output; /* the memory file for the answer, or NULL */
    guint deadline;       /* milliseconds for all attempts */
    gint64 until;         /* the deadline as a g_get_monotonic_time() */
    union {
        WireReply reply;
        WireHelloReply hello;
        WireCtlReply ctl;
        WireOutputReply written;
        WireLeaseReply lease;
        WireSampleReply sample;
        char bytes[WIRE_MESSAGE_MAX];
    };
} Exchange;

typedef enum {
    SENT_ANSWERED,
    SENT_LOST,   /* the connection was closed; errno has the reason */
    SENT_FAILED, /* the error is set */
} Sent;

const AgentDeadlines agent_deadlines_default = {.connect = 1000, .answer = 5000, .output = 120000};

enum {
    RETRY_INTERVAL_US = 20000,
    MS = 1000,    /* microseconds of g_get_monotonic_time() in a millisecond */
    PATIENCE = 2, /* successive quick answers that may take their whole deadline */
    RECOVERY = 4, /* the allowance grows by this fraction of the time without a request */
    ROW_US = MS,  /* of waiting for each row of a sample that are not charged to it; 64 controls take 0.1 ms */
};

static AgentTarget *
agent_of(Target *target)
{
    return (AgentTarget *)target;
}

/* Whether the peer has sent anything that was not received; nothing can come any more. A message has an address, that
 * of the listening socket, even an empty one. */
static gboolean
has_unread(int fd)
{
    struct sockaddr_un address;
    struct msghdr message = {.msg_name = &address, .msg_namelen = sizeof(address)};
    return recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT) != 0 || message.msg_namelen > 0;
}

/* Descriptors that a hostile peer has sent are closed with FD, which may take as long as it likes. */
static void
hang_up(int fd, uid_t peer)
{
    shutdown(fd, SHUT_RDWR);
    if (has_unread(fd))
        aside_close(fd, peer);
    else
        close(fd);
}

static void
disconnect(AgentTarget *agent)
{
    if (agent->socket >= 0)
        hang_up(agent->socket, agent->target.user);
    agent->socket = -1;
}

static void
agent_free(Target *target)
{
    AgentTarget *agent = agent_of(target);
    disconnect(agent);
    g_free(agent->path);
}

static int
open_directory(const Process *process, const char *path)
{
    g_autofree char *directory = g_path_get_dirname(path);
    if (process != NULL)
        return discovery_open_directory(directory, process);
    return open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Whether PROCESS has a user namespace of its own that does not map our root: its agent sees root as the overflow user
 * 65534, and refuses it. */
static gboolean
lacks_root(const Process *process)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/ns/user", (int)process->pid);
    struct stat own, its;
    return stat("/proc/self/ns/user", &own) == 0 && stat(path, &its) == 0 &&
           (own.st_dev != its.st_dev || own.st_ino != its.st_ino);
}

/* Of the calling thread alone; -1: as it is. */
static gboolean
set_effective_user(uid_t user)
{
    const DeathSignal death = death_signal_get();
    const gboolean set = user == (uid_t)-1 || syscall(SYS_setresuid, (uid_t)-1, user, (uid_t)-1) == 0;
    death_signal_keep(&death);
    return set;
}

/* Opens the directory, so that the one that was checked is used and the address fits into sockaddr_un for any path. A
 * USER other than -1 is the one who connects, which changes the effective user of the calling thread meanwhile. */
static int
connect_here(const Process *process, const char *path, uid_t user)
{
    int directory = open_directory(process, path);
    if (directory < 0)
        return -1;
    g_autofree char *name = g_path_get_basename(path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = g_snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory, name);
    int fd = -1;
    if (length >= (int)sizeof(address.sun_path))
        errno = ENAMETOOLONG;
    else if (set_effective_user(user))
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        int saved = errno;
        close(fd);
        fd = -1;
        errno = saved;
    }
    int saved = errno;
    if (user != (uid_t)-1)
        set_effective_user(0);
    close(directory);
    errno = saved;
    return fd;
}

typedef struct {
    const Process *process;
    const char *path;
} Place;

static void
connect_aside(gpointer data, ChannelMessage *answer)
{
    const Place *place = data;
    const uid_t user = lacks_root(place->process) ? place->process->uids[1] : (uid_t)-1;
    int fd = connect_here(place->process, place->path, user);
    *(int *)answer->bytes = fd < 0 ? errno : 0;
    if (fd >= 0)
        answer->fds[answer->n_fds++] = fd;
}

int
agent_connect(const Process *process, const char *path)
{
    Place place = {process, path};
    int code = 0;
    ChannelMessage answer = {.bytes = &code, .size = sizeof(code)};
    if (process == NULL || !discovery_may_be_delayed(process))
        return connect_here(process, path, (uid_t)-1);
    if (aside_run(connect_aside, &place, process->uids[1], &answer) != ASIDE_DONE) {
        errno = ETIMEDOUT;
        return -1;
    }
    int fd = answer.n_fds > 0 ? answer.fds[--answer.n_fds] : -1;
    channel_close_fds(&answer);
    errno = code != 0 ? code : EIO;
    return fd;
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
set_silent(AgentTarget *agent, const Exchange *exchange, GError **error)
{
    Process now;
    gboolean stopped = agent->known && process_read(agent->process.pid, &now) && (now.state == 'T' || now.state == 't');
    g_set_error(error, TARGET_ERROR, OUTCOME_SILENT, "%s did not answer within %g s%s", agent->target.label,
                exchange->deadline / 1000.0, stopped ? "; it is stopped, continue it with SIGCONT" : "");
    return SENT_FAILED;
}

/* The maximum time to sleep, in microseconds; 0 after the deadline. */
static gint64
next_sleep(const Exchange *exchange)
{
    const gint64 left = MAX(exchange->until - g_get_monotonic_time(), 0);
    return exchange->output != NULL ? MIN(left, SHARED_OUTPUT_LOOK_US) : left;
}

/* SENT_ANSWERED: ready for EVENTS. */
static Sent
wait_for(AgentTarget *agent, short events, Exchange *exchange, GError **error)
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
send_request(AgentTarget *agent, Exchange *exchange, GError **error)
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

static Sent
set_malformed(AgentTarget *agent, const char *what, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL, "%s sent %s; is its agent from another version of jescope?",
                agent->target.label, what);
    return SENT_FAILED;
}

/* Checks LENGTH received bytes against wire_reply_size(); all further code relies on this. */
static Sent
check_reply(AgentTarget *agent, Exchange *exchange, size_t length, GError **error)
{
    const WireReply *reply = &exchange->reply;
    const WireHeader *request = exchange->request;
    if (length < sizeof(WireReply) || reply->header.magic != WIRE_MAGIC || reply->header.size != length ||
        reply->header.sequence != request->sequence || reply->header.op != request->op)
        return set_malformed(agent, "a malformed reply", error);
    size_t expected = wire_reply_size(request->op, reply->status);
    if (expected == 0)
        return set_malformed(agent, "a reply that the protocol does not allow", error);
    if (length != expected)
        return set_malformed(agent, "a reply of the wrong size", error);
    return SENT_ANSWERED;
}

/* Like recv(), for a message without descriptors: EBADMSG if it has any. It is not received then, since there is no
 * room for them, and the kernel would close them (hang_up()). */
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
receive_reply(AgentTarget *agent, Exchange *exchange, GError **error)
{
    Sent waited = wait_for(agent, POLLIN, exchange, error);
    if (waited != SENT_ANSWERED)
        return waited;
    memset(exchange->bytes, 0, sizeof(exchange->bytes));
    ssize_t length = receive_message(agent->socket, exchange->bytes, sizeof(exchange->bytes));
    if (length < 0 && errno == EBADMSG)
        return set_malformed(agent, "a descriptor", error);
    if (length > (ssize_t)sizeof(exchange->bytes))
        return set_malformed(agent, "a reply that is too long", error);
    if (length > 0)
        return check_reply(agent, exchange, (size_t)length, error);
    if (length == 0)
        errno = ECONNRESET;
    return SENT_LOST;
}

static Sent
try_once(AgentTarget *agent, Exchange *exchange, GError **error)
{
    exchange->request->sequence = ++agent->sequence;
    Sent sent = send_request(agent, exchange, error);
    return sent == SENT_ANSWERED ? receive_reply(agent, exchange, error) : sent;
}

/* Sends the request until there is a valid reply, reconnecting for some time if the connection breaks. Every request
 * may be repeated: it sets a state or writes to a memfd that is truncated before. */
static gboolean
exchange_message(AgentTarget *agent, Exchange *exchange, GError **error)
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

/* A command sends many requests, and a target could delay each of them up to its deadline. So they share an allowance,
 * which recovers while no request is pending. Returns the end of a request that begins now and takes MS at most, of
 * which FREE_US are not charged. */
static gint64
begin_quickly(AgentTarget *agent, guint ms, gint64 free_us)
{
    const gint64 now = g_get_monotonic_time();
    agent->patience = MIN(agent->patience + (now - agent->rested) / RECOVERY, patience_max(agent));
    agent->rested = now;
    return now + MIN((gint64)ms * MS, MAX(agent->patience, 0) + free_us);
}

static void
end_quickly(AgentTarget *agent, gint64 free_us)
{
    const gint64 begun = agent->rested;
    agent->rested = g_get_monotonic_time();
    agent->patience -= MAX(agent->rested - begun - free_us, 0);
}

static gboolean
exchange_quickly(AgentTarget *agent, Exchange *exchange, GError **error)
{
    exchange->until = begin_quickly(agent, exchange->deadline, 0);
    gboolean answered = exchange_message(agent, exchange, error);
    end_quickly(agent, 0);
    return answered;
}

/* For long operations, such as a dump or a purge, and for the exchanges of a sample, which have one end. */
static gboolean
exchange_patiently(AgentTarget *agent, Exchange *exchange, GError **error)
{
    if (exchange->until == 0)
        exchange->until = g_get_monotonic_time() + (gint64)exchange->deadline * MS;
    return exchange_message(agent, exchange, error);
}

static Exchange
exchange_for(AgentTarget *agent, WireOp op, void *request, size_t request_size)
{
    WireHeader *header = request;
    *header = (WireHeader){
        .magic = WIRE_MAGIC, .version = WIRE_VERSION_MAX, .op = (uint16_t)op, .size = (uint32_t)request_size};
    return (Exchange){.request = header,
                      .request_size = request_size,
                      .deadline = target_time_limit(&agent->target, agent->deadlines.answer)};
}

static void
clean_lease(WireLease *lease)
{
    lease->remaining_ms = MIN(lease->remaining_ms, WIRE_LEASE_MAX_MS);
    lease->active = lease->active != 0;
    lease->restores = lease->restores != 0;
    lease->yields = lease->yields != 0;
    lease->period = lease->period <= WIRE_LEASE_PERIOD_MAX ? lease->period : 0;
}

static void
clean_hello(WireHelloReply *hello)
{
    text_clean_line(hello->name, sizeof(hello->name));
    text_clean_line(hello->agent_version, sizeof(hello->agent_version));
    text_clean_line(hello->jemalloc_version, sizeof(hello->jemalloc_version));
    text_clean_line(hello->prefix, sizeof(hello->prefix));
    text_clean_line(hello->found_in, sizeof(hello->found_in));
    clean_lease(&hello->lease);
    hello->sampler.lg = MIN(hello->sampler.lg, WIRE_LEASE_PERIOD_MAX - 1);
}

/* Sets the error of a failed HELLO; neither of its two kinds causes another request. */
static gboolean
set_not_greeted(Target *target, const Exchange *exchange, GError **error)
{
    if (exchange->reply.status == WIRE_STATUS_BAD_VERSION)
        g_set_error(
            error, TARGET_ERROR, OUTCOME_PROTOCOL,
            "the agent of %s does not speak version %d of the protocol; use the jescope that came with the agent",
            target->label, WIRE_VERSION_MAX);
    else
        set_malformed(agent_of(target), "a refused HELLO", error);
    return FALSE;
}

static gboolean
agent_hello(Target *target, WireHelloReply *hello, GError **error)
{
    AgentTarget *agent = agent_of(target);
    WireHelloRequest request = {.version_min = WIRE_VERSION_MIN, .version_max = WIRE_VERSION_MAX};
    Exchange exchange = exchange_for(agent, WIRE_OP_HELLO, &request, sizeof(request));
    if (!exchange_quickly(agent, &exchange, error))
        return FALSE;
    if (exchange.reply.status != WIRE_STATUS_OK)
        return set_not_greeted(target, &exchange, error);
    clean_hello(&exchange.hello);
    *hello = exchange.hello;
    return TRUE;
}

static void
set_cannot_profile(Target *target, GError **error)
{
    WireHelloReply hello;
    if (!agent_hello(target, &hello, error))
        return;
    g_autofree char *why = diagnosis_profiling(&hello);
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_PROFILING, "cannot profile %s: %s", target->label,
                why != NULL ? why : "its jemalloc refuses");
}

/* jemalloc's own profiler never answers EAGAIN. */
static void
set_hooks_taken(Target *target, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_CONTROL_FAILED,
                "cannot profile %s: other code in it has all four hooks of this jemalloc, and jescope's own sampler "
                "needs one; statistics work, and 'jescope run' starts the program with jemalloc's profiler",
                target->label);
}

/* WHAT is the subject of the request: the name of a control, "dump"... */
static gboolean
set_refused(Target *target, const Exchange *exchange, const char *what, GError **error)
{
    const char *reason = g_strerror(exchange->reply.error);
    target->failure = exchange->reply.error;
    const Outcome outcome = outcome_of_status(exchange->reply.status);
    switch (outcome) {
    case OUTCOME_NO_PROFILING:
        set_cannot_profile(target, error);
        break;
    case OUTCOME_BUSY:
        target_set_busy(target, MIN(exchange->lease.lease.remaining_ms, WIRE_LEASE_MAX_MS), error);
        break;
    case OUTCOME_NOT_ALLOWED:
        g_set_error(error, TARGET_ERROR, outcome, "%s: the agent does not allow '%s' to be written", target->label,
                    what);
        break;
    case OUTCOME_CONTROL_FAILED:
        if (exchange->reply.error == EAGAIN && g_str_equal(what, "prof.active"))
            set_hooks_taken(target, error);
        else if (exchange->reply.error == ENOTSUP && g_str_equal(what, "prof.active"))
            set_cannot_profile(target, error); /* the agent knows more since it has tried */
        else
            g_set_error(error, TARGET_ERROR, outcome, "%s: jemalloc refused '%s': %s", target->label, what, reason);
        break;
    case OUTCOME_NOT_FOUND:
        g_set_error(error, TARGET_ERROR, outcome, "%s: another command has ended this recording", target->label);
        break;
    case OUTCOME_SYSTEM:
        g_set_error(error, TARGET_ERROR, outcome, "%s could not write its %s: %s", target->label, what, reason);
        break;
    default:
        g_set_error(
            error, TARGET_ERROR, outcome,
            "%s does not understand the request for '%s' (status %u); is its agent from another version of jescope?",
            target->label, what, exchange->reply.status);
    }
    return FALSE;
}

typedef gboolean (*Exchanging)(AgentTarget *agent, Exchange *exchange, GError **error);

/* Completes a transaction about WHAT: TRUE only for a reply with status OK. */
static gboolean
transact(AgentTarget *agent, Exchange *exchange, Exchanging exchange_it, const char *what, GError **error)
{
    if (!exchange_it(agent, exchange, error))
        return FALSE;
    if (exchange->reply.status == WIRE_STATUS_OK)
        return TRUE;
    return set_refused(&agent->target, exchange, what, error);
}

static gboolean
agent_ctl(Target *target, WireCtlRequest *request, WireCtlReply *value, GError **error)
{
    AgentTarget *agent = agent_of(target);
    Exchange exchange = exchange_for(agent, WIRE_OP_CTL, request, sizeof(*request));
    /* A purge of a large heap takes long. */
    gboolean action = request->type == WIRE_TYPE_NONE;
    if (action)
        exchange.deadline = target_time_limit(target, agent->deadlines.output);
    if (!transact(agent, &exchange, action ? exchange_patiently : exchange_quickly, request->name, error))
        return FALSE;
    text_clean(exchange.ctl.text, sizeof(exchange.ctl.text));
    exchange.ctl.truncated = exchange.ctl.truncated != 0;
    if (value != NULL)
        *value = exchange.ctl;
    return TRUE;
}

static gboolean
agent_read(Target *target, const char *control, WireType type, WireCtlReply *value, GError **error)
{
    WireCtlRequest request = {.type = type, .flags = WIRE_CTL_READ};
    g_strlcpy(request.name, control, sizeof(request.name));
    return agent_ctl(target, &request, value, error);
}

static gboolean
agent_write(Target *target, const char *control, WireType type, guint64 value, GError **error)
{
    WireCtlRequest request = {.type = type, .flags = WIRE_CTL_WRITE, .value = value};
    g_strlcpy(request.name, control, sizeof(request.name));
    return agent_ctl(target, &request, NULL, error);
}

/* A sample that is taken in several exchanges. */
typedef struct {
    WireSampleRequest request;
    guint n; /* controls per row */
    gint64 until;
    guint64 *spent_ns;
} Sampling;

/* Takes as many rows as the agent sends at once. Returns their number, 0 on error. */
static guint
sample_some(AgentTarget *agent, Sampling *sampling, guint64 *rows, GError **error)
{
    WireSampleRequest *request = &sampling->request;
    const guint n = sampling->n;
    Exchange exchange = exchange_for(agent, WIRE_OP_SAMPLE, request, sizeof(*request));
    exchange.until = sampling->until;
    if (!transact(agent, &exchange, exchange_patiently, "statistics", error))
        return 0;
    guint got = exchange.sample.rows;
    if (got == 0 || got > request->count || got > WIRE_SAMPLE_WORDS / (1 + n)) {
        set_malformed(agent, "a wrong number of values", error);
        return 0;
    }
    memcpy(rows, exchange.sample.words, (gsize)got * (1 + n) * sizeof(guint64));
    if (sampling->spent_ns != NULL)
        *sampling->spent_ns += exchange.sample.duration_ns;
    return got;
}

/* Returns the number of rows that were taken: fewer than were asked for on error. */
static guint
sample_all(AgentTarget *agent, const SampleRequest *sample, Sampling *sampling, guint64 *rows, GError **error)
{
    guint done = 0;
    while (done < sample->count) {
        sampling->request.first = sample->first + done;
        sampling->request.count = sample->count - done;
        guint got = sample_some(agent, sampling, rows + (gsize)done * (1 + sample->n), error);
        if (got == 0)
            break;
        done += got;
        sampling->request.flags = 0;
    }
    return done;
}

static gboolean
agent_sample(Target *target, const SampleRequest *sample, guint64 *rows, guint64 *spent_ns, GError **error)
{
    AgentTarget *agent = agent_of(target);
    Sampling sampling = {
        .request = {.flags = sample->refresh ? WIRE_SAMPLE_REFRESH : 0}, .n = sample->n, .spent_ns = spent_ns};
    gsize length = 0;
    for (guint i = 0; i < sample->n; i++)
        length += strlen(sample->names + length) + 1;
    g_return_val_if_fail(length < sizeof(sampling.request.names) && sample->n <= WIRE_SAMPLE_CONTROLS_MAX, FALSE);
    memcpy(sampling.request.names, sample->names, length);
    sampling.until = begin_quickly(agent, target_time_limit(target, agent->deadlines.answer), sample->count * ROW_US);
    const guint done = sample_all(agent, sample, &sampling, rows, error);
    end_quickly(agent, done * ROW_US);
    return done == sample->count;
}

static int
agent_output(Target *target, const char *letters, GError **error)
{
    AgentTarget *agent = agent_of(target);
    WireDumpRequest dump = {0};
    WireStatsRequest stats = {0};
    g_strlcpy(stats.letters, letters != NULL ? letters : "", sizeof(stats.letters));
    Exchange exchange = letters == NULL ? exchange_for(agent, WIRE_OP_DUMP, &dump, sizeof(dump))
                                        : exchange_for(agent, WIRE_OP_STATS, &stats, sizeof(stats));
    exchange.deadline = target_time_limit(target, agent->deadlines.output);
    const int fd = output_file_new(error);
    if (fd < 0)
        return -1;
    const char *what = letters == NULL ? "heap dump" : "statistics";
    const OutputWriter writer = {target->label, target->output_max, letters != NULL};
    g_autoptr(GError) cause = NULL;
    SharedOutput output;
    exchange.output = &output;
    if (shared_output_begin(&output, fd, &target->plan, target->user, target->label, &cause) &&
        transact(agent, &exchange, exchange_patiently, what, &cause))
        return shared_output_take(&output, exchange.written.bytes, &writer, error);
    if (!shared_output_discard(&output, target->label, error))
        return -1;
    if (g_error_matches(cause, TARGET_ERROR, OUTCOME_GONE))
        g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s ended before its %s was complete; it was discarded",
                    target->label, what);
    else
        g_propagate_error(error, g_steal_pointer(&cause));
    return -1;
}

static gboolean
agent_lease(Target *target, const WireLeaseRequest *wanted, WireLease *lease, GError **error)
{
    AgentTarget *agent = agent_of(target);
    WireLeaseRequest request = *wanted;
    Exchange exchange = exchange_for(agent, WIRE_OP_LEASE, &request, sizeof(request));
    if (!transact(agent, &exchange, exchange_quickly, "prof.active", error))
        return FALSE;
    clean_lease(&exchange.lease.lease);
    *lease = exchange.lease.lease;
    return TRUE;
}

/* The connection ends when the thread has closed everything. */
static gboolean
agent_leave(Target *target, GError **error)
{
    AgentTarget *agent = agent_of(target);
    WireLeaveRequest request = {0};
    Exchange exchange = exchange_for(agent, WIRE_OP_LEAVE, &request, sizeof(request));
    if (!transact(agent, &exchange, exchange_patiently, "leave", error) ||
        wait_for(agent, POLLIN, &exchange, error) == SENT_FAILED)
        return FALSE;
    disconnect(agent);
    return TRUE;
}

static const TargetOps agent_ops = {
    .via = TARGET_VIA_AGENT,
    .hello = agent_hello,
    .read = agent_read,
    .write = agent_write,
    .sample = agent_sample,
    .output = agent_output,
    .lease = agent_lease,
    .leave = agent_leave,
    .free = agent_free,
};

Target *
agent_open(const AgentAddress *address, GError **error)
{
    AgentTarget *agent = g_new0(AgentTarget, 1);
    g_autoptr(Target) target = &agent->target;
    target->ops = &agent_ops;
    agent->path = g_strdup(address->path);
    agent->deadlines = address->deadlines;
    agent->patience = patience_max(agent);
    agent->rested = g_get_monotonic_time();
    agent->socket = -1;
    agent->named = agent->known = address->process != NULL;
    if (agent->named) {
        agent->process = *address->process;
        target_set_process(target, address->process);
    }
    target_set_name(target, agent->named ? agent->process.name : address->path);
    WireHelloReply hello;
    if (!agent_hello(target, &hello, error))
        return NULL;
    if (!agent->named)
        target_set_name(target, hello.name);
    return g_steal_pointer(&target);
}
