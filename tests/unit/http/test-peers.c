/* SPDX-License-Identifier: Apache-2.0 */
#include "http/peers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} SocketName;

static SocketName
name_of(const char *text)
{
    SocketName name = {0};
    if (strchr(text, ':') != NULL) {
        name.v6.sin6_family = AF_INET6;
        g_assert_cmpint(inet_pton(AF_INET6, text, &name.v6.sin6_addr), ==, 1);
    } else {
        name.v4.sin_family = AF_INET;
        g_assert_cmpint(inet_pton(AF_INET, text, &name.v4.sin_addr), ==, 1);
    }
    return name;
}

static Peer *
connect_from(Peers *peers, const char *text)
{
    SocketName name = name_of(text);
    return peers_connect(peers, &name.any, PEERS_USER_UNKNOWN, NULL);
}

static void
test_names(void)
{
    static const struct {
        const char *address;
        const char *name;
    } rows[] = {
        {"127.0.0.1", "127.0.0.1"}, {"::ffff:127.0.0.1", "127.0.0.1"}, {"::1", "::1"},
        {"10.1.2.3", "10.1.2.3"},   {"::ffff:10.1.2.3", "10.1.2.3"},   {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Peers *peers = peers_new(&(PeerLimits){.connections = 100, .per_peer = 100});
        Peer *peer = connect_from(peers, rows[i].address);
        g_assert_cmpstr(peer_name(peer), ==, rows[i].name);
        peers_free(peers);
    }
    Peers *peers = peers_new(&(PeerLimits){.connections = 100, .per_peer = 100});
    Peer *user = peers_connect(peers, &(struct sockaddr){.sa_family = AF_UNIX}, 1000, NULL);
    g_assert_cmpstr(peer_name(user), ==, "uid 1000");
    peers_free(peers);
}

/* However he comes, a user has one share. */
static void
test_one_user(void)
{
    static const char *const addresses[] = {"127.0.0.1", "127.8.8.8",   "::1",
                                            "10.1.2.3",  "2001:db8::1", "::ffff:10.1.2.3"};
    Peers *peers = peers_new(&(PeerLimits){.connections = 100, .per_peer = 100});
    Peer *user = peers_connect(peers, &(struct sockaddr){.sa_family = AF_UNIX}, 1000, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(addresses); i++) {
        SocketName name = name_of(addresses[i]);
        g_assert_true(peers_connect(peers, &name.any, 1000, NULL) == user);
        g_assert_true(peers_connect(peers, &name.any, 1001, NULL) != user);
        g_assert_true(connect_from(peers, addresses[i]) != user);
    }
    peers_free(peers);
}

static void
test_one_peer(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = 100, .per_peer = 2});
    Peer *first = connect_from(peers, "2001:db8::1");
    g_assert_true(connect_from(peers, "2001:db8::2") == first);
    g_assert_null(connect_from(peers, "2001:db8::3"));
    g_assert_nonnull(connect_from(peers, "2001:db8:0:1::1"));
    SocketName name = name_of("2001:db8::4");
    g_assert_null(peers_connect(peers, &name.any, PEERS_USER_UNKNOWN, NULL));
    peers_disconnect(peers, first);
    g_assert_true(peers_has_room(peers, &name.any, g_get_monotonic_time()));
    g_assert_nonnull(connect_from(peers, "2001:db8::3"));
    peers_free(peers);
}

static void
test_all_peers(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = 2, .per_peer = 2});
    Peer *one = connect_from(peers, "10.0.0.1");
    g_assert_nonnull(connect_from(peers, "10.0.0.2"));
    g_assert_null(connect_from(peers, "10.0.0.3"));
    g_assert_cmpuint(peers_connections(peers), ==, 2);
    peers_disconnect(peers, one);
    g_assert_cmpuint(peers_connections(peers), ==, 1);
    g_assert_nonnull(connect_from(peers, "10.0.0.3"));
    peers_free(peers);
}

typedef struct {
    Peers *peers;
    Peer *peer;  /* one of whose connections may end */
    guint asked; /* connections of the peer for which there was to be room in all */
} Room;

static gboolean
note_asked(guint connections, gpointer data)
{
    ((Room *)data)->asked = connections;
    return connections == 0;
}

