/* SPDX-License-Identifier: Apache-2.0 */
#include "target/agent.h"

#include "target/diagnosis.h"
#include "target/discovery.h"
#include "target/implementation.h"
#include "target/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

typedef struct {
    Target target;
    char *path;
    gboolean named; /* process was given by the caller, not found out from the peer */
    gboolean known; /* process is set */
    Process process;
    AgentDeadlines deadlines;
    AgentThrough through; /* NULL: through the socket */
    int socket;           /* -1: not connected */
    guint32 sequence;
} AgentTarget;

/* One request and the room for its answer. */
typedef struct {
    WireHeader *request;
    size_t request_size;
    int descriptor;    /* to send along, or -1 */
    guint deadline;    /* milliseconds */
    size_t reply_size; /* expected of a successful answer */
    union {
        WireReply reply;
        WireHelloReply hello;
        WireCtlReply ctl;
        WireOutputReply output;
        WireLeaseReply lease;
        WireSampleReply sample;
        char bytes[WIRE_MESSAGE_MAX];
    };
} Exchange;

typedef enum {
    SENT_ANSWERED,
    SENT_LOST,   /* the connection is gone; errno says how */
    SENT_FAILED, /* the error is set */
} Sent;

const AgentDeadlines agent_deadlines_default = {.connect = 1000, .answer = 5000, .output = 120000};

enum {
    RETRY_INTERVAL_US = 20000,
    MS = 1000, /* microseconds of g_get_monotonic_time() in one */
};

static AgentTarget *
agent_of(Target *target)
{
    return (AgentTarget *)target;
}

static void
disconnect(AgentTarget *agent)
{
    if (agent->socket >= 0)
        close(agent->socket);
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
open_directory(const AgentTarget *agent)
{
    g_autofree char *directory = g_path_get_dirname(agent->path);
    if (agent->named)
        return discovery_open_directory(directory, &agent->process);
    return open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* A connected socket, or -1 with errno. The directory is pinned, so what was checked is what is used, and the address
 * stays short enough for sockaddr_un however long the path is. */
static int
connect_once(const AgentTarget *agent)
{
    int directory = open_directory(agent);
    if (directory < 0)
        return -1;
    g_autofree char *name = g_path_get_basename(agent->path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = g_snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory, name);
    int fd = -1;
    if (length >= (int)sizeof(address.sun_path))
        errno = ENAMETOOLONG;
    else
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        int saved = errno;
        close(fd);
        fd = -1;
        errno = saved;
    }
    int saved = errno;
    close(directory);
    errno = saved;
    return fd;
}

static gboolean
set_gone(AgentTarget *agent, GError **error)
{
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_GONE, "%s has ended", agent->target.label);
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
    g_set_error(error, TARGET_ERROR, denied ? TARGET_ERROR_PERMISSION : TARGET_ERROR_NO_AGENT,
                "no agent answers on %s: %s; 'jescope ps' lists the processes that can be reached", agent->path,
                g_strerror(code));
    return FALSE;
}

/* Who called listen() on the other side: the kernel says so, nobody can pretend. */
static gboolean
check_peer(AgentTarget *agent, int fd, GError **error)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return set_unreachable(agent, errno, error);
    if (geteuid() != 0 && peer.uid != 0 && peer.uid != geteuid()) {
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_PERMISSION,
                    "%s is answered by user %u, who is neither you nor root; run jescope as that user or as root",
                    agent->path, peer.uid);
        return FALSE;
    }
    if (agent->known && peer.pid != agent->process.pid) {
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_PROTOCOL, "%s is answered by process %d, not by %s", agent->path,
                    (int)peer.pid, agent->target.label);
        return FALSE;
    }
    if (!agent->known)
        agent->known = peer.pid != 0 && process_read(peer.pid, &agent->process);
    return TRUE;
}

static gboolean
passing(int code)
{
    return code == ECONNREFUSED || code == ECONNRESET || code == EPIPE || code == EAGAIN;
}

/* UNTIL: a moment of g_get_monotonic_time(). A target that closes all its descriptors takes the agent's along; the
 * agent notices and listens again a moment later. */
