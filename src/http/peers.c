/* SPDX-License-Identifier: Apache-2.0 */
#include "http/peers.h"

#include "confine/account.h"
#include "confine/keyed-hash.h"
#include "target/reach.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

enum {
    BURST_SECONDS = 2, /* duration of a burst of requests */
    PREFIX_BYTES = 8,  /* a /64 */
    SHARE = 10,        /* a peer may use 1/SHARE of the server's thread */
    READ_US = 15,      /* processor time of reading from a connection, and of each piece of a body in what was read */
    PIECE_US = 1,
    ARRIVAL_US = 60,          /* of a connection: accepting it, asking for its user, beginning and ending it */
    RELAYED_US = 180,         /* the same of one with a relay, whose thread begins and ends, too */
    PIECE_BYTES_PER_US = 500, /* received in 1 us */
};

static const double spending_most_us = BURST_SECONDS * (double)G_USEC_PER_SEC / SHARE;

static const double REFUSAL_COST = 0.1; /* of a request */

/* The kinds do not collide: IPv4 addresses are IPv4-mapped, and users have a prefix that no address has. */
typedef struct {
    guint8 bytes[16];
} PeerKey;

/* Processor time of the server's thread, of which a peer may use 1/SHARE. */
typedef struct {
    double us; /* unexpired */
    gint64 expired_us;
} Spending;

struct Peer {
    PeerKey key;
    gboolean local;
    uid_t user;
    guint connections;
    guint counts[PEER_COUNTS];
    guint64 unread;
    guint64 received;
    double allowance; /* requests it may send now */
    double pressed;   /* unexpired refusals, as requests */
    gint64 counted_us;
    Spending arrivals;   /* of its connections */
    Spending handshakes; /* that it has begun */
    Spending heads;      /* that it sends, and the records of its handshakes */
    Spending bodies;     /* that it sends */
    gint64 forgiven_us;  /* when its failures have expired */
    char name[INET6_ADDRSTRLEN + 16];
};

struct Peers {
    PeerLimits limits;
    GHashTable *by_key; /* PeerKey in Peer -> Peer, owned */
    guint connections;
};

static guint
hash_key(gconstpointer data)
{
    return keyed_hash_bytes(data, sizeof(PeerKey));
}

static gboolean
equal_key(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(PeerKey)) == 0;
}

Peers *
peers_new(const PeerLimits *limits)
{
    Peers *peers = g_new0(Peers, 1);
    peers->limits = *limits;
    peers->by_key = g_hash_table_new_full(hash_key, equal_key, NULL, g_free);
    return peers;
}

void
peers_free(Peers *peers)
{
    g_hash_table_unref(peers->by_key);
    g_free(peers);
}

void
peers_set_limits(Peers *peers, const PeerLimits *limits)
{
    peers->limits = *limits;
}

/* The kind of listener determines the name of a user. */
typedef enum { USER_OF_UNIX, USER_OF_V4, USER_OF_V6 } UserKind;

gboolean
peers_is_ours(uid_t uid)
{
    return uid == 0 || uid == reach_user();
}

static void
describe_user(Peer *peer, UserKind kind, uid_t user)
{
    static const char *const addresses[] = {[USER_OF_V4] = "127.0.0.1", [USER_OF_V6] = "::1"};
    const uid_t uid = user != PEERS_USER_UNKNOWN ? account_of(user) : user;
    peer->local = TRUE;
    peer->user = uid;
    peer->key.bytes[0] = 0xff; /* multicast: never a peer's address */
    memcpy(peer->key.bytes + 8, &uid, sizeof(uid));
    if (kind == USER_OF_UNIX)
        g_snprintf(peer->name, sizeof(peer->name), "uid %u", uid);
    else if (uid == PEERS_USER_UNKNOWN || peers_is_ours(uid))
        g_strlcpy(peer->name, addresses[kind], sizeof(peer->name));
    else
        g_snprintf(peer->name, sizeof(peer->name), "%s uid %u", addresses[kind], uid);
}

/* A user is one peer, for connections from any address of the machine. */
static void
describe_v4(Peer *peer, const void *bytes, uid_t uid)
{
    if (*(const guint8 *)bytes == IN_LOOPBACKNET || uid != PEERS_USER_UNKNOWN) {
        describe_user(peer, USER_OF_V4, uid);
        return;
    }
    memset(peer->key.bytes + 10, 0xff, 2);
    memcpy(peer->key.bytes + 12, bytes, 4);
    inet_ntop(AF_INET, bytes, peer->name, sizeof(peer->name));
}

static void
describe_v6(Peer *peer, const struct in6_addr *address, uid_t uid)
{
    if (IN6_IS_ADDR_LOOPBACK(address) || uid != PEERS_USER_UNKNOWN) {
        describe_user(peer, USER_OF_V6, uid);
        return;
    }
    memcpy(peer->key.bytes, address, PREFIX_BYTES);
    inet_ntop(AF_INET6, peer->key.bytes, peer->name, INET6_ADDRSTRLEN);
    g_strlcat(peer->name, "/64", sizeof(peer->name));
}

