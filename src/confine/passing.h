/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with a descriptor over a socket of type SOCK_SEQPACKET; for this room only. Both functions wait, and
 * continue after signals. */
#ifndef JESCOPE_CONFINE_PASSING_H
#define JESCOPE_CONFINE_PASSING_H

#include <glib.h>

typedef struct {
    gpointer head; /* head_length bytes, never fewer */
    gsize head_length;
    gpointer body;
    gsize body_length; /* when receiving: the capacity, then the received size */
    int fd;            /* passed, or -1 */
} Parcel;

gboolean parcel_send(int socket, const Parcel *parcel);

/* FALSE: the other end has closed, or the message is malformed. */
gboolean parcel_receive(int socket, Parcel *parcel);

#endif
