/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with descriptors between two processes of jescope, over a socket of type SOCK_SEQPACKET. */
#ifndef JESCOPE_CONFINE_CHANNEL_H
#define JESCOPE_CONFINE_CHANNEL_H

#include <glib.h>

#define CHANNEL_MAX_FDS 32 /* the dumps of a growth report */

typedef struct {
    gpointer bytes;
    gsize size; /* when sending: the size; when receiving: the capacity, then the received size */
    int fds[CHANNEL_MAX_FDS];
    guint n_fds;
} ChannelMessage;

/* Waits until the message is sent. FALSE with errno. */
gboolean channel_send(int socket, const ChannelMessage *message);

/* Waits for a message. Received descriptors belong to the caller. FALSE, without any: the other end has closed (errno
 * is 0), or the message did not fit (EMSGSIZE). */
gboolean channel_receive(int socket, ChannelMessage *message);

void channel_close_fds(ChannelMessage *message);

#endif
