/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is connected, and how much each may ask for. A peer is an IPv4 address, an IPv6 /64 (whoever owns one address of
 * it owns all), or the user at the other end of a unix socket. For one thread.
 */
#ifndef JESCOPE_HTTP_PEERS_H
#define JESCOPE_HTTP_PEERS_H

#include <glib.h>
#include <sys/socket.h>

enum {
    PEERS_REMEMBERED_MAX = 16384, /* then strangers are refused until others are forgotten */
};

typedef struct {
    guint connections; /* in all */
    guint per_peer;    /* connections of one peer */
    guint rate;        /* requests per second of one peer, on average; 0: no limit */
    guint local_rate;  /* the same for peers on this machine */
} PeerLimits;

typedef struct Peers Peers;
typedef struct Peer Peer;

Peers *peers_new(const PeerLimits *limits);
void peers_free(Peers *peers);
void peers_set_limits(Peers *peers, const PeerLimits *limits);

/* A new connection of ADDRESS (for a unix socket: of the user UID). NULL: over a limit. */
Peer *peers_connect(Peers *peers, const struct sockaddr *address, uid_t uid);
void peers_disconnect(Peers *peers, Peer *peer);

/* Whether there is room for another connection from ADDRESS of an internet family. */
gboolean peers_has_room(const Peers *peers, const struct sockaddr *address);

/* Counts a request at NOW_US (monotonic). FALSE: too many, and *wait_s is when to come again. */
gboolean peers_spend(Peers *peers, Peer *peer, gint64 now_us, guint *wait_s);

/* Forgets those that are gone and have nothing on their account. */
void peers_forget(Peers *peers, gint64 now_us);

guint peers_connections(const Peers *peers);

/* "127.0.0.1", "2001:db8::/64", "uid 1000"; valid as long as the peer. */
const char *peer_name(const Peer *peer);

/* Its whole address, or who is at the other end of a unix socket. */
gboolean peer_is_local(const Peer *peer);

#endif