static gboolean
connect_until(AgentTarget *agent, gint64 until, GError **error)
{
    int fd;
    while ((fd = connect_once(agent)) < 0 && passing(errno) && g_get_monotonic_time() < until && alive(agent))
        g_usleep(RETRY_INTERVAL_US);
    if (fd < 0)
        return set_unreachable(agent, errno, error);
    if (!check_peer(agent, fd, error)) {
        close(fd);
        return FALSE;
    }
    agent->socket = fd;
    return TRUE;
}

static Sent
set_silent(AgentTarget *agent, const Exchange *exchange, GError **error)
{
    Process now;
    gboolean stopped = agent->known && process_read(agent->process.pid, &now) && (now.state == 'T' || now.state == 't');
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_SILENT, "%s did not answer within %g s%s", agent->target.label,
                exchange->deadline / 1000.0, stopped ? "; it is stopped, continue it with SIGCONT" : "");
    return SENT_FAILED;
}

/* SENT_ANSWERED: ready for EVENTS. */
static Sent
wait_for(AgentTarget *agent, short events, const Exchange *exchange, gint64 until)
{
    struct pollfd poll_fd = {.fd = agent->socket, .events = events};
    for (;;) {
        gint64 left = until - g_get_monotonic_time();
        int ready = left > 0 ? poll(&poll_fd, 1, (int)(left / MS) + 1) : 0;
        if (ready > 0)
            return SENT_ANSWERED;
        if (ready == 0)
            return SENT_FAILED;
        if (errno != EINTR)
            return SENT_LOST;
    }
}

static Sent
send_request(AgentTarget *agent, Exchange *exchange, gint64 until, GError **error)
{
    struct iovec part = {.iov_base = exchange->request, .iov_len = exchange->request_size};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (exchange->descriptor >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &exchange->descriptor, sizeof(int));
    }
    for (;;) {
        if (sendmsg(agent->socket, &message, MSG_NOSIGNAL) >= 0)
            return SENT_ANSWERED;
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return SENT_LOST;
        Sent waited = wait_for(agent, POLLOUT, exchange, until);
        if (waited != SENT_ANSWERED)
            return waited == SENT_FAILED ? set_silent(agent, exchange, error) : waited;
    }
}

static Sent
set_nonsense(AgentTarget *agent, const char *what, GError **error)
{
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_PROTOCOL, "%s gave %s; is its agent of another version of jescope?",
                agent->target.label, what);
    return SENT_FAILED;
}

/* LENGTH bytes arrived; an answer of another size than expected is an error reply or none at all. */
static Sent
check_reply(AgentTarget *agent, Exchange *exchange, size_t length, GError **error)
{
    const WireReply *reply = &exchange->reply;
    const WireHeader *request = exchange->request;
    if (length < sizeof(WireReply) || reply->header.magic != WIRE_MAGIC || reply->header.size != length ||
        reply->header.sequence != request->sequence || reply->header.op != request->op)
        return set_nonsense(agent, "an answer that is none", error);
    if (length != exchange->reply_size && (length != sizeof(WireReply) || reply->status == WIRE_STATUS_OK))
        return set_nonsense(agent, "an answer of the wrong size", error);
    return SENT_ANSWERED;
}

/* No room for control data is given, so descriptors that a hostile peer sends along are closed by the kernel. */
static Sent
receive_reply(AgentTarget *agent, Exchange *exchange, gint64 until, GError **error)
{
    Sent waited = wait_for(agent, POLLIN, exchange, until);
    if (waited != SENT_ANSWERED)
        return waited == SENT_FAILED ? set_silent(agent, exchange, error) : waited;
    memset(exchange->bytes, 0, sizeof(exchange->bytes));
    ssize_t length = recv(agent->socket, exchange->bytes, sizeof(exchange->bytes), MSG_TRUNC);
    if (length > (ssize_t)sizeof(exchange->bytes))
        return set_nonsense(agent, "an answer that is too long", error);
    if (length > 0)
        return check_reply(agent, exchange, (size_t)length, error);
    if (length == 0)
        errno = ECONNRESET;
    return SENT_LOST;
}

static Sent
try_once(AgentTarget *agent, Exchange *exchange, GError **error)
{
    gint64 until = g_get_monotonic_time() + (gint64)exchange->deadline * MS;
    exchange->request->sequence = ++agent->sequence;
    Sent sent = send_request(agent, exchange, until, error);
    return sent == SENT_ANSWERED ? receive_reply(agent, exchange, until, error) : sent;
}

