/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/server.h"

#include "agent/debug.h"
#include "agent/filter.h"
#include "agent/listener.h"
#include "agent/request.h"
#include "agent/sampler.h"
#include "agent/turn.h"
#include "agent/waker.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SESSIONS_MAX = 16,
    IDLE_MAX_MS = 10 * 60 * 1000,
    FIRST_REQUEST_MAX_MS = 10 * 1000, /* limit for clients that have sent nothing */
    LISTEN_AGAIN_MS = 30 * 1000,      /* after the socket could not be made */
    CHECK_SHARED_MS = 500,            /* see next_timeout(); clients try again for a second */
    /*
     * A process that changes its user interrupts the agent's sleep (the C library does so in each thread), unless the
     * agent is not asleep at that moment. Daemons do so when they start, so during their first seconds the agent checks
     * by itself.
     */
    LOOK_FIRST_MS = 50,
    LOOK_LAST_MS = 7 * 1000,
    FILTER_LOOK_MS = 20, /* between looks at the program's filters, which follow requests */
    TRY_AGAIN_MS = 200,  /* after a shortage of descriptors or memory: poll() would spin on the waiting client */
};

typedef struct {
    Descriptor socket; /* none: a free place */
    uint64_t last_ms;  /* last request, or the connection itself */
    bool has_spoken;
} Session;

/* For the thread that has the turn, except server_abandon() in a child without threads and listener_remove(). */
static struct {
    Listener listener;
    uint64_t listen_at_ms; /* not before */
    uint64_t look_at_ms;   /* when to check whether the socket is still in its place; UINT64_MAX: only on events */
    uint64_t look_pause_ms;
    uint64_t accept_at_ms;
    uint64_t filter_look_at_ms; /* not before */
    Session sessions[SESSIONS_MAX];
    WireRequest request;
    WireAnswer answer;
} server;

static atomic_bool leaving;

static void
close_session(Guest *guest, Session *session)
{
    descriptor_close(&session->socket);
    guest->n_clients--;
}

/* A free slot, else that of the client that has been silent longest. */
static Session *
make_room(Guest *guest)
{
    Session *oldest = &server.sessions[0];
    for (int i = 0; i < SESSIONS_MAX; i++) {
        Session *session = &server.sessions[i];
        if (session->socket.number < 0)
            return session;
        if (session->last_ms < oldest->last_ms)
            oldest = session;
    }
    close_session(guest, oldest);
    return oldest;
}

static void
accept_client(Guest *guest, uint64_t now)
{
    Descriptor socket = DESCRIPTOR_NONE;
    int raw = listener_accept(&server.listener);
    if (raw < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
        server.accept_at_ms = now + TRY_AGAIN_MS;
    if (!descriptor_adopt(&socket, raw))
        return;
    guest_settle(guest);
    if (!guest_examine(guest)) {
        debug_log("the library found does not behave like jemalloc", NULL, 0);
        descriptor_close(&socket);
        guest->leaves = true;
        return;
    }
    Session *session = make_room(guest);
    *session = (Session){.socket = socket, .last_ms = now};
    guest->n_clients++;
}

/*
 * Receives one message into server.request, with at most one descriptor: the kernel closes further ones, for which
 * there is no room. Returns its size, 0 at the end of the connection, -1 on error; for a message that is too large, one
 * byte more than allowed.
 */
static ssize_t
receive(const Session *session, Descriptor *descriptor)
{
    union {
        struct cmsghdr header;
        unsigned char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {&server.request, sizeof(server.request)};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_LEN(sizeof(int)),
    };
    memset(&server.request, 0, sizeof(server.request));
    ssize_t n = recvmsg(session->socket.number, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
    if (n < 0)
        return n;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int))) {
        int raw;
        memcpy(&raw, CMSG_DATA(header), sizeof(raw));
        descriptor_adopt(descriptor, raw);
    }
    return n;
}

