/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/relay.h"

#include "confine/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    WAKE_MS = 500,   /* what a close may take at most that waits for a signal */
    LAST_MS = 10000, /* for what the peer has not read once our side is closed */
    CHUNK = 16 * 1024,
};

/* What was read from one side and is not yet written to the other. */
typedef struct {
    char bytes[CHUNK];
    size_t begin, end;
    gboolean ended; /* nothing more is read */
} Flow;

typedef struct {
    int peer, ours;
    uid_t user;   /* of the peer */
    Flow in, out; /* to us, and to the peer */
} Relay;

static void
on_wake(int signal_number)
{
}

/* Interrupts what this thread waits for, again and again. */
static gboolean
wake_regularly(timer_t *timer)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
    const struct timespec period = {.tv_nsec = WAKE_MS * 1000000L};
    const struct itimerspec times = {.it_interval = period, .it_value = period};
    const struct sigaction action = {.sa_handler = on_wake};
    sigset_t wake;
    event._sigev_un._tid = gettid();
    sigemptyset(&wake);
    sigaddset(&wake, SIGURG);
    return sigaction(SIGURG, &action, NULL) == 0 && pthread_sigmask(SIG_UNBLOCK, &wake, NULL) == 0 &&
           timer_create(CLOCK_MONOTONIC, &event, timer) == 0 && timer_settime(*timer, 0, &times, NULL) == 0;
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

static void
read_some(Flow *flow, int from)
{
    const ssize_t length = recv(from, flow->bytes, sizeof(flow->bytes), MSG_DONTWAIT);
    if (length > 0)
        flow->end = (size_t)length;
    else if (length == 0 || !may_succeed_later())
        flow->ended = TRUE;
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

/* Until our side has closed and the peer has the rest, or does not read it. */
static void
pass_all(Relay *relay)
{
    gint64 end = G_MAXINT64; /* monotonic, in microseconds */
    gboolean told = FALSE;
    while (!(relay->out.ended && relay->out.end == 0) && g_get_monotonic_time() < end) {
        struct pollfd sides[] = {side_of(relay->peer, &relay->in, &relay->out),
                                 side_of(relay->ours, &relay->out, &relay->in)};
        /* The regular signal ends the wait, so that the time is looked at. */
        if (poll(sides, G_N_ELEMENTS(sides), -1) < 0)
            continue;
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

static gpointer
run(gpointer data)
{
    Relay *relay = data;
    timer_t timer;
    const gboolean woken = wake_regularly(&timer);
    if (woken)
        pass_all(relay);
    close(relay->ours);
    /* Descriptors that were not received are closed along with it. */
    if (woken) {
        close(relay->peer);
        timer_delete(timer);
    } else {
        aside_close(relay->peer, relay->user);
    }
    g_free(relay);
    return NULL;
}

static gboolean
start(const Relay *relay)
{
    Relay *own = g_memdup2(relay, sizeof(*relay));
    GThread *thread = g_thread_try_new("relay", run, own, NULL);
    if (thread != NULL)
        g_thread_unref(thread);
    else
        g_free(own);
    return thread != NULL;
}

gboolean
relay_insert(int fd, uid_t user)
{
    int pair[2];
    const int peer = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (peer < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
        shutdown(fd, SHUT_RDWR);
        if (peer >= 0)
            close(peer);
        return FALSE;
    }
    dup3(pair[0], fd, O_CLOEXEC);
    close(pair[0]);
    const gboolean started = start(&(Relay){.peer = peer, .ours = pair[1], .user = user});
    if (!started) {
        close(pair[1]);
        aside_close(peer, user);
    }
    return started;
}
