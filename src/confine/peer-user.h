/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user at the other end of a TCP connection on this machine, from the kernel's socket diagnosis (sock_diag(7)).
 *
 * The result is the user that created the socket. It is certain to be about this connection: our end must still be
 * connected after the query, so the addresses cannot belong to another connection by then, and the other end must have
 * an owner, since the kernel reports closed sockets and those in TIME-WAIT as root's.
 */
#ifndef JESCOPE_CONFINE_PEER_USER_H
#define JESCOPE_CONFINE_PEER_USER_H

#include <glib.h>
#include <sys/types.h>

/* Finds the user at the other end of the connected TCP socket FD. FALSE if unknown (another network namespace, a kernel
 * without socket diagnosis, a client that has disconnected, a user without a number in our user namespace); then no
 * user may be assumed. */
gboolean peer_user_find(int fd, uid_t *uid);

/* The ends of a TCP connection as text, addresses of one family. */
typedef struct {
    const char *ours, *theirs;
    guint16 our_port, their_port;
} PeerEnds;

/* FALSE if their address is not one of this machine's loopback. */
gboolean peer_ends_are_loopback(const PeerEnds *ends);

/* Finds the user whose socket listens at the other end. FALSE if the user is unknown, or no socket of this network
 * namespace listens there. Thread-safe, like all functions here. */
gboolean peer_user_find_listener(const PeerEnds *ends, uid_t *uid);

/* Finds the user at the other end as peer_user_find() does, but a connection that has ended meanwhile may be taken for
 * this one. FALSE also if the listener has not yet accepted it. */
gboolean peer_user_find_between(const PeerEnds *ends, uid_t *uid);

#endif
