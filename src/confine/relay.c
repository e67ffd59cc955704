/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/relay.h"

#include "confine/closing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    WAKE_MS = 500,     /* what a close may take at most that waits for a signal */
    LAST_MS = 10000,   /* for what the peer has not read once our side is closed */
    ENDED_WAKE_MS = 1, /* as WAKE_MS, at the end, */
    ENDED_MS = 100,    /* and what it may take to receive what the peer has sent until then */
    CHUNK = 16 * 1024,
};

/* What was read from one side and is not yet written to the other. */
typedef struct {
    char bytes[CHUNK];
    size_t begin, end;
    gboolean ended;   /* nothing more is read */
    gboolean refused; /* because of descriptors */
} Flow;

struct Relay {
    gatomicrefcount references; /* of its thread and its owner */
    GMutex lock;                /* of what follows */
    gboolean closing;           /* the peer's socket is not to be used by the owner */
    gboolean woken;             /* there is a timer */
    gboolean cut;               /* it is to end at once */
    timer_t timer;
    /* Of the thread. */
    gint ended;  /* atomic */
    gint pieces; /* atomic */
    int peer, ours;
    uid_t user;   /* of the peer */
    Flow in, out; /* to us, and to the peer */
};

static void
set_period(timer_t timer, gint ms)
{
    const struct timespec period = {.tv_nsec = ms * 1000000L};
    const struct itimerspec times = {.it_interval = period, .it_value = period};
    timer_settime(timer, 0, &times, NULL);
}

static void
on_wake(int signal_number)
{
}

/* Interrupts what this thread waits for, again and again. */
static gboolean
wake_regularly(Relay *relay)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
    const struct sigaction action = {.sa_handler = on_wake};
    sigset_t wake;
    event._sigev_un._tid = gettid();
    sigemptyset(&wake);
    sigaddset(&wake, SIGURG);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&relay->lock);
    relay->woken = sigaction(SIGURG, &action, NULL) == 0 && pthread_sigmask(SIG_UNBLOCK, &wake, NULL) == 0 &&
                   timer_create(CLOCK_MONOTONIC, &event, &relay->timer) == 0;
    if (relay->woken)
        set_period(relay->timer, relay->cut ? ENDED_WAKE_MS : WAKE_MS);
    return relay->woken;
}

static gboolean
is_cut(Relay *relay)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&relay->lock);
    return relay->cut;
}

static gboolean
may_succeed_later(void)
{
    return errno == EAGAIN || errno == EINTR;
}

static gboolean
wants_to_read(const Flow *flow)
{
    return flow->end == 0 && !flow->ended;
}

/* As recv(), but fails with EBADMSG before it receives anything that came along with descriptors: the kernel would
 * close these at once in this thread, which can take long and does not end on a signal. To look at them leaves them
 * open. */
static ssize_t
receive_bytes(int fd, char *bytes, size_t size)
{
    struct iovec piece = {bytes, size};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1}; /* without room for descriptors: MSG_CTRUNC */
    const ssize_t length = recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT);
    if (length >= 0 && (message.msg_flags & MSG_CTRUNC) != 0) {
        errno = EBADMSG;
        return -1;
    }
    return length > 0 ? recv(fd, bytes, (size_t)length, MSG_DONTWAIT) : length;
}

static void
read_some(Flow *flow, int from)
{
    const ssize_t length = receive_bytes(from, flow->bytes, sizeof(flow->bytes));
    if (length > 0)
        flow->end = (size_t)length;
    else if (length == 0 || !may_succeed_later())
        flow->ended = TRUE;
    flow->refused = length < 0 && errno == EBADMSG;
}

static void
discard(Flow *flow)
{
    flow->ended = TRUE;
    flow->begin = flow->end = 0;
}

static void
write_some(Flow *flow, int to)
{
    const ssize_t length = send(to, flow->bytes + flow->begin, flow->end - flow->begin, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (length < 0 && !may_succeed_later())
        discard(flow); /* it cannot arrive */
    else if (length > 0 && (flow->begin += (size_t)length) == flow->end)
        flow->begin = flow->end = 0;
}

/* A side is watched only for what can be done there: poll() would report again and again that it is closed. */
static struct pollfd
side_of(int fd, const Flow *from, const Flow *to)
{
    const short events = (short)((wants_to_read(from) ? POLLIN : 0) | (to->end > 0 ? POLLOUT : 0));
    return (struct pollfd){.fd = events != 0 ? fd : -1, .events = events};
}

static void
pass(Flow *flow, int from, int to, const struct pollfd *side)
{
    if (side->revents != 0 && wants_to_read(flow))
        read_some(flow, from);
    if (flow->end > 0)
        write_some(flow, to);
}

/* What is sent as urgent data (MSG_OOB) is passed over by a look, and dropped, along with its descriptors, by the next
 * recv(): it is to be a part of what is received. */
static gboolean
receive_urgent_data(int fd)
{
    const int inlined = 1;
    return setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &inlined, sizeof(inlined)) == 0;
}

