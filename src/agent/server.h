/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main loop of the agent thread: one listener, a bounded number of clients, one deadline. No client can block it or
 * make it grow: messages and replies have fixed sizes, sockets do not block, a client that does not read its reply is
 * disconnected, and an idle one is disconnected when all places are taken.
 */
#ifndef JESCOPE_AGENT_SERVER_H
#define JESCOPE_AGENT_SERVER_H

#include "agent/environment.h"
#include "agent/guest.h"

/* Serves until guest->leaves is set, by a client's LEAVE or by a thread that has the turn and then calls waker_wake().
 * On return the lease has ended, all descriptors are closed and the socket is removed. In the agent thread, which has
 * the turn whenever it does not sleep. */
void server_run(Guest *guest, const Environment *environment);

/* The path of the socket, "" without one. */
const char *server_socket_path(void);

/*
 * In a forked child, in its only thread. Both forget the parent's socket and clients; server_abandon() first closes
 * their descriptors, where the child has inherited them and the host has not replaced them, and server_forget() makes
 * no system call. Async-signal-safe.
 */
void server_abandon(void);
void server_forget(void);

/* At exit, in any thread: removes the socket's file and prevents its re-creation. Never waits for the agent thread. */
void server_leave(void);

#endif
