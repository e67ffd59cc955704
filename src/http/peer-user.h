/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user at the other end of a TCP connection on this machine, from the kernel's socket diagnosis (sock_diag(7)).
 *
 * The result is the user that created the socket. It is certain to be about this connection: our end must still be
 * connected after the query, so the addresses cannot belong to another connection by then, and the other end must have
 * an owner, since the kernel reports closed sockets and those in TIME-WAIT as root's.
 */
#ifndef JESCOPE_HTTP_PEER_USER_H
#define JESCOPE_HTTP_PEER_USER_H

#include <glib.h>
#include <sys/types.h>

/* Finds the user at the other end of the connected TCP socket FD. FALSE if unknown (another network namespace, a kernel
 * without socket diagnosis, a client that has disconnected, a user without a number in our user namespace); then no
 * user may be assumed. */
gboolean peer_user_find(int fd, uid_t *uid);

#endif
