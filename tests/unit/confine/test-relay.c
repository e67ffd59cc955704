/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/passing.h"
#include "confine/relay.h"

#include "slow-close.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 60000,
    UNREAD_MS = 500, /* after which our side is full */
};

/* A peer and what a library reads from, which passes through a relay. */
typedef struct {
    int peer, ours;
} Pair;

static Pair
connect_both(void)
{
    int pair[2];
    g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    return (Pair){.peer = pair[0], .ours = pair[1]};
}

static Relay *
start_relay(const Pair *pair)
{
    Relay *relay = relay_insert(pair->ours, getuid());
    g_assert_nonnull(relay);
    g_assert_cmpint(fcntl(pair->ours, F_GETFL) & O_NONBLOCK, ==, O_NONBLOCK);
    g_assert_cmpint(fcntl(pair->ours, F_GETFD), ==, FD_CLOEXEC);
    return relay;
}

static Pair
start(void)
{
    const Pair pair = connect_both();
    relay_release(start_relay(&pair));
    return pair;
}

static void
wait_until(int fd, short events)
{
    struct pollfd end = {.fd = fd, .events = events};
    g_assert_cmpint(poll(&end, 1, PATIENCE_MS), ==, 1);
}

/* Receives SIZE bytes, or up to the end if that comes first: their number. */
static gsize
receive(int fd, char *bytes, gsize size)
{
    gsize all = 0;
    for (ssize_t length = 1; length > 0 && all < size; all += (gsize)length) {
        wait_until(fd, POLLIN);
        length = recv(fd, bytes + all, size - all, 0);
        g_assert_cmpint(length, >=, 0);
    }
    return all;
}

static void
assert_ended(int fd)
{
    char byte;
    g_assert_cmpuint(receive(fd, &byte, 1), ==, 0);
}

static void
test_both_directions(void)
{
    Pair pair = start();
    char text[16];
    g_assert_no_errno((int)send(pair.peer, "request", 7, 0));
    g_assert_cmpuint(receive(pair.ours, text, 7), ==, 7);
    g_assert_cmpmem(text, 7, "request", 7);
    g_assert_no_errno((int)send(pair.ours, "answer", 6, 0));
    close(pair.ours);
    g_assert_cmpuint(receive(pair.peer, text, sizeof(text)), ==, 6);
    g_assert_cmpmem(text, 6, "answer", 6);
    close(pair.peer);
}

/* The peer sends nothing more and is answered; a peer that is gone is told. */
static void
test_half_closed(void)
{
    Pair pair = start();
    char text[16];
    g_assert_no_errno((int)send(pair.peer, "request", 7, 0));
    shutdown(pair.peer, SHUT_WR);
    g_assert_cmpuint(receive(pair.ours, text, sizeof(text)), ==, 7);
    wait_until(pair.ours, POLLRDHUP);
    g_assert_no_errno((int)send(pair.ours, "answer", 6, 0));
    g_assert_cmpuint(receive(pair.peer, text, 6), ==, 6);
    close(pair.peer);
    assert_ended(pair.ours);
    close(pair.ours);
}

/* More than all buffers hold, to a peer that reads late. */
static void
test_much(void)
{
    Pair pair = start();
    enum { ALL = 8 * 1024 * 1024 };
    g_autofree char *sent = g_malloc(ALL), *received = g_malloc(ALL);
    gsize done = 0, got = 0;
    for (gsize i = 0; i < ALL; i++)
        sent[i] = (char)(i / 4096 + i);
    while (got < ALL) {
        struct pollfd ends[] = {{.fd = done < ALL ? pair.ours : -1, .events = POLLOUT},
                                {.fd = pair.peer, .events = POLLIN}};
        g_assert_cmpint(poll(ends, G_N_ELEMENTS(ends), PATIENCE_MS), >, 0);
        const ssize_t length = ends[0].revents != 0 ? send(pair.ours, sent + done, ALL - done, MSG_DONTWAIT) : -1;
        done += length > 0 ? (gsize)length : 0;
        if (length <= 0) {
            /* Only what there is: our side may be full of less than one waits for here. */
            const ssize_t arrived = recv(pair.peer, received + got, ALL - got, MSG_DONTWAIT);
            g_assert_true(arrived > 0 || (arrived < 0 && errno == EAGAIN));
            got += arrived > 0 ? (gsize)arrived : 0;
        }
    }
    g_assert_cmpmem(sent, ALL, received, ALL);
    close(pair.ours);
    assert_ended(pair.peer);
    close(pair.peer);
}

static void
send_with_descriptor(int socket, char *text, int fd)
{
    const Parcel parcel = {.head = text, .head_length = strlen(text), .fd = fd};
    g_assert_true(parcel_send(socket, &parcel));
    close(fd);
}

/* A peer that sends descriptors is disconnected, and nothing is received beside them: closing them would take long. */
static void
test_descriptors(void)
{
    Pair pair = connect_both();
    int other_ends[2];
    char text[16];
    /* Before the relay begins: the last close of a descriptor must not be this thread's. */
    send_with_descriptor(pair.peer, (char[]){"first"}, slow_close_open(&other_ends[0]));
    send_with_descriptor(pair.peer, (char[]){"second"}, slow_close_open(&other_ends[1]));
    relay_release(start_relay(&pair));
    g_assert_cmpuint(receive(pair.ours, text, sizeof(text)), ==, 0);
    close(pair.ours);
    wait_until(pair.peer, POLLHUP); /* ECONNRESET, since it was not received */
    close(pair.peer);
    for (guint i = 0; i < G_N_ELEMENTS(other_ends); i++)
        close(other_ends[i]);
}