/* Until our side has closed and the peer has the rest, or does not read it, or the peer sends descriptors. */
static void
pass_all(Relay *relay)
{
    gint64 end = G_MAXINT64; /* monotonic, in microseconds */
    gboolean told = FALSE;
    while (!(relay->out.ended && relay->out.end == 0) && g_get_monotonic_time() < end && !relay->in.refused &&
           !is_cut(relay)) {
        struct pollfd sides[] = {side_of(relay->peer, &relay->in, &relay->out),
                                 side_of(relay->ours, &relay->out, &relay->in)};
        /* The regular signal ends the wait, so that the time is looked at. */
        if (poll(sides, G_N_ELEMENTS(sides), -1) < 0)
            continue;
        if (sides[0].revents & POLLIN)
            g_atomic_int_inc(&relay->pieces);
        pass(&relay->in, relay->peer, relay->ours, &sides[0]);
        pass(&relay->out, relay->ours, relay->peer, &sides[1]);
        if (relay->in.ended && relay->in.end == 0 && !told) {
            shutdown(relay->ours, SHUT_WR);
            told = TRUE;
        }
        if (relay->out.ended && end == G_MAXINT64) {
            discard(&relay->in);
            end = g_get_monotonic_time() + LAST_MS * G_TIME_SPAN_MILLISECOND;
        }
    }
}

/* Receives what the peer has sent before it was shut down. FALSE: there are descriptors, or it takes too long. */
static gboolean
receive_rest(Relay *relay)
{
    const gint64 end = g_get_monotonic_time() + ENDED_MS * G_TIME_SPAN_MILLISECOND;
    ssize_t length = 1;
    while (length != 0 && g_get_monotonic_time() < end) {
        length = receive_bytes(relay->peer, relay->in.bytes, sizeof(relay->in.bytes));
        if (length < 0 && errno != EINTR)
            return errno != EBADMSG;
    }
    return length == 0;
}

static void
stop_waking(Relay *relay)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&relay->lock);
    if (relay->woken)
        timer_delete(relay->timer);
    relay->woken = FALSE;
}

/* From now on, the owner does not shut the peer down. */
static void
disconnect(Relay *relay)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&relay->lock);
    relay->closing = TRUE;
    shutdown(relay->peer, SHUT_RDWR);
    if (relay->woken)
        set_period(relay->timer, ENDED_WAKE_MS);
}

static gpointer
run(gpointer data)
{
    Relay *relay = data;
    const gboolean ready = receive_urgent_data(relay->peer) && wake_regularly(relay);
    if (ready)
        pass_all(relay);
    disconnect(relay);
    close(relay->ours);
    /* Descriptors that were not received are closed along with it. */
    if (ready && receive_rest(relay))
        close(relay->peer);
    else
        closing_add(relay->peer, relay->user);
    stop_waking(relay);
    g_atomic_int_set(&relay->ended, 1);
    relay_release(relay);
    return NULL;
}

static gboolean
start(Relay *relay)
{
    GThread *thread = g_thread_try_new("relay", run, relay, NULL);
    if (thread != NULL)
        g_thread_unref(thread);
    return thread != NULL;
}

Relay *
relay_insert(int fd, uid_t user)
{
    int pair[2];
    const int peer = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (peer < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
        shutdown(fd, SHUT_RDWR);
        if (peer >= 0)
            close(peer);
        return NULL;
    }
    dup3(pair[0], fd, O_CLOEXEC);
    close(pair[0]);
    Relay *relay = g_new0(Relay, 1);
    *relay = (Relay){.peer = peer, .ours = pair[1], .user = user};
    g_mutex_init(&relay->lock);
    g_atomic_ref_count_init(&relay->references);
    g_atomic_ref_count_inc(&relay->references);
    if (start(relay))
        return relay;
    close(pair[1]);
    closing_add(peer, user);
    relay_release(relay);
    relay_release(relay);
    return NULL;
}

guint
relay_pieces(Relay *relay)
{
    return (guint)g_atomic_int_get(&relay->pieces);
}

gboolean
relay_has_ended(Relay *relay)
{
    return g_atomic_int_get(&relay->ended) != 0;
}

void
relay_release(Relay *relay)
{
    if (!g_atomic_ref_count_dec(&relay->references))
        return;
    g_mutex_clear(&relay->lock);
    g_free(relay);
}

void
relay_cut(Relay *relay)
{
    g_mutex_lock(&relay->lock);
    if (!relay->closing) {
        shutdown(relay->peer, SHUT_RDWR);
        relay->cut = TRUE;
        if (relay->woken)
            set_period(relay->timer, ENDED_WAKE_MS);
    }
    g_mutex_unlock(&relay->lock);
    relay_release(relay);
}

/* Whether nothing is unread at FD, which is shut down, or bytes alone. */
static gboolean
has_no_descriptors(int fd)
{
    char bytes[CHUNK];
    struct iovec piece = {bytes, sizeof(bytes)};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1}; /* without room for descriptors: MSG_CTRUNC */
    int unread = 0;
    if (ioctl(fd, FIONREAD, &unread) != 0)
        return FALSE;
    return unread == 0 ||
           (recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT) == unread && (message.msg_flags & MSG_CTRUNC) == 0);
}

void
relay_refuse(int fd, uid_t user)
{
    shutdown(fd, SHUT_RDWR);
    if (has_no_descriptors(fd))
        return;
    const int peer = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    const int other = peer >= 0 ? socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) : -1;
    if (other >= 0) {
        dup3(other, fd, O_CLOEXEC); /* the caller may be later than the thread, and must not close the last reference */
        close(other);
    }
    if (peer >= 0)
        closing_add(peer, user);
}