static gboolean
end_one(const Peer *peer, gpointer data)
{
    Room *room = data;
    if (peer == room->peer)
        peers_disconnect(room->peers, room->peer);
    return peer == room->peer;
}

/* At the limit of a peer, one of its own makes room, whatever room there is in all. */
static void
test_room_of_peer(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = 3, .per_peer = 2});
    const SocketName first = name_of("10.0.0.1"), other = name_of("10.0.0.2");
    Room ends = {.peers = peers, .asked = 99};
    const PeersRoom room = {.of_peer = end_one, .in_all = note_asked, .data = &ends};
    for (guint i = 0; i < 2; i++)
        ends.peer = peers_connect(peers, &first.any, PEERS_USER_UNKNOWN, &room);
    g_assert_true(peers_has_room(peers, &first.any, g_get_monotonic_time()));
    g_assert_true(peers_connect(peers, &first.any, PEERS_USER_UNKNOWN, &room) == ends.peer);
    g_assert_cmpuint(peer_connections(ends.peer), ==, 2);
    g_assert_nonnull(peers_connect(peers, &other.any, PEERS_USER_UNKNOWN, &room));
    g_assert_true(peers_connect(peers, &first.any, PEERS_USER_UNKNOWN, &room) == ends.peer);
    ends.peer = NULL;
    g_assert_null(peers_connect(peers, &first.any, PEERS_USER_UNKNOWN, &room));
    g_assert_cmpuint(peers_connections(peers), ==, 3);
    g_assert_cmpuint(ends.asked, ==, 99);
    peers_free(peers);
}

/* Where there is no room in all, it may be made for a peer with fewer connections; root and our user need none. */
static void
test_room_in_all(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = 2, .per_peer = 3});
    const SocketName first = name_of("10.0.0.1"), other = name_of("10.0.0.2"), loopback = name_of("127.0.0.1");
    Room ends = {.peers = peers, .asked = 99};
    const PeersRoom room = {.of_peer = end_one, .in_all = note_asked, .data = &ends};
    for (guint i = 0; i < 2; i++)
        g_assert_nonnull(peers_connect(peers, &first.any, PEERS_USER_UNKNOWN, &room));
    g_assert_cmpuint(ends.asked, ==, 99);
    g_assert_null(peers_connect(peers, &first.any, PEERS_USER_UNKNOWN, &room));
    g_assert_cmpuint(ends.asked, ==, 2);
    g_assert_nonnull(peers_connect(peers, &other.any, PEERS_USER_UNKNOWN, &room));
    g_assert_cmpuint(ends.asked, ==, 0);
    g_assert_null(peers_connect(peers, &loopback.any, geteuid() + 1, NULL));
    for (guint i = 0; i < 3; i++)
        g_assert_nonnull(peers_connect(peers, &loopback.any, geteuid(), NULL));
    g_assert_null(peers_connect(peers, &loopback.any, geteuid(), &room));
    peers_free(peers);
}

/* Those of one peer take a tenth of the server's thread. */
static void
test_handshakes(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = 1000, .per_peer = 1000, .rate = 1000});
    const SocketName name = name_of("10.0.0.1"), other = name_of("10.0.0.2");
    Peer *peer = connect_from(peers, "10.0.0.1");
    gint64 now = g_get_monotonic_time() + G_USEC_PER_SEC;
    for (guint i = 0; i < 200; i++) {
        g_assert_true(peers_has_room(peers, &name.any, now));
        g_assert_true(peers_begin_handshake(peers, peer, 1000, now));
    }
    g_assert_false(peers_has_room(peers, &name.any, now));
    g_assert_false(peers_begin_handshake(peers, peer, 1000, now));
    g_assert_true(peers_has_room(peers, &other.any, now));
    peers_disconnect(peers, peer);
    peers_forget(peers, now);
    g_assert_false(peers_has_room(peers, &name.any, now));
    g_assert_true(peers_has_room(peers, &name.any, now + 20000));
    peers_free(peers);
}