static void
describe(Peer *peer, const struct sockaddr *address, uid_t uid)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
    memset(peer, 0, sizeof(*peer));
    peer->user = PEERS_USER_UNKNOWN;
    if (address->sa_family == AF_INET)
        describe_v4(peer, &((const struct sockaddr_in *)(const void *)address)->sin_addr, uid);
    else if (address->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        describe_v4(peer, v6->sin6_addr.s6_addr + 12, uid);
    else if (address->sa_family == AF_INET6)
        describe_v6(peer, &v6->sin6_addr, uid);
    else
        describe_user(peer, USER_OF_UNIX, uid);
}

/* Whether another peer can be remembered. OURS: whether it is root or our own user, for whom there is always room. */
static gboolean
has_room_for_another(const Peers *peers, gboolean ours)
{
    return ours || g_hash_table_size(peers->by_key) < PEERS_REMEMBERED_MAX;
}

/* Whether there is room for another connection of PEER, or was made. */
static gboolean
has_room(const Peers *peers, const Peer *peer, const PeersRoom *room)
{
    return peer->connections < peers->limits.per_peer || (room != NULL && room->of_peer(peer, room->data));
}

static void
expire(Spending *spending, gint64 now_us)
{
    const double expired = (double)(now_us - spending->expired_us) / SHARE;
    spending->us = MAX(spending->us - expired, 0);
    spending->expired_us = now_us;
}

gboolean
peers_has_room(Peers *peers, const struct sockaddr *address, gint64 now_us)
{
    Peer probe;
    describe(&probe, address, PEERS_USER_UNKNOWN);
    Peer *peer = probe.local ? NULL : g_hash_table_lookup(peers->by_key, &probe.key);
    if (peer != NULL)
        expire(&peer->handshakes, now_us);
    /* A loopback address may be ours. */
    return (peer != NULL || has_room_for_another(peers, probe.local)) &&
           (peer == NULL || peers->limits.rate == 0 || peer->handshakes.us < spending_most_us);
}

gboolean
peer_is_ours(const Peer *peer)
{
    return peer->local && peers_is_ours(peer->user);
}

guint
peer_connections(const Peer *peer)
{
    return peer->connections;
}

static guint
rate_of(const Peers *peers, const Peer *peer)
{
    return peer_is_ours(peer) ? peers->limits.local_rate : peers->limits.rate;
}

gboolean
peers_begin_handshake(const Peers *peers, Peer *peer, gint64 cost_us, gint64 now_us)
{
    if (rate_of(peers, peer) == 0)
        return TRUE;
    expire(&peer->handshakes, now_us);
    if (peer->handshakes.us >= spending_most_us)
        return FALSE;
    peer->handshakes.us += (double)cost_us;
    return TRUE;
}

gboolean
peers_may_arrive(Peers *peers, const struct sockaddr *address, uid_t uid, gint64 now_us)
{
    Peer probe;
    describe(&probe, address, uid);
    Peer *peer = g_hash_table_lookup(peers->by_key, &probe.key);
    if (peer == NULL || rate_of(peers, peer) == 0)
        return TRUE;
    expire(&peer->arrivals, now_us);
    expire(&peer->heads, now_us);
    if (peer->arrivals.us >= spending_most_us || peer->heads.us >= spending_most_us)
        return FALSE;
    peer->arrivals.us += address->sa_family == AF_UNIX && !peer_is_ours(peer) ? RELAYED_US : ARRIVAL_US;
    return TRUE;
}

Peer *
peers_connect(Peers *peers, const struct sockaddr *address, uid_t uid, const PeersRoom *room)
{
    Peer probe;
    describe(&probe, address, uid);
    Peer *peer = g_hash_table_lookup(peers->by_key, &probe.key);
    if (peer != NULL ? !has_room(peers, peer, room) : !has_room_for_another(peers, peer_is_ours(&probe)))
        return NULL;
    const gboolean full = peers->connections >= peers->limits.connections && !peer_is_ours(&probe);
    if (full && (room == NULL || !room->in_all(peer != NULL ? peer->connections : 0, room->data)))
        return NULL;
    if (peer == NULL) {
        peer = g_memdup2(&probe, sizeof(probe));
        peer->allowance = (double)rate_of(peers, peer) * BURST_SECONDS;
        peer->counted_us = peer->heads.expired_us = peer->arrivals.expired_us = peer->handshakes.expired_us =
            peer->bodies.expired_us = g_get_monotonic_time();
        g_hash_table_insert(peers->by_key, &peer->key, peer);
    }
    peer->connections++;
    peers->connections++;
    return peer;
}

void
peers_disconnect(Peers *peers, Peer *peer)
{
    peer->connections--;
    peers->connections--;
}

static void
refill(const Peers *peers, Peer *peer, gint64 now_us)
{
    double rate = rate_of(peers, peer);
    double earned = (double)(now_us - peer->counted_us) * rate / G_USEC_PER_SEC;
    peer->allowance = MIN(peer->allowance + earned, rate * BURST_SECONDS);
    peer->pressed = MAX(peer->pressed - earned, 0);
    peer->counted_us = now_us;
}

