/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child without privileges (sandbox.h) that talks with the process that started it over a socket of type
 * SOCK_SEQPACKET (passing.h), and has no other descriptor. What it says is for the caller to check: the author of what
 * it reads may have taken it over.
 */
#ifndef JESCOPE_CONFINE_PEER_H
#define JESCOPE_CONFINE_PEER_H

#include <glib.h>
#include <sys/types.h>

/* In the child; the child ends when it returns. */
typedef void PeerWork(int socket);

typedef struct {
    pid_t owner; /* whose child it is: a fork of the owner has none */
    pid_t pid;   /* 0: not started, or ended */
    int socket;
} Peer;

/* Starts it, with memory bytes of address space, the caller's included. Threads of the caller do no harm. */
gboolean peer_start(Peer *peer, PeerWork *work, guint64 memory, GError **error);

/* Kills it, if it is there. */
void peer_end(Peer *peer);

#endif