/* A head in pieces of a byte has a share, too; its peer is not admitted again before that has expired. */
static void
test_heads(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = 10, .per_peer = 10, .rate = 1000});
    const SocketName loopback = name_of("127.0.0.1");
    Peer *other = peers_connect(peers, &loopback.any, geteuid() + 1, NULL);
    Peer *ours = peers_connect(peers, &loopback.any, geteuid(), NULL);
    const gint64 now = g_get_monotonic_time() + G_USEC_PER_SEC;
    for (guint i = 0; i < 5000; i++)
        g_assert_true(peers_may_read(peers, other, &(PeerReading){.segments = 2}, now));
    g_assert_true(peers_may_arrive(peers, &loopback.any, geteuid() + 1, now));
    g_assert_false(peers_may_read(peers, other, &(PeerReading){.segments = 5000, .records = 5000}, now));
    g_assert_false(peers_may_arrive(peers, &loopback.any, geteuid() + 1, now + G_USEC_PER_SEC));
    g_assert_true(peers_may_arrive(peers, &loopback.any, geteuid() + 1, now + 2 * G_USEC_PER_SEC));
    g_assert_true(peers_may_arrive(peers, &loopback.any, geteuid() + 2, now));
    g_assert_true(peers_may_read(peers, ours, &(PeerReading){.segments = 1000000}, now));
    peers_free(peers);
}

/* Connections that end at once are below the limit of a peer's connections, however many there are. */
static void
test_arrivals(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = 10, .per_peer = 10, .rate = 1000});
    const SocketName loopback = name_of("127.0.0.1"), far = name_of("10.0.0.1"), other = name_of("10.0.0.2");
    const uid_t users[] = {geteuid() + 1, geteuid() + 2, geteuid()};
    const gint64 now = g_get_monotonic_time() + G_USEC_PER_SEC;
    for (gsize i = 0; i < G_N_ELEMENTS(users); i++)
        peers_disconnect(peers, peers_connect(peers, &loopback.any, users[i], NULL));
    peers_disconnect(peers, connect_from(peers, "10.0.0.1"));
    guint n = 0;
    while (n < 1000000 && peers_may_arrive(peers, &loopback.any, users[0], now))
        n++;
    g_assert_cmpuint(n, >=, 1000);
    g_assert_cmpuint(n, <, 10000);
    peers_forget(peers, now);
    g_assert_false(peers_may_arrive(peers, &loopback.any, users[0], now));
    g_assert_true(peers_may_arrive(peers, &loopback.any, users[0], now + 10000));
    g_assert_true(peers_may_arrive(peers, &loopback.any, users[1], now));
    g_assert_true(peers_may_arrive(peers, &far.any, PEERS_USER_UNKNOWN, now));
    g_assert_true(peers_may_arrive(peers, &other.any, PEERS_USER_UNKNOWN, now));
    for (guint i = 0; i < 10000; i++)
        g_assert_true(peers_may_arrive(peers, &loopback.any, users[2], now));
    peers_free(peers);
}

static guint
count_arrivals(Peers *peers, const struct sockaddr *address, uid_t user, gint64 now)
{
    guint n = 0;
    while (n < 10000 && peers_may_arrive(peers, address, user, now))
        n++;
    return n;
}

/* By a unix socket, they cost more, but those of our own user nothing, as by any. */
static void
test_arrivals_at_a_unix_socket(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = 10, .per_peer = 10, .rate = 1000});
    const SocketName loopback = name_of("127.0.0.1");
    const struct sockaddr local = {.sa_family = AF_UNIX};
    const uid_t users[] = {geteuid() + 1, geteuid() + 2, geteuid()};
    const gint64 now = g_get_monotonic_time() + G_USEC_PER_SEC;
    for (gsize i = 0; i < G_N_ELEMENTS(users); i++)
        peers_disconnect(peers, peers_connect(peers, &local, users[i], NULL));
    const guint by_socket = count_arrivals(peers, &local, users[0], now);
    g_assert_cmpuint(by_socket, >=, 1000);
    g_assert_cmpuint(by_socket * 2, <, count_arrivals(peers, &loopback.any, users[1], now));
    g_assert_false(peers_may_arrive(peers, &loopback.any, users[0], now));
    g_assert_cmpuint(count_arrivals(peers, &local, users[2], now), ==, 10000);
    peers_free(peers);
}