static gboolean
exchange_here(AgentTarget *agent, Exchange *exchange, GError **error)
{
    gsize length = 0;
    exchange->request->sequence = ++agent->sequence;
    memset(exchange->bytes, 0, sizeof(exchange->bytes));
    return agent->through(exchange->request, exchange->request_size, exchange->descriptor, exchange->bytes, &length,
                          error) &&
           check_reply(agent, exchange, length, error) == SENT_ANSWERED;
}

/* Asks until there is an answer of the right form, connecting anew for a while if the connection breaks. Every request
 * may be repeated: it sets a state or writes to a memfd that is emptied before. */
static gboolean
exchange_message(AgentTarget *agent, Exchange *exchange, GError **error)
{
    if (agent->through != NULL)
        return exchange_here(agent, exchange, error);
    gint64 until = g_get_monotonic_time() + (gint64)agent->deadlines.connect * MS;
    for (;;) {
        if (agent->socket < 0 && !connect_until(agent, until, error))
            return FALSE;
        Sent sent = try_once(agent, exchange, error);
        if (sent == SENT_ANSWERED)
            return TRUE;
        int code = errno;
        disconnect(agent); /* a late answer must not be taken for the next one */
        if (sent == SENT_FAILED)
            return FALSE;
        if (!alive(agent) || !passing(code) || g_get_monotonic_time() >= until)
            return set_unreachable(agent, code, error);
        g_usleep(RETRY_INTERVAL_US);
        if (exchange->descriptor >= 0 && ftruncate(exchange->descriptor, 0) == 0)
            lseek(exchange->descriptor, 0, SEEK_SET);
    }
}

static Exchange
exchange_for(AgentTarget *agent, WireOp op, void *request, size_t request_size)
{
    WireHeader *header = request;
    *header = (WireHeader){
        .magic = WIRE_MAGIC, .version = WIRE_VERSION_MAX, .op = (uint16_t)op, .size = (uint32_t)request_size};
    return (Exchange){
        .request = header, .request_size = request_size, .descriptor = -1, .deadline = agent->deadlines.answer};
}

static gboolean agent_hello(Target *target, WireHelloReply *hello, GError **error);

static void
set_cannot_profile(Target *target, GError **error)
{
    WireHelloReply hello;
    if (!agent_hello(target, &hello, error))
        return;
    g_autofree char *why = diagnosis_profiling(&hello);
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_PROFILING, "cannot profile %s: %s", target->label,
                why != NULL ? why : "its jemalloc refuses");
}

static void
set_busy(Target *target, const Exchange *exchange, GError **error)
{
    guint64 left = exchange->reply.header.size == sizeof(WireLeaseReply) ? exchange->lease.lease.remaining_ms : 0;
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_BUSY,
                "%s is being profiled already, for another %" G_GUINT64_FORMAT
                " s; wait, or end that with 'jescope disable %d'",
                target->label, (left + 999) / 1000, (int)target->pid);
}

/* WHAT the request was about: the name of a control, "dump"... */
static gboolean
set_refused(Target *target, const Exchange *exchange, const char *what, GError **error)
{
    const char *reason = g_strerror(exchange->reply.error);
    target->failure = exchange->reply.error;
    switch (exchange->reply.status) {
    case WIRE_STATUS_PROF_DISABLED:
        set_cannot_profile(target, error);
        break;
    case WIRE_STATUS_BUSY:
        set_busy(target, exchange, error);
        break;
    case WIRE_STATUS_NOT_ALLOWED:
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_NOT_ALLOWED, "%s: the agent does not let '%s' be written",
                    target->label, what);
        break;
    case WIRE_STATUS_CONTROL_FAILED:
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_CONTROL, "%s: jemalloc refused '%s': %s", target->label, what,
                    reason);
        break;
    case WIRE_STATUS_NO_LEASE:
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_NO_LEASE, "%s: somebody else has ended this recording",
                    target->label);
        break;
    case WIRE_STATUS_WRITE_FAILED:
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_OUTPUT, "%s could not write its %s: %s", target->label, what,
                    reason);
        break;
    default:
        g_set_error(
            error, TARGET_ERROR, TARGET_ERROR_PROTOCOL,
            "%s does not understand the request for '%s' (status %u); is its agent of another version of jescope?",
            target->label, what, exchange->reply.status);
    }
    return FALSE;
}

