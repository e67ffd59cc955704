/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/server.h"

#include "agent/debug.h"
#include "agent/listener.h"
#include "agent/request.h"
#include "agent/turn.h"
#include "agent/waker.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

enum {
    SESSIONS_MAX = 16,
    IDLE_MAX_MS = 10 * 60 * 1000,
    FIRST_REQUEST_MAX_MS = 10 * 1000, /* who connects and says nothing */
    LISTEN_AGAIN_MS = 30 * 1000,      /* after the socket could not be made */
    CHECK_SHARED_MS = 500,            /* see next_timeout(); clients try again for a second */
    TRY_AGAIN_MS = 200, /* after a shortage of descriptors or memory: poll() would spin on the waiting client */
};

typedef struct {
    Descriptor socket; /* none: a free place */
    uint64_t last_ms;  /* last request, or the connection itself */
    bool has_spoken;
} Session;

/* For the thread that has the turn, but for server_abandon() in a child without threads and listener_remove(). */
static struct {
    Listener listener;
    uint64_t listen_at_ms; /* not before */
    uint64_t accept_at_ms;
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

/* A free place; when there is none, that of the client that has been silent longest. */
static Session *
make_room(Guest *guest)
{
    Session *oldest = &server.sessions[0];
    for (int i = 0; i < SESSIONS_MAX; i++) {
        Session *session = &server.sessions[i];
        if (session->socket.number < 0) {
            return session;
        }
        if (session->last_ms < oldest->last_ms) {
            oldest = session;
        }
    }
    close_session(guest, oldest);
    return oldest;
}

static void
accept_client(Guest *guest, uint64_t now)
{
    Descriptor socket = DESCRIPTOR_NONE;
    int raw = listener_accept(&server.listener);
    if (raw < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
        server.accept_at_ms = now + TRY_AGAIN_MS;
    }
    if (!descriptor_adopt(&socket, raw)) {
        return;
    }
    guest_settle(guest);
    if (!guest_examine(guest)) {
        debug_say("what looked like jemalloc does not answer as it", NULL, 0);
        descriptor_close(&socket);
        guest->leaves = true;
        return;
    }
    Session *session = make_room(guest);
    *session = (Session){.socket = socket, .last_ms = now};
    guest->n_clients++;
}

/*
 * Receives one message into server.request, with at most one descriptor: room for exactly one makes the kernel close
 * the others. Returns its size, 0 at the end of the connection, -1 on error; a message too large comes out as one too
 * many bytes.
 */
static ssize_t
receive(const Session *session, Descriptor *descriptor)
{
    union {
        struct cmsghdr header;
        unsigned char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {&server.request, sizeof server.request};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_LEN(sizeof(int)),
    };
    memset(&server.request, 0, sizeof server.request);
    ssize_t n = recvmsg(session->socket.number, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
    if (n < 0) {
        return n;
    }
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int))) {
        int raw;
        memcpy(&raw, CMSG_DATA(header), sizeof raw);
        descriptor_adopt(descriptor, raw);
    }
    return n;
}