/* A user of this machine has a share, too, which is of time: a slow key permits fewer. */
static void
test_handshakes_of_a_user(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = 1000, .per_peer = 1000, .rate = 1000});
    const SocketName loopback = name_of("127.0.0.1");
    Peer *ours = peers_connect(peers, &loopback.any, geteuid(), NULL);
    Peer *other = peers_connect(peers, &loopback.any, geteuid() + 1, NULL);
    Peer *third = peers_connect(peers, &loopback.any, geteuid() + 2, NULL);
    gint64 now = g_get_monotonic_time() + G_USEC_PER_SEC;
    for (guint i = 0; i < 20; i++)
        g_assert_true(peers_begin_handshake(peers, other, 10000, now));
    g_assert_false(peers_begin_handshake(peers, other, 10000, now));
    g_assert_false(peers_begin_handshake(peers, other, 1000, now));
    g_assert_true(peers_begin_handshake(peers, other, 10000, now + 10000));
    g_assert_true(peers_begin_handshake(peers, third, 10000, now));
    for (guint i = 0; i < 1000; i++)
        g_assert_true(peers_begin_handshake(peers, ours, 10000, now));
    peers_free(peers);
}

/* A body in pieces of a byte has a share like a handshake, and so has one without an end. */
static void
test_bodies(void)
{
    static const struct {
        PeerPiece piece;
        guint least, most;
    } cases[] = {
        {{1, FALSE}, 60000, 200000},                 /* chunks */
        {{1, TRUE}, 10000, 14000},                   /* segments */
        {{16 * 1024, TRUE}, (64 << 20) >> 14, 5000}, /* the largest file passes without waiting */
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const PeerPiece *piece = &cases[i].piece;
        Peers *peers = peers_new(&(PeerLimits){.connections = 10, .per_peer = 10, .rate = 1000});
        Peer *far = connect_from(peers, "10.0.0.1");
        Peer *other = connect_from(peers, "10.0.0.2");
        const SocketName loopback = name_of("127.0.0.1");
        Peer *ours = peers_connect(peers, &loopback.any, geteuid(), NULL);
        gint64 now = g_get_monotonic_time() + G_USEC_PER_SEC;
        guint n = 0;
        while (n < 1000000 && peers_may_receive(peers, far, piece, now))
            n++;
        g_assert_cmpuint(n, >=, cases[i].least);
        g_assert_cmpuint(n, <, cases[i].most);
        g_assert_true(peers_may_receive(peers, far, piece, now + 100000));
        g_assert_true(peers_may_receive(peers, other, piece, now));
        for (guint k = 0; k < 300000; k++)
            g_assert_true(peers_may_receive(peers, ours, piece, now));
        guint wait_s;
        g_assert_true(peers_may_go_on(peers, far, now, &wait_s));
        peers_free(peers);
    }
}

static void
test_rate(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = 10, .per_peer = 10, .rate = 5});
    Peer *far = connect_from(peers, "10.0.0.1");
    SocketName loopback = name_of("127.0.0.1");
    Peer *near = peers_connect(peers, &loopback.any, geteuid(), NULL);
    Peer *neighbour = peers_connect(peers, &loopback.any, geteuid() + 1, NULL);
    gint64 now = g_get_monotonic_time() + G_USEC_PER_SEC;
    guint wait_s = 0;
    for (guint i = 0; i < 10; i++)
        g_assert_true(peers_spend(peers, far, now, &wait_s));
    g_assert_false(peers_spend(peers, far, now, &wait_s));
    g_assert_cmpuint(wait_s, ==, 1);
    for (guint i = 0; i < 1000; i++)
        g_assert_true(peers_spend(peers, near, now, &wait_s));
    for (guint i = 0; i < 10; i++)
        g_assert_true(peers_spend(peers, neighbour, now, &wait_s));
    g_assert_false(peers_spend(peers, neighbour, now, &wait_s));

    /* Disconnecting does not reset the counts. */
    peers_disconnect(peers, far);
    peers_forget(peers, now);
    g_assert_true(connect_from(peers, "10.0.0.1") == far);
    g_assert_false(peers_spend(peers, far, now, &wait_s));

    now += G_USEC_PER_SEC;
    for (guint i = 0; i < 5; i++)
        g_assert_true(peers_spend(peers, far, now, &wait_s));
    g_assert_false(peers_spend(peers, far, now, &wait_s));
    peers_free(peers);
}