/* Whether PEER has an allowance of LEAST requests. */
static gboolean
may_spend(const Peers *peers, Peer *peer, double least, gint64 now_us, guint *wait_s)
{
    guint rate = rate_of(peers, peer);
    if (rate == 0)
        return TRUE;
    refill(peers, peer, now_us);
    if (peer->allowance >= least)
        return TRUE;
    *wait_s = 1 + (guint)((1 - peer->allowance) / rate);
    return FALSE;
}

gboolean
peers_spend(Peers *peers, Peer *peer, gint64 now_us, guint *wait_s)
{
    if (!may_spend(peers, peer, 1, now_us, wait_s))
        return FALSE;
    peer->allowance -= rate_of(peers, peer) != 0 ? 1 : 0;
    return TRUE;
}

gboolean
peers_may_go_on(const Peers *peers, Peer *peer, gint64 now_us, guint *wait_s)
{
    return may_spend(peers, peer, 0, now_us, wait_s);
}

guint
peers_note_limited(const Peers *peers, Peer *peer)
{
    double rate = rate_of(peers, peer);
    peer->pressed = MIN(peer->pressed + REFUSAL_COST, rate);
    return (guint)(peer->pressed / rate * 1000);
}

void
peers_charge(const Peers *peers, Peer *peer, gint64 spent_us)
{
    double requests = (double)spent_us * rate_of(peers, peer) * SHARE / G_USEC_PER_SEC;
    peer->allowance -= MAX(requests - 1, 0);
}

gboolean
peers_may_read(const Peers *peers, Peer *peer, const PeerReading *reading, gint64 now_us)
{
    if (rate_of(peers, peer) == 0)
        return TRUE;
    expire(&peer->heads, now_us);
    peer->heads.us += (double)(reading->segments + reading->records) * READ_US;
    return peer->heads.us < spending_most_us;
}

gboolean
peers_may_receive(const Peers *peers, Peer *peer, const PeerPiece *piece, gint64 now_us)
{
    if (rate_of(peers, peer) == 0)
        return TRUE;
    expire(&peer->bodies, now_us);
    if (peer->bodies.us >= spending_most_us)
        return FALSE;
    peer->bodies.us += (piece->is_first ? READ_US : 0) + PIECE_US + (double)piece->size / PIECE_BYTES_PER_US;
    return TRUE;
}

guint
peers_note_failure(Peer *peer, gint64 now_us)
{
    gint64 most = now_us + (PEERS_FREE_FAILURES + PEERS_FAILURE_DELAY_MAX_S) * G_USEC_PER_SEC;
    peer->forgiven_us = MIN(MAX(peer->forgiven_us, now_us) + G_USEC_PER_SEC, most);
    gint64 delay_us = peer->forgiven_us - now_us - PEERS_FREE_FAILURES * G_USEC_PER_SEC;
    return (guint)(MAX(delay_us, 0) / 1000);
}

static gboolean
has_counts(const Peer *peer)
{
    for (gsize i = 0; i < PEER_COUNTS; i++)
        if (peer->counts[i] != 0)
            return TRUE;
    return FALSE;
}

void
peers_forget(Peers *peers, gint64 now_us)
{
    GHashTableIter iterator;
    gpointer value;
    g_hash_table_iter_init(&iterator, peers->by_key);
    while (g_hash_table_iter_next(&iterator, NULL, &value)) {
        Peer *peer = value;
        refill(peers, peer, now_us);
        expire(&peer->arrivals, now_us);
        expire(&peer->handshakes, now_us);
        expire(&peer->heads, now_us);
        expire(&peer->bodies, now_us);
        if (peer->connections == 0 && peer->arrivals.us <= 0 && peer->heads.us <= 0 && peer->handshakes.us <= 0 &&
            peer->bodies.us <= 0 && !has_counts(peer) && peer->forgiven_us <= now_us &&
            peer->allowance >= (double)rate_of(peers, peer) * BURST_SECONDS)
            g_hash_table_iter_remove(&iterator);
    }
}

guint
peers_connections(const Peers *peers)
{
    return peers->connections;
}

const char *
peer_name(const Peer *peer)
{
    return peer->name;
}

guint64
peer_id(const Peer *peer)
{
    guint64 prefix;
    guint32 v4;
    if (peer->local)
        return peer->user;
    memcpy(&prefix, peer->key.bytes, sizeof(prefix));
    memcpy(&v4, peer->key.bytes + 12, sizeof(v4));
    return prefix != 0 ? GUINT64_FROM_BE(prefix) : (G_GUINT64_CONSTANT(1) << 32) + GUINT32_FROM_BE(v4);
}

guint64
peer_id_for_share(const Peer *peer)
{
    return peer_is_ours(peer) ? 0 : peer_id(peer);
}

guint *
peer_count(Peer *peer, PeerCount what)
{
    return &peer->counts[what];
}

guint64 *
peer_unread(Peer *peer)
{
    return &peer->unread;
}

guint64 *
peer_received(Peer *peer)
{
    return &peer->received;
}