/* Nor are those that are sent as urgent data, which a look passes over. */
static void
test_urgent_descriptors(void)
{
    Pair pair = connect_both();
    int other_end, fd = slow_close_open(&other_end);
    char text[16], control[CMSG_SPACE(sizeof(fd))] = {0};
    struct iovec piece = {(char[]){"!"}, 1};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    if (sendmsg(pair.peer, &message, MSG_OOB) == 1) {
        g_assert_no_errno((int)send(pair.peer, "more", 4, 0));
        close(fd);
        relay_release(start_relay(&pair));
        g_assert_cmpuint(receive(pair.ours, text, sizeof(text)), ==, 0);
        wait_until(pair.peer, POLLHUP);
    } else {
        g_test_skip("unix sockets have no urgent data before Linux 5.15");
        close(fd);
    }
    close(pair.ours);
    close(pair.peer);
    close(other_end);
}

/* As much as our side takes, to a peer that does not read. */
static Relay *
start_unread(Pair *pair)
{
    static const char zeros[4096];
    *pair = connect_both();
    Relay *relay = start_relay(pair);
    struct pollfd end = {.fd = pair->ours, .events = POLLOUT};
    while (poll(&end, 1, UNREAD_MS) == 1)
        g_assert_no_errno((int)send(pair->ours, zeros, sizeof(zeros), MSG_DONTWAIT));
    close(pair->ours);
    return relay;
}

static void
wait_for_end(Relay *relay)
{
    const gint64 deadline = g_get_monotonic_time() + PATIENCE_MS * G_TIME_SPAN_MILLISECOND;
    while (!relay_has_ended(relay)) {
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(1000);
    }
}

/* It is there as long as the peer has not read what our side has left, and ends once he has. */
static void
test_unread(void)
{
    Pair pair;
    char bytes[4096];
    Relay *relay = start_unread(&pair);
    g_assert_false(relay_has_ended(relay));
    while (receive(pair.peer, bytes, sizeof(bytes)) == sizeof(bytes))
        ;
    wait_for_end(relay);
    relay_release(relay);
    close(pair.peer);
}

/* It ends at once, also if a descriptor that it receives is slow to close. */
static void
test_cut(void)
{
    Pair pair = connect_both();
    int other_end;
    send_with_descriptor(pair.peer, (char[]){"slow"}, slow_close_open(&other_end));
    relay_cut(start_relay(&pair));
    assert_ended(pair.ours);
    wait_until(pair.peer, POLLHUP);
    close(pair.ours);
    close(pair.peer);
    close(other_end);
    relay_cut(start_unread(&pair));
    char bytes[4096];
    while (receive(pair.peer, bytes, sizeof(bytes)) == sizeof(bytes))
        ;
    close(pair.peer);
}

/* Our side can be closed without delay, also after the thread has closed what was sent. */
static void
test_refused(void)
{
    Pair pair = connect_both();
    int other_end;
    send_with_descriptor(pair.peer, (char[]){"slow"}, slow_close_open(&other_end));
    relay_refuse(pair.ours, getuid());
    wait_until(pair.peer, POLLHUP);
    close(pair.ours);
    close(pair.peer);
    close(other_end);
}

static guint
count_threads(void)
{
    g_autoptr(GDir) directory = g_dir_open("/proc/self/task", 0, NULL);
    guint n = 0;
    while (g_dir_read_name(directory) != NULL)
        n++;
    return n;
}

/* However many there are, one thread closes what they have sent. */
static void
test_many_refused(void)
{
    Pair pairs[200];
    int other_ends[G_N_ELEMENTS(pairs)];
    guint threads = 0;
    const guint before = count_threads();
    for (guint i = 0; i < G_N_ELEMENTS(pairs); i++) {
        pairs[i] = connect_both();
        send_with_descriptor(pairs[i].peer, (char[]){"slow"}, slow_close_open(&other_ends[i]));
    }
    for (guint i = 0; i < G_N_ELEMENTS(pairs); i++) {
        relay_refuse(pairs[i].ours, getuid());
        close(pairs[i].ours);
        threads = MAX(threads, count_threads());
    }
    g_assert_cmpuint(threads, <=, before + 1);
    for (guint i = 0; i < G_N_ELEMENTS(pairs); i++) {
        wait_until(pairs[i].peer, POLLHUP);
        close(pairs[i].peer);
        close(other_ends[i]);
    }
}

/* Each piece that the peer sends is counted. */
static void
test_pieces(void)
{
    const Pair pair = connect_both();
    char byte;
    Relay *relay = start_relay(&pair);
    for (guint i = 0; i < 10; i++) {
        g_assert_no_errno((int)send(pair.peer, "x", 1, 0));
        g_assert_cmpuint(receive(pair.ours, &byte, 1), ==, 1);
    }
    g_assert_cmpuint(relay_pieces(relay), ==, 10);
    close(pair.ours);
    close(pair.peer);
    wait_for_end(relay);
    relay_release(relay);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/relay/both-directions", test_both_directions);
    g_test_add_func("/relay/half-closed", test_half_closed);
    g_test_add_func("/relay/much", test_much);
    g_test_add_func("/relay/descriptors", test_descriptors);
    g_test_add_func("/relay/urgent-descriptors", test_urgent_descriptors);
    g_test_add_func("/relay/unread", test_unread);
    g_test_add_func("/relay/cut", test_cut);
    g_test_add_func("/relay/refused", test_refused);
    g_test_add_func("/relay/many-refused", test_many_refused);
    g_test_add_func("/relay/pieces", test_pieces);
    return g_test_run();
}