/* Requests that were counted before it was known what others cost. */
static void
test_counted_together(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = 10, .per_peer = 10, .rate = 100});
    SocketName loopback = name_of("127.0.0.1");
    Peer *near = peers_connect(peers, &loopback.any, geteuid(), NULL), *far = connect_from(peers, "10.0.0.1");
    gint64 now = g_get_monotonic_time() + G_USEC_PER_SEC;
    guint wait_s = 0;
    for (guint i = 0; i < 200; i++)
        g_assert_true(peers_spend(peers, far, now, &wait_s));
    g_assert_true(peers_may_go_on(peers, far, now, &wait_s));
    peers_charge(peers, far, 50000); /* counts as 50 requests */
    g_assert_false(peers_may_go_on(peers, far, now, &wait_s));
    g_assert_cmpuint(wait_s, ==, 1);
    g_assert_true(peers_may_go_on(peers, far, now + G_USEC_PER_SEC / 2, &wait_s));
    peers_charge(peers, near, G_USEC_PER_SEC);
    g_assert_true(peers_may_go_on(peers, near, now, &wait_s));
    peers_free(peers);
}

/* A request that keeps the server's thread busy counts as several; nothing counts for those without a rate. */
static void
test_charge(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = 10, .per_peer = 10, .rate = 100});
    SocketName loopback = name_of("127.0.0.1");
    Peer *near = peers_connect(peers, &loopback.any, geteuid(), NULL);
    Peer *quick = connect_from(peers, "10.0.0.1"), *heavy = connect_from(peers, "10.0.0.2");
    gint64 now = g_get_monotonic_time() + 2 * G_USEC_PER_SEC;
    Peer *const all[] = {near, quick, heavy};
    static const gint64 spent_us[] = {1000000, 1000,
                                      20000}; /* a thousandth of a second is a request's share at 100/s */
    guint n[G_N_ELEMENTS(all)] = {0}, wait_s = 0;
    for (guint i = 0; i < G_N_ELEMENTS(all); i++)
        for (; n[i] < 1000 && peers_spend(peers, all[i], now, &wait_s); n[i]++)
            peers_charge(peers, all[i], spent_us[i]);
    g_assert_cmpuint(n[0], ==, 1000);
    g_assert_cmpuint(n[1], ==, 200);
    g_assert_cmpuint(n[2], ==, 10);

    /* A refusal is cheap, but not free: they are held back when they are many. */
    g_assert_cmpuint(peers_note_limited(peers, quick), <, 10);
    for (guint i = 0; i < 2000; i++)
        g_assert_cmpuint(peers_note_limited(peers, quick), <=, 1000);
    g_assert_cmpuint(peers_note_limited(peers, quick), ==, 1000);
    g_assert_true(peers_spend(peers, quick, now + 2 * G_USEC_PER_SEC, &wait_s));
    peers_free(peers);
}

/* A client with ten times its rate is served at its rate. */
static void
test_refusals_take_nothing(void)
{
    enum { RATE = 5, TIMES = 50, SECONDS = 20 };
    Peers *peers = peers_new(&(PeerLimits){.connections = 10, .per_peer = 10, .rate = RATE});
    SocketName name = name_of("192.0.2.1");
    Peer *peer = peers_connect(peers, &name.any, PEERS_USER_UNKNOWN, NULL);
    gint64 begun = g_get_monotonic_time();
    guint served = 0, wait_s;
    for (guint i = 0; i < TIMES * SECONDS; i++)
        if (peers_spend(peers, peer, begun + (gint64)i * G_USEC_PER_SEC / TIMES, &wait_s))
            served++;
        else
            g_assert_cmpuint(peers_note_limited(peers, peer), <, 1000);
    g_assert_cmpuint(served, >=, RATE * SECONDS);
    g_assert_cmpuint(served, <=, RATE * (SECONDS + 3));
    peers_free(peers);
}