/* A whole transaction: TRUE only if the answer is there and says OK. */
static gboolean
transact(AgentTarget *agent, Exchange *exchange, const char *what, GError **error)
{
    if (!exchange_message(agent, exchange, error))
        return FALSE;
    if (exchange->reply.status == WIRE_STATUS_OK)
        return TRUE;
    return set_refused(&agent->target, exchange, what, error);
}

static const guint64 lease_ms_max = G_GUINT64_CONSTANT(30) * 24 * 3600 * 1000;

static void
clean_lease(WireLease *lease)
{
    lease->remaining_ms = MIN(lease->remaining_ms, lease_ms_max);
    lease->active = lease->active != 0;
    lease->restores = lease->restores != 0;
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
}

static gboolean
agent_hello(Target *target, WireHelloReply *hello, GError **error)
{
    AgentTarget *agent = agent_of(target);
    WireHelloRequest request = {.version_min = WIRE_VERSION_MIN, .version_max = WIRE_VERSION_MAX};
    Exchange exchange = exchange_for(agent, WIRE_OP_HELLO, &request, sizeof(request));
    exchange.reply_size = sizeof(WireHelloReply);
    if (!exchange_message(agent, &exchange, error))
        return FALSE;
    if (exchange.reply.status == WIRE_STATUS_BAD_VERSION) {
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_PROTOCOL,
                    "the agent of %s speaks another protocol than %d; use the jescope that came with it", target->label,
                    WIRE_VERSION_MAX);
        return FALSE;
    }
    if (exchange.reply.status != WIRE_STATUS_OK)
        return set_refused(target, &exchange, "hello", error);
    clean_hello(&exchange.hello);
    *hello = exchange.hello;
    return TRUE;
}

static gboolean
agent_ctl(Target *target, WireCtlRequest *request, ControlValue *value, GError **error)
{
    AgentTarget *agent = agent_of(target);
    Exchange exchange = exchange_for(agent, WIRE_OP_CTL, request, sizeof(*request));
    exchange.reply_size = sizeof(WireCtlReply);
    /* A purge of a large heap takes its time. */
    if (request->type == WIRE_TYPE_NONE)
        exchange.deadline = agent->deadlines.output;
    if (!transact(agent, &exchange, request->name, error))
        return FALSE;
    text_clean(exchange.ctl.text, sizeof(exchange.ctl.text));
    if (value != NULL) {
        value->value = exchange.ctl.value;
        value->truncated = exchange.ctl.truncated != 0;
        memcpy(value->text, exchange.ctl.text, sizeof(value->text));
    }
    return TRUE;
}

static gboolean
agent_read(Target *target, const char *control, WireType type, ControlValue *value, GError **error)
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

/* Rows FROM and on, as many as the agent gives at once. Returns their number, 0 on error. */
static guint
sample_some(AgentTarget *agent, WireSampleRequest *request, guint n, guint64 *rows, guint64 *spent_ns, GError **error)
{
    Exchange exchange = exchange_for(agent, WIRE_OP_SAMPLE, request, sizeof(*request));
    exchange.reply_size = sizeof(WireSampleReply);
    if (!transact(agent, &exchange, "statistics", error))
        return 0;
    guint got = exchange.sample.rows;
    if (got == 0 || got > request->count || got > WIRE_SAMPLE_WORDS / (1 + n)) {
        set_nonsense(agent, "more or fewer numbers than were asked for", error);
        return 0;
    }
    memcpy(rows, exchange.sample.words, (gsize)got * (1 + n) * sizeof(guint64));
    if (spent_ns != NULL)
        *spent_ns += exchange.sample.duration_ns;
    return got;
}

static gboolean
agent_sample(Target *target, const SampleRequest *sample, guint64 *rows, guint64 *spent_ns, GError **error)
{
    AgentTarget *agent = agent_of(target);
    WireSampleRequest request = {.flags = sample->refresh ? WIRE_SAMPLE_REFRESH : 0};
    gsize length = 0;
    for (guint i = 0; i < sample->n; i++)
        length += strlen(sample->names + length) + 1;
    g_return_val_if_fail(length < sizeof(request.names) && sample->n <= WIRE_SAMPLE_CONTROLS_MAX, FALSE);
    memcpy(request.names, sample->names, length);
    for (guint done = 0; done < sample->count;) {
        request.first = sample->first + done;
        request.count = sample->count - done;
        guint got = sample_some(agent, &request, sample->n, rows + (gsize)done * (1 + sample->n), spent_ns, error);
        if (got == 0)
            return FALSE;
        done += got;
        request.flags = 0;
    }
    return TRUE;
}