/* False if the client is gone, or does not take its reply. */
static bool
serve(Guest *guest, const Session *session)
{
    Descriptor descriptor = DESCRIPTOR_NONE;
    ssize_t n = receive(session, &descriptor);
    if (n <= 0) {
        descriptor_close(&descriptor);
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
    /* With MSG_TRUNC, n is the message's own size: one too large matches no request's. */
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
 * After a poll(), so that what arrived while another client's dump kept us busy counts as spoken. A session whose
 * descriptor the host has taken is forgotten with the rest.
 */
static void
serve_session(Guest *guest, Session *session, short events, uint64_t now)
{
    if (events == 0 && now < session_deadline(session) && descriptor_is_ours(&session->socket)) {
        return;
    }
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
        if (session->socket.number >= 0 && session_deadline(session) < next) {
            next = session_deadline(session);
        }
    }
    return next;
}

/* Where descriptors are shared with the host it may have closed the listener; the socket is then made anew. */
static void
keep_listening(const Guest *guest, const Environment *environment, uint64_t now)
{
    if (leaving || guest->is_silent) {
        server.listen_at_ms = UINT64_MAX;
        return;
    }
    if (descriptor_is_ours(&server.listener.socket) || now < server.listen_at_ms) {
        return;
    }
    if (!listener_open(&server.listener, environment, &guest->process)) {
        server.listen_at_ms = now + LISTEN_AGAIN_MS;
    } else if (leaving) {
        listener_remove(&server.listener); /* the host began to exit in between and has not seen this one */
    }
}

static int
until(uint64_t deadline, uint64_t now)
{
    if (deadline == UINT64_MAX) {
        return -1;
    }
    uint64_t left = deadline > now ? deadline - now : 0;
    return left < INT_MAX ? (int)left : INT_MAX;
}

static int
sooner(int a, int b)
{
    return b < 0 || (a >= 0 && a < b) ? a : b;
}

/*
 * How long to sleep at most: the lease, silent clients, and what is to be tried again; -1 for ever. A sleeping poll()
 * looks its numbers up anew whenever it is woken: where the host can put something of its own in our listener's place,
 * it may never return for what happens to ours.
 */
static int
next_timeout(Guest *guest, uint64_t now)
{
    int timeout = until(next_session_deadline(), now);
    if (guest->tick != NULL) {
        timeout = sooner(timeout, guest->tick()); /* before the lease that it may count on */
    }
    if (guest->profiling.lease.id != 0) {
        guest_settle(guest); /* in a child that inherited it */
        timeout = sooner(timeout, profiling_tick(&guest->profiling, &guest->allocator));
    }
    if (guest->shares_descriptors || (guest->is_linked && waker_descriptor() < 0)) {
        timeout = sooner(timeout, CHECK_SHARED_MS);
    }
    if (server.listener.socket.number < 0) {
        timeout = sooner(timeout, until(server.listen_at_ms, now));
    } else if (server.accept_at_ms > now) {
        timeout = sooner(timeout, until(server.accept_at_ms, now));
    }
    return timeout;
}

/* What is waited for: the listener, the live sessions, and the waker where there is one. No more entries than that:
 * poll() refuses more than RLIMIT_NOFILE. */
typedef struct {
    struct pollfd entries[1 + SESSIONS_MAX + 1];
    Session *sessions[1 + SESSIONS_MAX]; /* NULL for the listener, which comes first */
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
    if (waker_descriptor() >= 0) {
        polled->entries[polled->n_all++] = (struct pollfd){.fd = waker_descriptor(), .events = POLLIN};
    }
}

/* The only time at which other threads have their turn. */
static int
sleep_until(Polled *polled, int timeout)
{
    turn_give();
    int n = poll(polled->entries, polled->n_all, timeout);
    if (n < 0) {
        poll(NULL, 0, TRY_AGAIN_MS); /* no memory, or a limit lowered below what is open: not worth spinning for */
    }
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
    int timeout = next_timeout(guest, now);
    fill_polled(&polled, now);
    if (sleep_until(&polled, timeout) < 0) {
        return;
    }
    now = profiling_now_ms();
    for (nfds_t i = 1; i < polled.n && !guest->leaves; i++) {
        serve_session(guest, polled.sessions[i], polled.entries[i].revents, now);
    }
    if (polled.entries[0].revents != 0 && !guest->leaves && descriptor_is_ours(&server.listener.socket)) {
        accept_client(guest, now);
    }
}

/* What a client has done to prof.active for a time does not outlast us. */
static void
end_lease(Guest *guest)
{
    if (guest->profiling.lease.id != 0) {
        guest_settle(guest);
        profiling_end_lease(&guest->profiling, &guest->allocator);
    }
}

void
server_run(Guest *guest, const Environment *environment)
{
    turn_take();
    guest->n_clients = 0;
    server.listener.socket = DESCRIPTOR_NONE;
    server.listen_at_ms = 0;
    server.accept_at_ms = 0;
    for (int i = 0; i < SESSIONS_MAX; i++) {
        server.sessions[i].socket = DESCRIPTOR_NONE;
    }
    if (guest->is_linked && !guest->shares_descriptors) {
        waker_open();
    }
    while (!guest->leaves) {
        serve_once(guest, environment);
    }
    end_lease(guest);
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
server_abandon(void)
{
    server.listener.bound = 0;
    waker_forget();
    descriptor_close(&server.listener.socket);
    for (int i = 0; i < SESSIONS_MAX; i++) {
        descriptor_close(&server.sessions[i].socket);
    }
}

void
server_leave(void)
{
    leaving = true;
    listener_remove(&server.listener);
}
