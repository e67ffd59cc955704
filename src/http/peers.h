/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clients that are connected, and their limits. A peer is an IPv4 address, an IPv6 /64 (whose addresses usually
 * have one owner), or a user of this machine with all subordinate ids (confine/account.h), for unix sockets and local
 * TCP connections from any address. All loopback connections of unknown users are one peer. For one thread.
 */
#ifndef JESCOPE_HTTP_PEERS_H
#define JESCOPE_HTTP_PEERS_H

#include <glib.h>
#include <sys/socket.h>

enum {
    PEERS_REMEMBERED_MAX =
        16384, /* beyond it, new peers are refused until others are forgotten, but not root and our user */
    PEERS_FREE_FAILURES = 5,
    PEERS_FAILURE_DELAY_MAX_S = 10,
};

#define PEERS_USER_UNKNOWN ((uid_t)-1)

typedef struct {
    guint connections; /* in all */
    guint per_peer;    /* connections of one peer */
    guint rate;        /* requests per second of one peer, on average; 0: no limit */
    guint local_rate;  /* the same for root and our own user on this machine */
} PeerLimits;

typedef struct Peers Peers;
typedef struct Peer Peer;

Peers *peers_new(const PeerLimits *limits);
void peers_free(Peers *peers);
void peers_set_limits(Peers *peers, const PeerLimits *limits);

/* Functions that end a connection where a limit is reached. Both return FALSE if no connection may be ended. */
typedef struct {
    gboolean (*of_peer)(const Peer *peer, gpointer data); /* at the limit of one peer: a connection of PEER */
    gboolean (*in_all)(guint connections, gpointer data); /* at the limit of all connections: one of the peer that has
                                                             most, if that has more than CONNECTIONS */
    gpointer data;
} PeersRoom;

/* Counts a new connection from ADDRESS, by the user UID if it comes from this machine. NULL if a limit is exceeded. The
 * limit of all connections does not hold for root and our own user on this machine. ROOM may be NULL. */
Peer *peers_connect(Peers *peers, const struct sockaddr *address, uid_t uid, const PeersRoom *room);
void peers_disconnect(Peers *peers, Peer *peer);

/* Whether the limits of its peer admit another connection from ADDRESS, of an internet family, at NOW_US (monotonic).
 * TRUE is preliminary: the user of a loopback address is not known yet. */
gboolean peers_has_room(Peers *peers, const struct sockaddr *address, gint64 now_us);

/* Counts a TLS handshake of PEER at NOW_US, which takes COST_US of the server's thread, also for peers_has_room().
 * FALSE if it must not begin: a peer may use a tenth of the thread for its handshakes. */
gboolean peers_begin_handshake(const Peers *peers, Peer *peer, gint64 cost_us, gint64 now_us);

/* Counts the arrival of a connection from ADDRESS, by the user UID, as for peers_connect(). FALSE if it is to be closed
 * at once: a peer may use a tenth of the server's thread for connections that begin, whatever their limit. One of a
 * unix socket of another user counts as several, for its relay. */
gboolean peers_may_arrive(Peers *peers, const struct sockaddr *address, uid_t uid, gint64 now_us);

/* Whether UID could stop the server anyway. */
gboolean peers_is_ours(uid_t uid);

guint peer_connections(const Peer *peer);

/* Whether PEER is root or our own user on this machine, who could stop the server anyway. */
gboolean peer_is_ours(const Peer *peer);

/* Counts a request at NOW_US (monotonic). FALSE if there are too many; *WAIT_S is then the time until a retry. */
gboolean peers_spend(Peers *peers, Peer *peer, gint64 now_us, guint *wait_s);

/* Whether a request that was counted may be handled at NOW_US: FALSE if others of its peer have cost so much since that
 * nothing of the allowance is left; *WAIT_S as for peers_spend(). */
gboolean peers_may_go_on(const Peers *peers, Peer *peer, gint64 now_us, guint *wait_s);

/* Counts a request that was refused for its peer's rate. Returns the milliseconds by which to delay the refusal: 0 for
 * the first ones, up to a second for a peer that continues. Refusals do not count for the rate, so a peer that keeps
 * sending is served at its rate. */
guint peers_note_limited(const Peers *peers, Peer *peer);

/* Counts the cost of an accepted request: SPENT_US of processor time of the server's thread, which all peers share. An
 * expensive one counts as several, so that a peer at its rate uses at most a tenth of the thread. */
void peers_charge(const Peers *peers, Peer *peer, gint64 spent_us);

/* What was read of heads and TLS handshakes. */
typedef struct {
    guint64 segments; /* of TCP, or pieces that a relay has read */
    guint64 records;  /* of TLS, at most */
} PeerReading;

/* Counts READING at NOW_US. FALSE if PEER has used more than a tenth of the server's thread by it: what it has not
 * completed is to end, and peers_may_arrive() is FALSE until that has expired. */
gboolean peers_may_read(const Peers *peers, Peer *peer, const PeerReading *reading, gint64 now_us);

/* A piece of a body, such as a chunk. */
typedef struct {
    size_t size;
    gboolean is_first; /* of those that were read together; the reading costs more than the piece */
} PeerPiece;

/* Counts PIECE at NOW_US. FALSE if it must wait: a peer may use a tenth of the server's thread for its bodies, whose
 * cost is known only at their end, if they have one. */
gboolean peers_may_receive(const Peers *peers, Peer *peer, const PeerPiece *piece, gint64 now_us);

/* Counts an invalid token at NOW_US. Returns the milliseconds by which to delay the refusal: PEERS_FREE_FAILURES are
 * refused at once, further ones at one per second. A valid token is never delayed, since its sender may share an
 * address with a client that guesses. */
guint peers_note_failure(Peer *peer, gint64 now_us);

/* Forgets disconnected peers that have no more counts. */
void peers_forget(Peers *peers, gint64 now_us);

guint peers_connections(const Peers *peers);

/* "127.0.0.1", "2001:db8::/64", "uid 1000"; valid as long as the peer. */
const char *peer_name(const Peer *peer);

/* A number for the peer that no other peer has, also when it is forgotten and connects again: of a user of this machine
 * the uid, of another machine one above all uids. */
guint64 peer_id(const Peer *peer);

/* The same for what one peer may have a share of, but 0 for root and our own user on this machine, who need none. */
guint64 peer_id_for_share(const Peer *peer);

/* A peer's work in progress; counted here, limited by the caller. */
typedef enum {
    PEER_STREAMS, /* open event streams */
    PEER_WAITING, /* requests that specify their own duration */
    PEER_KEPT,  /* requests for files and for records of the black box, until their thread is done, even if disconnected
                 */
    PEER_FILES, /* bodies being received into files */
    PEER_FLEET, /* queries of a fleet's store, likewise */
    PEER_HELD,  /* delayed refusals */
    PEER_COUNTS,
} PeerCount;

guint *peer_count(Peer *peer, PeerCount what);

/* Bytes of large answers that are not completely sent; counted here, limited by the sender. */
guint64 *peer_unread(Peer *peer);

/* Bytes of bodies that are being received into files; counted here, limited by the receiver. */
guint64 *peer_received(Peer *peer);

#endif