/* The target keeps a descriptor of the memfd; sealed, nobody can change what we are about to read. */
static gboolean
seal_output(AgentTarget *agent, int fd, guint64 bytes, GError **error)
{
    struct stat st;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0 || fstat(fd, &st) != 0 ||
        lseek(fd, 0, SEEK_SET) != 0) {
        set_nonsense(agent, "back a memory file that it still holds on to", error);
        return FALSE;
    }
    if (bytes == 0 || (guint64)st.st_size != bytes) {
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_PROTOCOL,
                    "%s says it wrote %" G_GUINT64_FORMAT " bytes, but %lld arrived", agent->target.label, bytes,
                    (long long)st.st_size);
        return FALSE;
    }
    return TRUE;
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
    exchange.reply_size = sizeof(WireOutputReply);
    exchange.deadline = agent->deadlines.output;
    exchange.descriptor = memfd_create("jescope", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (exchange.descriptor < 0) {
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_OUTPUT, "cannot make a memory file: %s", g_strerror(errno));
        return -1;
    }
    const char *what = letters == NULL ? "heap dump" : "statistics";
    g_autoptr(GError) cause = NULL;
    if (transact(agent, &exchange, what, &cause) &&
        seal_output(agent, exchange.descriptor, exchange.output.bytes, &cause))
        return exchange.descriptor;
    close(exchange.descriptor);
    if (g_error_matches(cause, TARGET_ERROR, TARGET_ERROR_GONE))
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_GONE, "%s ended before its %s was whole; nothing of it is kept",
                    target->label, what);
    else
        g_propagate_error(error, g_steal_pointer(&cause));
    return -1;
}

static gboolean
agent_lease(Target *target, const LeaseRequest *lease_request, WireLease *lease, GError **error)
{
    AgentTarget *agent = agent_of(target);
    WireLeaseRequest request = {
        .action = lease_request->action,
        .lease_id = lease_request->id,
        .duration_ms = lease_request->duration_ms,
        .active = lease_request->active != FALSE,
    };
    Exchange exchange = exchange_for(agent, WIRE_OP_LEASE, &request, sizeof(request));
    exchange.reply_size = sizeof(WireLeaseReply);
    if (!transact(agent, &exchange, "prof.active", error))
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
    exchange.reply_size = sizeof(WireReply);
    if (!transact(agent, &exchange, "leave", error))
        return FALSE;
    gint64 until = g_get_monotonic_time() + (gint64)agent->deadlines.answer * MS;
    if (wait_for(agent, POLLIN, &exchange, until) == SENT_FAILED) {
        set_silent(agent, &exchange, error);
        return FALSE;
    }
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
    agent->socket = -1;
    agent->named = agent->known = address->process != NULL;
    if (agent->named) {
        agent->process = *address->process;
        target->pid = agent->process.pid;
    }
    target_set_name(target, agent->named ? agent->process.name : address->path);
    WireHelloReply hello;
    if (!agent_hello(target, &hello, error))
        return NULL;
    if (!agent->named) {
        target->pid = agent->known ? agent->process.pid : 0;
        target_set_name(target, hello.name);
    }
    return g_steal_pointer(&target);
}

/* Ending the thread is the program's own affair (jescope_stop()). */
static const TargetOps here_ops = {
    .via = TARGET_VIA_INSIDE,
    .hello = agent_hello,
    .read = agent_read,
    .write = agent_write,
    .sample = agent_sample,
    .output = agent_output,
    .lease = agent_lease,
    .free = agent_free,
};

Target *
agent_open_through(AgentThrough through, GError **error)
{
    AgentTarget *agent = g_new0(AgentTarget, 1);
    g_autoptr(Target) target = &agent->target;
    target->ops = &here_ops;
    target->pid = getpid();
    agent->through = through;
    agent->socket = -1;
    agent->named = agent->known = process_read(target->pid, &agent->process);
    target_set_name(target, agent->named ? agent->process.name : "this process");
    WireHelloReply hello;
    return agent_hello(target, &hello, error) ? g_steal_pointer(&target) : NULL;
}