/* False if the client has disconnected or does not read its reply. */
static bool
serve(Guest *guest, const Session *session)
{
    Descriptor descriptor = DESCRIPTOR_NONE;
    ssize_t n = receive(session, &descriptor);
    if (n <= 0) {
        descriptor_close(&descriptor);
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
    /* With MSG_TRUNC, n is the message's own size: one that is too large matches no request's. */
    size_t size = request_answer(guest, &server.request, (size_t)n, &descriptor, &server.answer);
    descriptor_close(&descriptor);
    return descriptor_is_ours(&session->socket) &&
           send(session->socket.number, &server.answer, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
}

static uint64_t
session_deadline(const Session *session)
{
    return session->last_ms + (session->has_spoken ? IDLE_MAX_MS : FIRST_REQUEST_MAX_MS);
}

/*
 * Called after poll(), so that a message that arrived during another client's dump counts. A session whose descriptor
 * the host has replaced is dropped too.
 */
static void
serve_session(Guest *guest, Session *session, short events, uint64_t now)
{
    if (events == 0 && now < session_deadline(session) && descriptor_is_ours(&session->socket))
        return;
    if ((events & POLLIN) == 0 || !descriptor_is_ours(&session->socket) || !serve(guest, session)) {
        close_session(guest, session);
        return;
    }
    session->last_ms = now;
    session->has_spoken = true;
}

static uint64_t
next_session_deadline(void)
{
    uint64_t next = UINT64_MAX;
    for (int i = 0; i < SESSIONS_MAX; i++) {
        const Session *session = &server.sessions[i];
        if (session->socket.number >= 0 && session_deadline(session) < next)
            next = session_deadline(session);
    }
    return next;
}

static void
look_again_later(uint64_t now)
{
    if (now < server.look_at_ms)
        return;
    server.look_at_ms = server.look_pause_ms <= LOOK_LAST_MS ? now + server.look_pause_ms : UINT64_MAX;
    server.look_pause_ms *= 2;
}

static void
look_from_now_on(uint64_t now)
{
    server.look_at_ms = now;
    server.look_pause_ms = LOOK_FIRST_MS;
}

/*
 * If descriptors are shared with the host, it may have closed the listener, and the host may have changed its user; the
 * socket is then recreated. The agent may no longer be permitted to remove the earlier user's socket: root's jescope
 * does.
 */
static void
keep_listening(const Guest *guest, const Environment *environment, uint64_t now)
{
    if (leaving || guest->is_silent) {
        server.listen_at_ms = server.look_at_ms = UINT64_MAX;
        return;
    }
    look_again_later(now);
    bool outdated = listener_is_outdated(&server.listener);
    bool listens = descriptor_is_ours(&server.listener.socket);
    if (listens && outdated)
        listener_renew(&server.listener, environment, &guest->process);
    else if (!listens && (outdated || now >= server.listen_at_ms) &&
             !listener_open(&server.listener, environment, &guest->process))
        server.listen_at_ms = now + LISTEN_AGAIN_MS;
    if (outdated)
        look_from_now_on(now);
    if (leaving)
        listener_remove(&server.listener); /* the host began to exit in between and has not seen the new one */
}

static void
look_at_filter(uint64_t now)
{
    if (now >= server.filter_look_at_ms) {
        server.filter_look_at_ms = now + FILTER_LOOK_MS;
        filter_look();
    }
}

static int
until(uint64_t deadline, uint64_t now)
{
    if (deadline == UINT64_MAX)
        return -1;
    uint64_t left = deadline > now ? deadline - now : 0;
    return left < INT_MAX ? (int)left : INT_MAX;
}

static int
sooner(int a, int b)
{
    return b < 0 || (a >= 0 && a < b) ? a : b;
}

/*
 * The maximum time to sleep, until the lease, silent clients or retries are due; -1: no limit. A blocked poll() looks
 * up its descriptor numbers again when woken: if the host can replace the listener's, it may never report the agent's
 * events.
 */
static int
next_timeout(Guest *guest, uint64_t now)
{
    int timeout = sooner(until(next_session_deadline(), now), until(server.look_at_ms, now));
    if (guest->tick != NULL)
        timeout = sooner(timeout, guest->tick()); /* before the lease that it may count on */
    if (guest->profiling.lease.id != 0) {
        guest_settle(guest); /* in a child that inherited it */
        timeout = sooner(timeout, profiling_tick(&guest->profiling, &guest->allocator));
    }
    timeout = sooner(timeout, sampler_tick());
    if (guest->shares_descriptors || (guest->is_linked && waker_descriptor() < 0))
        timeout = sooner(timeout, CHECK_SHARED_MS);
    if (server.listener.socket.number < 0)
        timeout = sooner(timeout, until(server.listen_at_ms, now));
    else if (server.accept_at_ms > now)
        timeout = sooner(timeout, until(server.accept_at_ms, now));
    return timeout;
}

/* The poll set: the listener, the live sessions, and the waker if there is one. No further entries, since poll()
 * refuses more than RLIMIT_NOFILE. */
typedef struct {
    struct pollfd entries[1 + SESSIONS_MAX + 1];
    Session *sessions[1 + SESSIONS_MAX]; /* NULL for the listener, which is first */
    nfds_t n;                            /* without the waker */
    nfds_t n_all;
} Polled;

static void
fill_polled(Polled *polled, uint64_t now)
{
    /* poll() leaves out entries with a negative number. */
    int listener = now >= server.accept_at_ms ? server.listener.socket.number : -1;
    polled->entries[0] = (struct pollfd){.fd = listener, .events = POLLIN};
    polled->n = 1;
    for (int i = 0; i < SESSIONS_MAX; i++) {
        if (server.sessions[i].socket.number >= 0) {
            polled->entries[polled->n] = (struct pollfd){.fd = server.sessions[i].socket.number, .events = POLLIN};
            polled->sessions[polled->n] = &server.sessions[i];
            polled->n++;
        }
    }
    polled->n_all = polled->n;
    if (waker_descriptor() >= 0)
        polled->entries[polled->n_all++] = (struct pollfd){.fd = waker_descriptor(), .events = POLLIN};
}

/* The only time at which other threads get the turn. */
static int
sleep_until(Polled *polled, int timeout)
{
    turn_give();
    int n = poll(polled->entries, polled->n_all, timeout);
    if (n < 0 && errno != EINTR)
        poll(NULL, 0, TRY_AGAIN_MS); /* no memory, or a limit below the number of open descriptors: do not spin */
    turn_take();
    waker_clear();
    return n;
}

static void
serve_once(Guest *guest, const Environment *environment)
{
    Polled polled;
    uint64_t now = profiling_now_ms();
    keep_listening(guest, environment, now);
    look_at_filter(now);
    int timeout = next_timeout(guest, now);
    fill_polled(&polled, now);
    if (sleep_until(&polled, timeout) < 0)
        return;
    now = profiling_now_ms();
    for (nfds_t i = 1; i < polled.n && !guest->leaves; i++)
        serve_session(guest, polled.sessions[i], polled.entries[i].revents, now);
    if (polled.entries[0].revents != 0 && !guest->leaves && descriptor_is_ours(&server.listener.socket))
        accept_client(guest, now);
}

/* Ends the lease and jescope's sampler with the agent. */
static void
end_profiling(Guest *guest)
{
    if (guest->profiling.lease.id != 0 || sampler_is_active()) {
        guest_settle(guest);
        profiling_leave(&guest->profiling, &guest->allocator);
    }
    sampler_forget();
}

/* Applies JESCOPE_SAMPLER. Not in a child, which has its parent's state. */
static void
fulfil(Guest *guest, const SamplerWish *wish)
{
    bool before;
    if (guest->is_invited || guest->allocator.is_examined)
        return;
    if (wish->period != 0)
        sampler_reset(wish->period - 1);
    if (wish->memory != 0 && sampler_set_memory(wish->memory, SAMPLER_FROM_NOW_ON) != 0)
        debug_log("JESCOPE_SAMPLER: memory must be a power of two from 1 MiB to 1 GiB", NULL, 0);
    if (!wish->active)
        return;
    guest_settle(guest);
    if (guest_examine(guest) && profiling_sampler(&guest->profiling, &guest->allocator) == WIRE_SAMPLER_JESCOPE &&
        profiling_set_active(&guest->profiling, &guest->allocator, true, &before) != 0)
        debug_log("jescope's sampler cannot be switched on", NULL, 0);
}

void
server_run(Guest *guest, const Environment *environment)
{
    turn_take();
    fulfil(guest, &environment->sampler);
    guest->n_clients = 0;
    server.listener.socket = DESCRIPTOR_NONE;
    server.listener.user = geteuid();
    server.listen_at_ms = 0;
    server.accept_at_ms = 0;
    server.filter_look_at_ms = 0;
    look_from_now_on(profiling_now_ms());
    for (int i = 0; i < SESSIONS_MAX; i++)
        server.sessions[i].socket = DESCRIPTOR_NONE;
    if (guest->is_linked && !guest->shares_descriptors)
        waker_open();
    while (!guest->leaves)
        serve_once(guest, environment);
    end_profiling(guest);
    listener_remove(&server.listener);
    server_abandon();
    turn_give();
}

const char *
server_socket_path(void)
{
    return server.listener.bound ? server.listener.path : "";
}

void
server_forget(void)
{
    server.listener.bound = 0;
    waker_forget();
    server.listener.socket = DESCRIPTOR_NONE;
    for (int i = 0; i < SESSIONS_MAX; i++)
        server.sessions[i].socket = DESCRIPTOR_NONE;
}

void
server_abandon(void)
{
    descriptor_close(&server.listener.socket);
    for (int i = 0; i < SESSIONS_MAX; i++)
        descriptor_close(&server.sessions[i].socket);
    server_forget();
}

void
server_leave(void)
{
    leaving = true;
    listener_remove(&server.listener);
}
