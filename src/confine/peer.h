/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child without privileges (sandbox.h) that communicates with its parent over a socket of type SOCK_SEQPACKET
 * (passing.h), and has no other descriptor. The caller must check its messages: the author of the data it reads may
 * have taken it over.
 */
#ifndef JESCOPE_CONFINE_PEER_H
#define JESCOPE_CONFINE_PEER_H

#include <glib.h>
#include <sys/types.h>

/* Runs in the child, which ends when it returns. */
typedef void PeerWork(int socket);

typedef struct {
    pid_t owner; /* the process whose child it is: a fork of the owner has none */
    pid_t pid;   /* 0: not started, or ended */
    int socket;
} Peer;

/* What the child may take. */
typedef struct {
    guint64 memory; /* bytes of address space, including the caller's */
    guint seconds;  /* of processor time; 0: the default of sandbox_enter() */
} PeerLimits;

/* Starts the child. The caller may have threads. */
gboolean peer_start(Peer *peer, PeerWork *work, const PeerLimits *limits, GError **error);

/* Kills the child, if there is one. */
void peer_end(Peer *peer);

/* The same for one that waits for a file, and may not end before that answers. */
void peer_give_up(Peer *peer);

#endif
