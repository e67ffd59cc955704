/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user at the other end of a TCP connection on this machine, from the kernel's socket diagnosis (sock_diag(7)).
 *
 * The answer is about this very connection: after the question our end must still be connected, so that the addresses
 * cannot have come to belong to another connection, and the other end must have an owner: a socket that was closed, or
 * is in TIME-WAIT, is shown as root's. It is the user that made the socket.
 */
#ifndef JESCOPE_HTTP_PEER_USER_H
#define JESCOPE_HTTP_PEER_USER_H

#include <glib.h>
#include <sys/types.h>

/* Of the connected TCP socket FD. FALSE: it is unknown (another network namespace, a kernel without socket
 * diagnosis, a client that has gone, a user that has no number in our user namespace); then no user may be assumed. */
gboolean peer_user_find(int fd, uid_t *uid);

#endif