static void
test_forget(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = PEERS_REMEMBERED_MAX + 2, .per_peer = 1, .rate = 1});
    guint wait_s;
    SocketName name = name_of("10.0.0.0");
    for (guint i = 0; i < PEERS_REMEMBERED_MAX; i++) {
        name.v4.sin_addr.s_addr = htonl(0x0a000000 + i);
        Peer *peer = peers_connect(peers, &name.any, PEERS_USER_UNKNOWN, NULL);
        g_assert_nonnull(peer);
        peers_spend(peers, peer, g_get_monotonic_time(), &wait_s);
        peers_disconnect(peers, peer);
    }
    g_assert_null(connect_from(peers, "11.0.0.1"));
    const SocketName loopback = name_of("127.0.0.1");
    g_assert_true(peers_has_room(peers, &loopback.any, g_get_monotonic_time()));
    g_assert_null(peers_connect(peers, &loopback.any, geteuid() + 1, NULL));
    g_assert_nonnull(peers_connect(peers, &loopback.any, geteuid(), NULL));
    peers_forget(peers, g_get_monotonic_time() + 60 * G_USEC_PER_SEC);
    g_assert_nonnull(connect_from(peers, "11.0.0.1"));
    peers_free(peers);
}

/* Of users of this machine, whatever address they use, and of other machines. */
static void
test_ids(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = 10, .per_peer = 10});
    const SocketName v4 = name_of("127.0.0.1"), v6 = name_of("::1");
    g_assert_cmpuint(peer_id(peers_connect(peers, &v4.any, 1000, NULL)), ==, 1000);
    g_assert_cmpuint(peer_id(peers_connect(peers, &v6.any, 1000, NULL)), ==, 1000);
    const guint64 first = peer_id(connect_from(peers, "192.0.2.1")), other = peer_id(connect_from(peers, "192.0.2.2"));
    const guint64 net = peer_id(connect_from(peers, "2001:db8::1"));
    g_assert_cmpuint(first, >, G_MAXUINT32);
    g_assert_cmpuint(other, >, G_MAXUINT32);
    g_assert_cmpuint(net, >, G_MAXUINT32);
    g_assert_true(first != other && first != net && other != net);
    g_assert_cmpuint(peer_id(connect_from(peers, "2001:db8::2")), ==, net);
    g_assert_true(peer_id(connect_from(peers, "2001:db8:0:1::1")) != net);
    peers_free(peers);
}

/* What it has under way refers to it. */
static void
test_forget_no_counts(void)
{
    Peers *peers = peers_new(&(PeerLimits){.connections = 1, .per_peer = 1, .rate = 1});
    const gint64 later = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
    Peer *peer = connect_from(peers, "10.0.0.1");
    ++*peer_count(peer, PEER_KEPT);
    peers_disconnect(peers, peer);
    peers_forget(peers, later);
    g_assert_true(connect_from(peers, "10.0.0.1") == peer);
    g_assert_cmpuint(*peer_count(peer, PEER_KEPT), ==, 1);
    --*peer_count(peer, PEER_KEPT);
    peers_disconnect(peers, peer);
    peers_free(peers);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/http/peers/names", test_names);
    g_test_add_func("/http/peers/one-user", test_one_user);
    g_test_add_func("/http/peers/one-peer", test_one_peer);
    g_test_add_func("/http/peers/all-peers", test_all_peers);
    g_test_add_func("/http/peers/room-of-peer", test_room_of_peer);
    g_test_add_func("/http/peers/room-in-all", test_room_in_all);
    g_test_add_func("/http/peers/handshakes", test_handshakes);
    g_test_add_func("/http/peers/heads", test_heads);
    g_test_add_func("/http/peers/arrivals", test_arrivals);
    g_test_add_func("/http/peers/arrivals-at-a-unix-socket", test_arrivals_at_a_unix_socket);
    g_test_add_func("/http/peers/handshakes-of-a-user", test_handshakes_of_a_user);
    g_test_add_func("/http/peers/bodies", test_bodies);
    g_test_add_func("/http/peers/rate", test_rate);
    g_test_add_func("/http/peers/charge", test_charge);
    g_test_add_func("/http/peers/ids", test_ids);
    g_test_add_func("/http/peers/counted-together", test_counted_together);
    g_test_add_func("/http/peers/refusals-take-nothing", test_refusals_take_nothing);
    g_test_add_func("/http/peers/forget", test_forget);
    g_test_add_func("/http/peers/forget-no-counts", test_forget_no_counts);
    return g_test_run();
}
